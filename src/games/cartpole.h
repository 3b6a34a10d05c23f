#ifndef METRONOME_GAMES_CARTPOLE_H_
#define METRONOME_GAMES_CARTPOLE_H_

#include <cstdint>
#include <span>

#include "metronome/games/game.h"
#include "metronome/games/registry.h"

namespace metronome {

/// Rules
///   A pole is hinged on a cart that runs on a rail without friction. Each step pushes the cart to the left
///   or to the right for a fiftieth of a second. The episode terminates when the cart leaves [-2.4, 2.4] m or
///   the pole leans more than 12 degrees from upright. Every step earns 1, the one that terminates included.
///   The step limit is 500; a mean return of 475 counts as solved.
///
/// Source
///   CartPole-v1 of Gymnasium (github.com/Farama-Foundation/Gymnasium, MIT licence), after Barto, Sutton and
///   Anderson 1983, "Neuronlike adaptive elements that can solve difficult learning control problems". The
///   same arithmetic in the same order, in doubles, so that with one C library both give the same bits.
///
/// Parameters
///   sutton_barto_reward  false  the reward of the 1983 article instead: 0 a step, -1 for the one that
///   terminates
///
/// Actions
///   0  left   -10 N, key Left
///   1  right  +10 N, key Right
///
/// Observation (4), float32
///   0  cart position, m; 0 is the middle of the rail, positive to the right
///   1  cart velocity, m/s
///   2  pole angle, rad; 0 is upright, positive leans to the right
///   3  pole angular velocity, rad/s
class Cartpole final : public Game {
 public:
  struct State {
    double position = 0.0;          ///< m
    double velocity = 0.0;          ///< m/s
    double angle = 0.0;             ///< rad
    double angular_velocity = 0.0;  ///< rad/s
  };

  explicit Cartpole(const GameParameters& parameters);

  const GameSpec& spec() const override { return spec_; }
  void Reset(std::uint64_t seed) override;
  StepResult Step(int action) override;
  void WriteObservation(std::span<float> out) const override;
  std::uint64_t StateHash() const override;
  void Draw(DrawList& out) const override;

  /// For tests: goes on from `state`, as in an episode that has not ended.
  void SetState(const State& state);
  const State& state() const { return state_; }

 private:
  GameSpec spec_;
  bool sutton_barto_reward_;
  State state_;
  bool playing_ = false;  // Reset() was called, and the rules have not ended the episode since
};

GameInfo CartpoleInfo();

}  // namespace metronome

#endif  // METRONOME_GAMES_CARTPOLE_H_
