#ifndef METRONOME_GAMES_MINATAR_ASTERIX_H_
#define METRONOME_GAMES_MINATAR_ASTERIX_H_

#include <array>
#include <span>

#include "games/minatar/minatar_game.h"

namespace metronome {

/// Rules
///   The player moves freely over the ten columns of eight lanes. Enemies and gold come in from the left and
///   the right and cross the board, at most one of them in each lane. Touching gold picks it up and earns 1;
///   touching an enemy terminates the episode.
///   - Every spawn_period steps (10 at first) an enemy (two times of three) or gold (one of three) comes into
///     an empty lane.
///   - All of them move one column every move_period steps (5 at first).
///   - With ramping, every 102 steps the spawn period becomes one shorter, every other time the move period
///     too, down to 1 each. A timer that runs is not cut short.
///
/// Source
///   MinAtar: see MinatarGame. The step limit of 10,000 is ours.
///
/// Parameters
///   sticky_action_probability  0.1    chance that a step repeats the last action
///   difficulty_ramping         true   spawning and moving become faster
///   minimal_actions            false  none, left, up, right, down instead of all six
///
/// Actions
///   0 none, 1 left, 2 up, 3 right, 4 down, 5 fire; 5 does nothing
///
/// Observation (4, 10, 10), uint8, each 0 or 1
///   0  player
///   1  enemy
///   2  trail: the column behind an enemy or gold, where that is on the board
///   3  gold
class Asterix final : public MinatarGame {
 public:
  static constexpr int kLanes = 8;

  enum class Kind { kNothing, kEnemy, kGold };
  struct Lane {
    Kind kind = Kind::kNothing;
    int column = 0;
    int heading = 1;  ///< Columns a move: 1 to the right, -1 to the left.
  };
  struct State {
    int player_row = 0;  ///< 1 .. 8.
    int player_column = 0;
    std::array<Lane, kLanes> lanes = {};  ///< Rows 1 .. 8.
    int spawn_period = 0;                 ///< Steps.
    int spawn_timer = 0;
    int move_period = 0;  ///< Steps.
    int move_timer = 0;
    int ramp_timer = 0;
    int ramp_index = 0;
  };

  explicit Asterix(const GameParameters& parameters);

  void WriteObservation(std::span<float> out) const override;
  void Draw(DrawList& out) const override;

  /// Where an action takes the player.
  static void MovePlayer(MinatarAction action, int& row, int& column);

  /// For tests: goes on from `state`, in the episode under way.
  void SetState(const State& state) { state_ = state; }
  const State& state() const { return state_; }

 protected:
  void Begin() override;
  int Advance(MinatarAction action) override;
  void Hash(StateHasher& hasher) const override;

 private:
  void Spawn();
  /// What happens where the player and what is in his lane are in one cell: the reward.
  int Touch();
  void Ramp();

  State state_;
};

GameInfo AsterixInfo();

}  // namespace metronome

#endif  // METRONOME_GAMES_MINATAR_ASTERIX_H_
