#include "metronome/viewer/session.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "metronome/core/check.h"
#include "metronome/core/clock.h"
#include "viewer/picture.h"

namespace metronome {
namespace {

constexpr double kHoldSeconds = 1.5;              // that the result of an episode is shown
constexpr std::int64_t kReservedSteps = 100'000;  // of a recording; a longer one grows
constexpr std::size_t kMostMoments = 1200;
// A shape that goes further in one step than this share of the picture's width has jumped.
constexpr double kLongestWay = 0.1;

double SecondsPerStep(const GameSpec& spec) {
  return static_cast<double>(spec.ticks_per_step) / spec.tick_rate_hz;
}

std::int64_t ReservedSteps(std::int64_t max_steps) {
  return max_steps > 0 ? std::min(max_steps, kReservedSteps) : kReservedSteps;
}

}  // namespace

Session::Session(Options options)
    : options_(std::move(options)),
      environment_(options_.game),
      recorder_(options_.game, ReservedSteps(environment_.max_steps())),
      observation_(static_cast<std::size_t>(spec().observation.size())),
      q_values_(static_cast<std::size_t>(spec().num_actions())),
      history_(std::clamp<std::size_t>(static_cast<std::size_t>(kHistorySeconds / SecondsPerStep(spec())), 16,
                                       kMostMoments)),
      speed_(options_.speed) {
  METRONOME_CHECK(options_.next_seed != nullptr);
  by_hand_ = options_.player == nullptr;
  for (const ActionSpec& action : spec().actions) {
    for (const std::string& name : action.keys) {
      if (!IsGameKey(name)) keys_.push_back({.name = name});
    }
  }
  BeginEpisode(options_.next_seed());
  ++episode_;
}

void Session::BeginEpisode(std::uint64_t seed) {
  seed_ = seed;
  if (options_.player != nullptr) options_.player->BeginEpisode(seed);
  environment_.Reset(seed);
  recorder_.Begin(seed);
  return_ = 0.0;
  ended_ = false;
  ending_.clear();
  result_lines_.clear();
  decision_ = {};
  decided_by_hand_ = false;
  touched_by_hand_ = false;
  moments_ = 0;
  has_step_ = false;
  tick_ = 0;
  due_ = 0.0;
  hold_ticks_ = 0.0;
  waiting_for_key_ = options_.waits_for_key;
  after_.Clear();
  environment_.game().Draw(after_);
  before_ = after_;
  close_up_before_ = close_up_after_ = environment_.game().close_up();
  Touch();
}

void Session::Advance(std::int64_t nanoseconds, std::int64_t deadline) {
  if (over_) return;
  if (paused_) {
    // One step and all its ticks at once: the picture stands at a decision again.
    for (; steps_wanted_ > 0 && !ended_; --steps_wanted_) {
      waiting_for_key_ = false;
      do Tick();
      while (!ended_ && has_step_ && tick_ < spec().ticks_per_step);
    }
    steps_wanted_ = 0;
    return;
  }
  if (waiting_for_key_) {
    const bool any = std::any_of(keys_.begin(), keys_.end(), [](const Key& key) { return key.pressed; });
    if (!any) return;
    waiting_for_key_ = false;
  }
  if (speed_ == kFastest) {
    // At least one, so that it goes on however slow the player is.
    do {
      Tick();
      if (hold_ticks_ > 0.0) hold_ticks_ = std::min(hold_ticks_, 1.0);
    } while (!over_ && MonotonicNanoseconds() < deadline && !(ended_ && options_.waits_at_end));
    due_ = 0.0;
    return;
  }
  due_ += static_cast<double>(nanoseconds) * 1e-9 * spec().tick_rate_hz * speed_;
  bool first = true;
  while (due_ >= 1.0 && !over_) {
    if (!first && MonotonicNanoseconds() >= deadline) {
      due_ -= std::floor(due_);
      break;
    }
    first = false;
    due_ -= 1.0;
    Tick();
  }
  Touch();
}

void Session::AdvanceTicks(double ticks) {
  due_ += ticks;
  while (due_ >= 1.0 && !over_) {
    due_ -= 1.0;
    Tick();
  }
  Touch();
}

void Session::Tick() {
  if (over_) return;
  ++passed_ticks_;
  if (ended_ && tick_ >= spec().ticks_per_step) {
    // Everything was shown; the result stays for a while.
    if (options_.waits_at_end) return;
    if (hold_ticks_ > 1.0) {
      hold_ticks_ -= 1.0;
      return;
    }
    if (options_.episodes > 0 && episode_ >= options_.episodes) {
      over_ = true;
      Touch();
      return;
    }
    NextEpisode();
    return;
  }
  if (!has_step_ || tick_ >= spec().ticks_per_step) {
    Decide();
    if (ended_ && !has_step_) return;  // the player had nothing more
    tick_ = 0;
  }
  ++tick_;
  ++ticks_;
  if (ended_ && tick_ >= spec().ticks_per_step) hold_ticks_ = kHoldSeconds * spec().tick_rate_hz;
  Touch();
}

void Session::Decide() {
  environment_.game().WriteObservation(observation_);
  Decision decision;
  if (options_.player != nullptr) decision = options_.player->Decide(observation_, q_values_);
  decided_by_hand_ = by_hand_;
  if (by_hand_) {
    decision.action = ActionByHand();
    decision.random = false;
    touched_by_hand_ = true;
  }
  for (Key& key : keys_) key.pressed = false;
  if (decision.action == Decision::kNone) {
    // The end of a recording that stops in the middle of an episode.
    has_step_ = false;
    ended_ = true;
    tick_ = spec().ticks_per_step;
    hold_ticks_ = kHoldSeconds * spec().tick_rate_hz;
    ending_ = "unfinished";
    EndEpisode();
    return;
  }
  decision_ = decision;
  std::swap(before_, after_);
  close_up_before_ = close_up_after_;
  const EpisodeStep step = environment_.Step(decision.action);
  recorder_.Add(decision.action, step, environment_.game());
  return_ += static_cast<double>(step.reward);
  after_.Clear();
  environment_.game().Draw(after_);
  close_up_after_ = environment_.game().close_up();
  has_step_ = true;

  Moment& moment = history_[static_cast<std::size_t>(moments_++) % history_.size()];
  if (decision.has_q_values) {
    const auto [low, high] = std::minmax_element(q_values_.begin(), q_values_.end());
    moment = {*high, *low, *high};
  } else {
    moment = {static_cast<float>(return_), 0.0f, 0.0f};
  }
  if (step.ended()) {
    ended_ = true;
    ending_ = step.terminated ? "terminated" : "truncated";
    EndEpisode();
  }
}

void Session::EndEpisode() {
  if (!options_.on_episode_end) return;
  EpisodeReport report;
  report.number = episode_;
  report.seed = seed_;
  report.episode_return = return_;
  report.length = environment_.steps();
  report.ending = ending_;
  report.by_hand = touched_by_hand_;
  if (options_.player != nullptr) report.checkpoint_step = options_.player->checkpoint_step();
  report.recording = &recorder_.recording(environment_.game());
  result_lines_ = options_.on_episode_end(report);
}

void Session::TogglePause() {
  paused_ = !paused_;
  steps_wanted_ = 0;
  Touch();
}

void Session::StepOnce() {
  if (!paused_) TogglePause();
  ++steps_wanted_;
  Touch();
}

void Session::Faster() {
  if (speed_ != kFastest) speed_ = speed_ >= kMostSpeed ? kFastest : std::min(speed_ * 2, kMostSpeed);
  Touch();
}

void Session::Slower() {
  speed_ = speed_ == kFastest ? kMostSpeed : std::max(speed_ / 2, kLeastSpeed);
  Touch();
}

void Session::Restart() {
  if (over_) return;
  BeginEpisode(seed_);
}

void Session::NextEpisode() {
  if (over_) return;
  if (options_.episodes > 0 && episode_ >= options_.episodes) {
    over_ = true;
    Touch();
    return;
  }
  BeginEpisode(options_.next_seed());
  ++episode_;
}

bool Session::can_be_taken_over() const {
  return options_.player != nullptr && options_.player->can_be_taken_over();
}

bool Session::ToggleHand() {
  if (!can_be_taken_over()) return false;
  by_hand_ = !by_hand_;
  ReleaseAllKeys();
  if (decision_.action != Decision::kNone) last_action_by_hand_ = decision_.action;
  Touch();
  return true;
}

void Session::KeyDown(std::string_view name) {
  for (Key& key : keys_) {
    if (key.name != name || key.held) continue;
    key.held = true;
    key.pressed = true;
    key.order = ++presses_;
  }
}

void Session::KeyUp(std::string_view name) {
  for (Key& key : keys_) {
    if (key.name == name) key.held = false;
  }
}

void Session::ReleaseAllKeys() {
  for (Key& key : keys_) key.held = key.pressed = false;
}

bool Session::IsGameKey(std::string_view name) const {
  return std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) { return key.name == name; });
}

// The action that needs the most keys of those held. Of several, the one with the key that was pressed last.
// Without a key the action that needs none, and where a game has no such action, the last one goes on.
int Session::ActionByHand() {
  int best = -1;
  std::size_t best_keys = 0;
  std::int64_t best_order = -1;
  const std::vector<ActionSpec>& actions = spec().actions;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    bool all = true;
    std::int64_t order = 0;
    for (const std::string& name : actions[i].keys) {
      const auto key = std::find_if(keys_.begin(), keys_.end(), [&](const Key& k) { return k.name == name; });
      all = all && (key->held || key->pressed);
      order = std::max(order, key->order);
    }
    if (!all) continue;
    const std::size_t count = actions[i].keys.size();
    if (best < 0 || count > best_keys || (count == best_keys && order > best_order)) {
      best = static_cast<int>(i);
      best_keys = count;
      best_order = order;
    }
  }
  if (best >= 0) last_action_by_hand_ = best;
  return last_action_by_hand_;
}

// How far the picture is from the state before the last step to the state after it. A tick is shown while it
// lasts, so a whole step has been shown when the next one is due. A game that decides at every tick moves
// from tick to tick, as its rules say.
float Session::Share() const {
  const int ticks = spec().ticks_per_step;
  if (!has_step_ || ticks == 1) return 1.0f;
  if (tick_ >= ticks && (ended_ || paused_)) return 1.0f;
  return static_cast<float>(std::min(1.0, (tick_ - 1 + std::min(due_, 1.0)) / ticks));
}

const DrawList& Session::picture() {
  if (shown_version_ == version_) return shown_;
  shown_version_ = version_;
  InBetween(before_, after_, Share(), static_cast<float>(kLongestWay * spec().draw_width), shown_);
  return shown_;
}

std::optional<CloseUp> Session::close_up() const {
  if (!close_up_after_ || !close_up_before_) return close_up_after_;
  const float share = Share();
  const auto between = [share](float from, float to) { return from + share * (to - from); };
  const CloseUp& from = *close_up_before_;
  const CloseUp& to = *close_up_after_;
  CloseUp result;
  result.center = {between(from.center.x, to.center.x), between(from.center.y, to.center.y)};
  result.width = between(from.width, to.width);
  result.subject = {between(from.subject.x, to.subject.x), between(from.subject.y, to.subject.y)};
  return result;
}

const DrawList& Session::overlay() {
  overlay_.Clear();
  environment_.game().DrawOverlay(overlay_);
  return overlay_;
}

const DrawList& Session::senses() {
  senses_.Clear();
  environment_.game().DrawSenses(senses_);
  return senses_;
}

std::size_t Session::history_size() const {
  return std::min(static_cast<std::size_t>(moments_), history_.size());
}

const Session::Moment& Session::history(std::size_t index) const {
  METRONOME_CHECK_LT(index, history_size());
  const std::size_t first = static_cast<std::size_t>(moments_) - history_size();
  return history_[(first + index) % history_.size()];
}

}  // namespace metronome
