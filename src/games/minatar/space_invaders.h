#ifndef METRONOME_GAMES_MINATAR_SPACE_INVADERS_H_
#define METRONOME_GAMES_MINATAR_SPACE_INVADERS_H_

#include <span>

#include "games/minatar/cell_set.h"
#include "games/minatar/minatar_game.h"

namespace metronome {

/// Rules
///   A block of 24 aliens moves sideways over the board, turns round and comes down one row at each edge, and
///   shoots at the cannon in the bottom row. Each alien that the cannon shoots earns 1. A bullet or an alien
///   that hits the cannon, or aliens that would come down from the bottom row, terminate the episode.
///   - The cannon can shoot every 5 steps; its bullets rise one row a step.
///   - The aliens move every min(their number, move_interval) steps, move_interval being 12 at first.
///   - Every 10 steps the lowest alien of the column nearest to the cannon (of two, the left one) shoots.
///   - When no alien is left a new block appears. With ramping the move interval becomes one shorter, down to
///     6. Direction, timers and bullets stay as they are.
///
/// Source
///   MinAtar: see MinatarGame. The step limit of 10,000 is ours.
///
/// Parameters
///   sticky_action_probability  0.1    chance that a step repeats the last action
///   difficulty_ramping         true   each block of aliens moves faster than the one before
///   minimal_actions            false  none, left, right, fire instead of all six
///
/// Actions
///   0 none, 1 left, 2 up, 3 right, 4 down, 5 fire; 2 and 4 do nothing
///
/// Observation (6, 10, 10), uint8, each 0 or 1
///   0  cannon
///   1  alien
///   2  alien, while they move to the left
///   3  alien, while they move to the right
///   4  own bullet
///   5  enemy bullet
class SpaceInvaders final : public MinatarGame {
 public:
  struct State {
    int cannon_column = 0;  ///< In the bottom row.
    CellSet own_bullets;
    CellSet enemy_bullets;
    CellSet aliens;
    int direction = -1;        ///< Columns a move of the aliens: 1 to the right, -1 to the left.
    int move_interval = 0;     ///< Steps.
    int move_timer = 0;        ///< Steps until the aliens move.
    int alien_shot_timer = 0;  ///< Steps until one of them shoots.
    int ramp_index = 0;
    int shot_timer = 0;  ///< Steps until the cannon can shoot.
  };

  explicit SpaceInvaders(const GameParameters& parameters);

  void WriteObservation(std::span<float> out) const override;
  void Draw(DrawList& out) const override;

  /// The column to which an action takes the cannon.
  static int MoveCannon(MinatarAction action, int column);

  /// For tests: goes on from `state`, in the episode under way.
  void SetState(const State& state) { state_ = state; }
  const State& state() const { return state_; }

 protected:
  void Begin() override;
  int Advance(MinatarAction action) override;
  void Hash(StateHasher& hasher) const override;

 private:
  void MoveAliens();
  void ShootAtCannon();

  State state_;
};

GameInfo SpaceInvadersInfo();

}  // namespace metronome

#endif  // METRONOME_GAMES_MINATAR_SPACE_INVADERS_H_
