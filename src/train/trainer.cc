#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "metronome/core/clock.h"
#include "metronome/core/error.h"
#include "train/schedule.h"

namespace metronome {
namespace {

/// Adds the time since `clock` to `phase` and moves `clock` to now.
void CountTime(std::int64_t& phase, std::int64_t& clock) {
  const std::int64_t now = MonotonicNanoseconds();
  phase += now - clock;
  clock = now;
}

std::uint64_t SeedOf(const RunConfig& config) { return static_cast<std::uint64_t>(config.train.seed); }

/// Steps that an episode is recorded in without taking more memory: all of them where their number is
/// bounded, and not absurd.
std::int64_t ReservedSteps(std::int64_t max_episode_steps) {
  constexpr std::int64_t kMost = 1'000'000;
  return max_episode_steps == 0 ? kMost : std::min(max_episode_steps, kMost);
}

GameConfig WithLimit(GameConfig config, std::int64_t max_episode_steps) {
  config.max_episode_steps = max_episode_steps;
  return config;
}

TimeLimit MakeEnvironment(const GameConfig& config, std::unique_ptr<Game> game) {
  const std::int64_t max_steps = config.max_episode_steps.value_or(game->spec().default_max_episode_steps);
  return TimeLimit(std::move(game), max_steps);
}

}  // namespace

NetworkSpec NetworkSpecFor(const GameSpec& game, const NetworkConfig& network) {
  return {game.observation.shape, game.num_actions(), network};
}

ReplayBuffer::Options ReplayOptionsFor(const RunConfig& config, const ObservationSpec& observation) {
  ReplayBuffer::Options options;
  options.capacity = config.replay.capacity;
  options.observation_size = observation.size();
  options.byte_observations = observation.type == ElementType::kUint8;
  options.discount = static_cast<float>(config.learner.discount);
  return options;
}

Trainer::Trainer(const RunConfig& config)
    : Trainer(config, MakeGame(config.game.name, config.game.parameters)) {}

Trainer::Trainer(const RunConfig& config, std::unique_ptr<Game> game)
    : config_(config),
      environment_(MakeEnvironment(config.game, std::move(game))),
      network_spec_(NetworkSpecFor(environment_.game().spec(), config.network)),
      game_stream_(SeedOf(config), "game"),
      exploration_stream_(SeedOf(config), "exploration"),
      sampling_stream_(SeedOf(config), "sampling"),
      weights_stream_(SeedOf(config), "weights"),
      replay_(ReplayOptionsFor(config, environment_.game().spec().observation)),
      learner_(MakeLearner(network_spec_, config.learner, config.device, weights_stream_)),
      recorder_(WithLimit(config.game, environment_.max_steps()), ReservedSteps(environment_.max_steps())),
      observation_(static_cast<std::size_t>(environment_.game().spec().observation.size())),
      q_values_(static_cast<std::size_t>(network_spec_.num_actions)) {}

Trainer::StepReport Trainer::Step() {
  StepReport report;
  const std::int64_t start = MonotonicNanoseconds();
  std::int64_t clock = start;
  if (!in_episode_) {
    BeginEpisode();
    CountTime(report.times.game, clock);
    replay_.BeginEpisode(observation_);
    CountTime(report.times.replay, clock);
  }

  epsilon_ = EpsilonAt(config_.exploration, steps_);
  const int action = ChooseAction(report.explored);
  CountTime(report.times.act, clock);

  const EpisodeStep step = environment_.Step(action);
  environment_.game().WriteObservation(observation_);
  ++steps_;
  // A recording has no place for a return that is no number, so it ends before.
  if (!std::isfinite(step.reward)) {
    const ActionSpec& taken = environment_.game().spec().actions[static_cast<std::size_t>(action)];
    CheckFinite(static_cast<double>(step.reward), ("the reward of action \"" + taken.name + "\"").c_str());
  }
  recorder_.Add(action, step, environment_.game());
  CountTime(report.times.game, clock);

  CheckObservation();
  episode_return_ += static_cast<double>(step.reward);
  const Ending ending =
      step.terminated ? Ending::kTerminated : (step.truncated ? Ending::kTruncated : Ending::kNone);
  replay_.Add(action, step.reward, ending, observation_);
  CountTime(report.times.replay, clock);

  if (replay_.size() >= config_.replay.warmup && steps_ % config_.train.update_period == 0) {
    // After the last update comes the next action, unless the episode has ended: one trip to the device does
    // for both.
    const bool act_too = learner_->saves_a_trip() && !step.ended();
    for (std::int64_t i = 1; i <= config_.train.updates_per_period; ++i) {
      UpdateOnce(act_too && i == config_.train.updates_per_period, report.times, clock);
    }
    report.updated = true;
  }

  if (step.ended()) {
    ++episodes_;
    in_episode_ = false;
    finished_ = {episodes_, episode_return_, environment_.steps(), step.terminated, epsilon_, {}, {}, {}};
    if (episode_updates_ > 0) {
      const auto updates = static_cast<double>(episode_updates_);
      finished_.loss = loss_sum_ / updates;
      finished_.q_mean = q_sum_ / updates;
      finished_.gradient_norm = gradient_norm_sum_ / updates;
    }
    report.finished = &finished_;
  }
  report.times.total = MonotonicNanoseconds() - start;
  return report;
}

void Trainer::BeginEpisode() {
  const std::uint64_t seed = game_stream_.NextBits();
  environment_.Reset(seed);
  recorder_.Begin(seed);
  environment_.game().WriteObservation(observation_);
  CheckObservation();
  in_episode_ = true;
  episode_return_ = 0.0;
  episode_updates_ = 0;
  loss_sum_ = q_sum_ = gradient_norm_sum_ = 0.0;
}

int Trainer::ChooseAction(bool& explored) {
  const auto actions = static_cast<std::int64_t>(q_values_.size());
  explored = exploration_stream_.Uniform() < epsilon_;
  const bool has_q_values = std::exchange(has_q_values_, false);
  if (explored) {
    return static_cast<int>(exploration_stream_.UniformInt(actions));
  }
  if (!has_q_values) learner_->QValues(observation_, q_values_);
  return static_cast<int>(std::max_element(q_values_.begin(), q_values_.end()) - q_values_.begin());
}

void Trainer::UpdateOnce(bool act_too, PhaseTimes& times, std::int64_t& clock) {
  replay_.Sample(sampling_stream_, learner_->batch());
  CountTime(times.replay, clock);
  const UpdateResult result =
      act_too ? learner_->UpdateAndQValues(observation_, q_values_) : learner_->Update();
  has_q_values_ = act_too;
  CheckUpdate(result);
  ++episode_updates_;
  loss_sum_ += static_cast<double>(result.loss);
  q_sum_ += static_cast<double>(result.q_mean);
  gradient_norm_sum_ += static_cast<double>(result.gradient_norm);
  CountTime(times.update, clock);
}

void Trainer::CheckFinite(double value, const char* what) const {
  if (std::isfinite(value)) return;
  throw Error(ExitCode::kNonFinite, "step " + std::to_string(steps_) + ", episode " +
                                        std::to_string(episodes_ + 1) + ": " + what + " is " +
                                        std::to_string(value));
}

void Trainer::CheckObservation() const {
  // A sum is not finite when one of its terms isn't, and cheaper than a look at each. A sum of finite floats
  // that overflows is looked at again.
  float sum = 0.0f;
  for (const float value : observation_) sum += value;
  if (std::isfinite(sum)) return;
  for (std::size_t i = 0; i < observation_.size(); ++i) {
    if (std::isfinite(observation_[i])) continue;
    const ObservationSpec& spec = environment_.game().spec().observation;
    const std::size_t feature = i / (observation_.size() / spec.features.size());
    CheckFinite(
        static_cast<double>(observation_[i]),
        ("observation element " + std::to_string(i) + " (" + spec.features[feature].name + ")").c_str());
  }
}

void Trainer::CheckUpdate(const UpdateResult& result) {
  CheckFinite(static_cast<double>(result.loss), "the loss");
  CheckFinite(static_cast<double>(result.gradient_norm), "the gradient's norm");
  CheckWeights(static_cast<double>(result.gradient_norm));
}

void Trainer::CheckNumbers(float reward, const UpdateResult& result) {
  CheckFinite(static_cast<double>(reward), "the reward");
  CheckObservation();
  CheckUpdate(result);
}

void Trainer::CheckWeights(double gradient_norm) {
  // To look at every weight after every update would cost more than a hundredth of it. Adam moves a weight by
  // at most rate * |m / (1 - beta1^t)| / epsilon, and its mean m of the gradient is no larger than the
  // largest gradient so far. So a bound is kept on both, and only where that gets near what float32 holds are
  // weights and moments looked at: never in a run in its senses. The mean of squares follows the norm.
  constexpr double kMostInFloat = 1e35;
  constexpr double kMostSquared = 1e18;
  const LearnerConfig& learner = config_.learner;
  const double clipped =
      learner.max_gradient_norm > 0.0 ? std::min(gradient_norm, learner.max_gradient_norm) : gradient_norm;
  most_moment_ = std::max(most_moment_, clipped);
  most_weight_ += learner.learning_rate * most_moment_ / ((1.0 - learner.adam_beta1) * learner.adam_epsilon);
  if (most_weight_ < kMostInFloat && most_moment_ < kMostSquared) return;

  const auto largest = [this](std::span<const float> values, const char* vector) {
    double most = 0.0;
    for (const NamedTensor& tensor : learner_->tensors()) {
      for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.size; ++i) {
        const auto value = static_cast<double>(values[static_cast<std::size_t>(i)]);
        if (!std::isfinite(value))
          CheckFinite(value, ("the weight " + std::string(vector) + tensor.name).c_str());
        most = std::max(most, std::abs(value));
      }
    }
    return most;
  };
  most_weight_ = std::max(largest(learner_->online(), ""), largest(learner_->target(), "target."));
  most_moment_ = largest(learner_->first_moment(), "adam.first_moment.");
  largest(learner_->second_moment(), "adam.second_moment.");
}

std::array<std::pair<const char*, Rng*>, 4> Trainer::Streams() {
  return {{{"game", &game_stream_},
           {"exploration", &exploration_stream_},
           {"sampling", &sampling_stream_},
           {"weights", &weights_stream_}}};
}

TrainerState Trainer::SaveState() {
  TrainerState state;
  state.steps = steps_;
  state.episodes = episodes_;
  for (const auto& [name, stream] : Streams()) state.streams[name] = stream->SaveState();
  if (!in_episode_) return state;
  state.episode = recorder_.recording(environment_.game());
  state.episode_updates = episode_updates_;
  state.loss_sum = loss_sum_;
  state.q_sum = q_sum_;
  state.gradient_norm_sum = gradient_norm_sum_;
  return state;
}

void Trainer::RestoreState(const TrainerState& state, const std::string& name) {
  const auto bad = [&](const std::string& what) {
    return Error(ExitCode::kBadCheckpoint, name + ": " + what);
  };
  steps_ = state.steps;
  episodes_ = state.episodes;
  for (const auto& [stream_name, stream] : Streams()) {
    const auto found = state.streams.find(stream_name);
    if (found == state.streams.end()) throw bad("has no stream \"" + std::string(stream_name) + "\"");
    *stream = Rng::FromState(found->second);
  }
  in_episode_ = state.episode.has_value();
  if (in_episode_ != replay_.in_episode())
    throw bad("the replay and the episode in progress don't fit together");
  if (!in_episode_) return;

  const Recording& episode = *state.episode;
  environment_.Reset(episode.seed);
  recorder_.Begin(episode.seed);
  episode_return_ = 0.0;
  for (const std::int32_t action : episode.actions) {
    if (action < 0 || action >= network_spec_.num_actions)
      throw bad("the episode in progress has a foreign action");
    const EpisodeStep step = environment_.Step(action);
    if (step.ended()) throw bad("the episode in progress ends before its last action");
    recorder_.Add(action, step, environment_.game());
    episode_return_ += static_cast<double>(step.reward);
  }
  const Recording& again = recorder_.recording(environment_.game());
  if (again.hashes != episode.hashes || again.episode_return != episode.episode_return) {
    throw bad("the episode in progress, played again, comes out differently: another version of the game?");
  }
  environment_.game().WriteObservation(observation_);
  episode_updates_ = state.episode_updates;
  loss_sum_ = state.loss_sum;
  q_sum_ = state.q_sum;
  gradient_norm_sum_ = state.gradient_norm_sum;
}

}  // namespace metronome
