#ifndef METRONOME_TESTS_TRAIN_PROBE_GAMES_H_
#define METRONOME_TESTS_TRAIN_PROBE_GAMES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "metronome/games/game.h"

namespace metronome {

/// A tiny game for tests of the loop: its observation is (steps since reset, the episode's seed mod 1000),
/// and what a step gives is a function of the step's number and the action.
class ProbeGame : public Game {
 public:
  using Rules = std::function<StepResult(std::int64_t step, int action)>;  // step counts from 1

  ProbeGame(int num_actions, Rules rules) : rules_(std::move(rules)) {
    spec_.name = "probe";
    for (int action = 0; action < num_actions; ++action) {
      spec_.actions.push_back(
          {std::string("a") + std::to_string(action), {std::string("Key") + std::to_string(action)}});
    }
    spec_.observation.shape = {2};
    spec_.observation.features = {{"steps", 0.0, 1e9}, {"seed", 0.0, 1000.0}};
  }

  const GameSpec& spec() const override { return spec_; }
  void Reset(std::uint64_t seed) override {
    seeds.push_back(seed);
    step_ = 0;
  }
  StepResult Step(int action) override {
    actions.push_back(action);
    return rules_(++step_, action);
  }
  void WriteObservation(std::span<float> out) const override {
    out[0] = shows_steps ? static_cast<float>(step_) : 0.0f;
    out[1] = shows_seed ? static_cast<float>(seeds.back() % 1000) : 0.0f;
    if (poison != nullptr) poison(step_, out);
  }
  std::uint64_t StateHash() const override { return static_cast<std::uint64_t>(step_); }
  void Draw(DrawList&) const override {}

  // What a test looks at and sets.
  std::vector<std::uint64_t> seeds;
  std::vector<int> actions;
  bool shows_steps = true;
  bool shows_seed = true;
  std::function<void(std::int64_t, std::span<float>)> poison;

 private:
  GameSpec spec_;
  Rules rules_;
  std::int64_t step_ = 0;
};

}  // namespace metronome

#endif  // METRONOME_TESTS_TRAIN_PROBE_GAMES_H_
