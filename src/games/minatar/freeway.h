#ifndef METRONOME_GAMES_MINATAR_FREEWAY_H_
#define METRONOME_GAMES_MINATAR_FREEWAY_H_

#include <array>
#include <span>

#include "games/minatar/minatar_game.h"

namespace metronome {

/// Rules
///   A chicken crosses a road of eight lanes, a car on each, from the bottom row to the top row. Arriving
///   earns 1, gives every car a new speed and direction and puts the chicken back at the bottom. A car that
///   hits it also puts it back there, and costs nothing else.
///   - After a move the chicken waits: it can move every third step.
///   - A car of class c moves one column every c + 1 steps, and leaves the road on one side to come back on
///     the other. All cars begin in column 0.
///   - The episode terminates after 2,501 steps.
///
/// Source
///   MinAtar: see MinatarGame. The game has no step limit of ours besides its own.
///
/// Parameters
///   sticky_action_probability  0.1    chance that a step repeats the last action
///   minimal_actions            false  none, up, down instead of all six
///
/// Actions
///   0 none, 1 left, 2 up, 3 right, 4 down, 5 fire; 1, 3 and 5 do nothing
///
/// Observation (7, 10, 10), uint8, each 0 or 1
///   0      chicken
///   1      car
///   2 - 6  trail of a car of class 1 (fast) to 5 (slow): the column behind it
class Freeway final : public MinatarGame {
 public:
  static constexpr int kLanes = 8;
  static constexpr int kChickenColumn = 4;

  struct Car {
    int column = 0;
    int timer = 0;        ///< Steps until it moves.
    int speed_class = 1;  ///< 1 .. 5.
    int heading = 1;      ///< Columns a move: 1 to the right, -1 to the left.
  };
  struct State {
    int chicken_row = 0;
    int chicken_timer = 0;              ///< Steps until it can move.
    int steps_left = 0;                 ///< The episode terminates when it falls below 0.
    std::array<Car, kLanes> cars = {};  ///< In rows 1 .. 8.
  };

  explicit Freeway(const GameParameters& parameters);

  void WriteObservation(std::span<float> out) const override;
  void Draw(DrawList& out) const override;

  /// For tests: goes on from `state`, in the episode under way.
  void SetState(const State& state) { state_ = state; }
  const State& state() const { return state_; }

 protected:
  void Begin() override;
  int Advance(MinatarAction action) override;
  void Hash(StateHasher& hasher) const override;

 private:
  /// New classes, headings and timers; the columns stay.
  void Randomize();

  State state_;
};

GameInfo FreewayInfo();

}  // namespace metronome

#endif  // METRONOME_GAMES_MINATAR_FREEWAY_H_
