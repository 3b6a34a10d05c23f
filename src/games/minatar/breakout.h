#ifndef METRONOME_GAMES_MINATAR_BREAKOUT_H_
#define METRONOME_GAMES_MINATAR_BREAKOUT_H_

#include <span>

#include "games/minatar/cell_set.h"
#include "games/minatar/minatar_game.h"

namespace metronome {

/// Rules
///   A ball flies one cell a step along the diagonals, between three rows of bricks at the top and a paddle
///   in the bottom row. It bounces off the walls, the ceiling, bricks and the paddle; each brick that it
///   breaks earns 1. The episode terminates when it comes down to the bottom row beside the paddle.
///   - Straight above the paddle, the ball is sent back up at the same slant. Where its slant takes it onto
///     the paddle, it goes back the way it came.
///   - A bounce off a brick or the paddle leaves the ball in its row, but moved aside by one column.
///   - After a hit the ball flies through further bricks, which stay, until a step without one.
///   - When no brick is left, the wall is built anew the next time the ball comes down to the bottom row.
///   - It starts inside the wall, at the left or right edge of its lowest row, on its way down and inwards.
///
/// Source
///   MinAtar: see MinatarGame. The step limit of 10,000 is ours: a player who never misses would play for
///   ever.
///
/// Parameters
///   sticky_action_probability  0.1    chance that a step repeats the last action
///   minimal_actions            false  none, left, right instead of all six
///
/// Actions
///   0 none, 1 left, 2 up, 3 right, 4 down, 5 fire; 2, 4 and 5 do nothing
///
/// Observation (4, 10, 10), uint8, each 0 or 1
///   0  paddle
///   1  ball
///   2  trail: where the ball was a step ago; where it is, right after Reset()
///   3  brick
class Breakout final : public MinatarGame {
 public:
  /// The direction of the ball, clockwise.
  enum Direction { kUpLeft, kUpRight, kDownRight, kDownLeft };

  struct State {
    int ball_row = 0;
    int ball_column = 0;
    Direction direction = kUpLeft;
    int trail_row = 0;
    int trail_column = 0;
    int paddle_column = 0;  ///< In the bottom row.
    bool strike = false;    ///< The ball is flying through bricks after a hit.
    CellSet bricks;
  };

  explicit Breakout(const GameParameters& parameters);

  void WriteObservation(std::span<float> out) const override;
  void Draw(DrawList& out) const override;

  /// What the ball did in a step.
  struct Flight {
    int reward = 0;
    bool lost = false;  ///< It came down beside the paddle.
  };
  /// The ball's part of a step, the paddle having moved.
  static Flight Fly(State& state);

  /// For tests: goes on from `state`, in the episode under way.
  void SetState(const State& state) { state_ = state; }
  const State& state() const { return state_; }

 protected:
  void Begin() override;
  int Advance(MinatarAction action) override;
  void Hash(StateHasher& hasher) const override;

 private:
  State state_;
};

GameInfo BreakoutInfo();

}  // namespace metronome

#endif  // METRONOME_GAMES_MINATAR_BREAKOUT_H_
