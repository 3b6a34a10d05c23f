#include "games/minatar/minatar_game.h"

#include <algorithm>
#include <array>
#include <utility>

#include "games/minatar/minatar_picture.h"
#include "metronome/core/check.h"

namespace metronome {
namespace {

constexpr std::array<const char*, 6> kActionNames = {"none", "left", "up", "right", "down", "fire"};
constexpr std::array<const char*, 6> kActionKeys = {"", "Left", "Up", "Right", "Down", "Space"};

ActionSpec MakeAction(MinatarAction action) {
  const auto index = static_cast<std::size_t>(action);
  ActionSpec spec;
  spec.name = kActionNames[index];
  if (action != MinatarAction::kNone) spec.keys = {kActionKeys[index]};
  return spec;
}

}  // namespace

MinatarGame::MinatarGame(MinatarDescription description, const GameParameters& parameters) {
  options_.sticky_action_probability = parameters.GetDouble("sticky_action_probability");
  if (description.ramps) options_.difficulty_ramping = parameters.GetBool("difficulty_ramping");
  if (parameters.GetBool("minimal_actions")) {
    actions_.assign(description.minimal_actions.begin(), description.minimal_actions.end());
  } else {
    actions_ = {MinatarAction::kNone,  MinatarAction::kLeft, MinatarAction::kUp,
                MinatarAction::kRight, MinatarAction::kDown, MinatarAction::kFire};
  }
  spec_.name = std::move(description.name);
  for (const MinatarAction action : actions_) spec_.actions.push_back(MakeAction(action));
  spec_.observation.type = ElementType::kUint8;
  spec_.observation.shape = {static_cast<std::int64_t>(description.channels.size()), CellSet::kSide,
                             CellSet::kSide};
  for (std::string& channel : description.channels) {
    spec_.observation.features.push_back({.name = std::move(channel), .low = 0.0, .high = 1.0});
  }
  spec_.tick_rate_hz = description.steps_per_second;
  spec_.default_max_episode_steps = description.default_max_episode_steps;
  spec_.draw_width = static_cast<double>(kPictureSide);
  spec_.draw_height = static_cast<double>(kPictureHeight);
}

void MinatarGame::Reset(std::uint64_t seed) {
  chance_.Seed(seed);
  last_action_ = MinatarAction::kNone;
  BeginOriginal();
}

void MinatarGame::BeginOriginal() {
  terminated_ = false;
  score_ = 0;
  stuck_ = false;
  Begin();
}

StepResult MinatarGame::Step(int action) {
  METRONOME_CHECK(!terminated_);
  METRONOME_CHECK_GE(action, 0);
  METRONOME_CHECK_LT(action, static_cast<int>(actions_.size()));
  return StepOriginal(actions_[static_cast<std::size_t>(action)]);
}

StepResult MinatarGame::StepOriginal(MinatarAction action) {
  const MinatarAction requested = action;
  if (chance_.Uniform() < options_.sticky_action_probability) action = last_action_;
  last_action_ = action;
  stuck_ = action != requested;
  if (terminated_) return {.reward = 0.0f, .terminated = true};
  const int reward = Advance(action);
  score_ += reward;
  return {.reward = static_cast<float>(reward), .terminated = terminated_};
}

void MinatarGame::DrawScore(DrawList& out, std::string_view bar_name, float bar) const {
  DrawStrip(out, score_, last_action_, stuck_, bar_name, bar);
}

std::uint64_t MinatarGame::StateHash() const {
  StateHasher hasher;
  chance_.Hash(hasher);
  hasher.Add(static_cast<int>(last_action_)).Add(terminated_);
  Hash(hasher);
  return hasher.value();
}

std::vector<ParameterSpec> MinatarParameters(bool ramps, std::span<const MinatarAction> minimal_actions) {
  std::string names;
  for (const MinatarAction action : minimal_actions) {
    names.append(names.empty() ? "" : ", ").append(kActionNames[static_cast<std::size_t>(action)]);
  }
  std::vector<ParameterSpec> parameters = {
      {.name = "sticky_action_probability",
       .default_value = 0.1,
       .low = 0.0,
       .high = 1.0,
       .unit = "",
       .meaning = "chance that a step repeats the action executed last instead of the one asked for"}};
  if (ramps) {
    parameters.push_back({.name = "difficulty_ramping",
                          .default_value = true,
                          .low = 0.0,
                          .high = 1.0,
                          .unit = "",
                          .meaning = "the game becomes faster while the episode lasts"});
  }
  parameters.push_back({.name = "minimal_actions",
                        .default_value = false,
                        .low = 0.0,
                        .high = 1.0,
                        .unit = "",
                        .meaning = "only the actions that do something (" + names + ") instead of all six"});
  return parameters;
}

CellWriter::CellWriter(std::span<float> out, int channels) : data_(out.data()) {
  METRONOME_CHECK_EQ(out.size(), static_cast<std::size_t>(channels) * CellSet::kCells);
  std::fill(out.begin(), out.end(), 0.0f);
}

}  // namespace metronome
