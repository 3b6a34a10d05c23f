#ifndef METRONOME_TESTS_GAMES_MINATAR_DEALT_GAME_H_
#define METRONOME_TESTS_GAMES_MINATAR_DEALT_GAME_H_

#include <gtest/gtest.h>

#include <vector>

#include "games/minatar/minatar_game.h"
#include "metronome/games/registry.h"

namespace metronome {

/// Outcomes of chance that a test deals out, uniform numbers and integers alike.
class DealtChance final : public ChanceScript {
 public:
  void Deal(std::vector<double> outcomes) {
    outcomes_ = std::move(outcomes);
    used_ = 0;
  }
  bool all_used() const { return used_ == outcomes_.size(); }

  double Uniform() override { return Next(); }
  int UniformInt(int low, int high) override {
    const int value = static_cast<int>(Next());
    EXPECT_GE(value, low);
    EXPECT_LT(value, high);
    return value;
  }

 private:
  double Next() {
    if (used_ < outcomes_.size()) return outcomes_[used_++];
    ADD_FAILURE() << "the game drew once more than the " << outcomes_.size() << " outcomes dealt";
    return 0.0;
  }

  std::vector<double> outcomes_;
  std::size_t used_ = 0;
};

/// A game in a test's hands: no action is sticky, and each reset and step is dealt exactly what it draws.
template <typename GameType>
class DealtGame {
 public:
  using State = typename GameType::State;

  explicit DealtGame(const GameInfo& info, bool ramping = true) : game_(GameParameters(info.parameters)) {
    game_.set_script(&chance_);
    game_.set_options({.sticky_action_probability = 0.0, .difficulty_ramping = ramping});
  }

  void Begin(const std::vector<double>& outcomes = {}) {
    chance_.Deal(outcomes);
    game_.BeginOriginal();
    EXPECT_TRUE(chance_.all_used()) << "reset";
  }

  StepResult Step(MinatarAction action, std::vector<double> outcomes = {}) {
    outcomes.insert(outcomes.begin(), 0.5);  // the draw for stickiness
    chance_.Deal(std::move(outcomes));
    const StepResult result = game_.StepOriginal(action);
    EXPECT_TRUE(chance_.all_used()) << "step";
    return result;
  }
  StepResult Wait() { return Step(MinatarAction::kNone); }
  void Wait(int steps) {
    for (int i = 0; i < steps; ++i) Wait();
  }

  const State& state() const { return game_.state(); }
  void Set(const State& state) { game_.SetState(state); }

  /// Cells of a channel of the observation, as 10 * row + column.
  std::vector<int> Seen(int channel) const {
    std::vector<float> observation(static_cast<std::size_t>(game_.spec().observation.size()));
    game_.WriteObservation(observation);
    std::vector<int> cells;
    for (int cell = 0; cell < CellSet::kCells; ++cell) {
      if (observation[static_cast<std::size_t>(CellSet::kCells * channel + cell)] != 0.0f)
        cells.push_back(cell);
    }
    return cells;
  }

 private:
  GameType game_;
  DealtChance chance_;
};

/// The mean return of a game's scripted player.
inline double MeanScriptedReturn(const GameInfo& info, const GameParameters& parameters, int episodes) {
  const auto game = MakeGame(info.name, parameters);
  const auto player = info.make_scripted_policy(parameters);
  std::vector<float> observation(static_cast<std::size_t>(game->spec().observation.size()));
  constexpr int kMostSteps = 2501;
  double sum = 0.0;
  for (int episode = 0; episode < episodes; ++episode) {
    game->Reset(static_cast<std::uint64_t>(episode) + 1);
    player->Reset();
    StepResult step;
    for (int i = 0; i < kMostSteps && !step.terminated; ++i) {
      game->WriteObservation(observation);
      step = game->Step(player->Act(observation));
      sum += static_cast<double>(step.reward);
    }
  }
  return sum / episodes;
}

}  // namespace metronome

#endif  // METRONOME_TESTS_GAMES_MINATAR_DEALT_GAME_H_
