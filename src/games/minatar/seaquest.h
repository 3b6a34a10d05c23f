#ifndef METRONOME_GAMES_MINATAR_SEAQUEST_H_
#define METRONOME_GAMES_MINATAR_SEAQUEST_H_

#include <span>

#include "games/minatar/minatar_game.h"
#include "games/minatar/ordered_list.h"

namespace metronome {

/// Rules
///   A boat under water shoots fish and enemy submarines, 1 for each, takes divers aboard and brings them to
///   the surface before its oxygen ends. Touching a fish, a submarine or one of their bullets terminates the
///   episode, and so does running out of oxygen or coming to the surface without a diver.
///   - Oxygen lasts 200 steps under water. Surfacing refills it and costs one diver; with six aboard it earns
///     one for each full 20 of oxygen that are left, at most 9, and costs all six and one more: the count is
///     then -1, surfacing is no longer fatal until it is exactly 0 again, and the gauge shows nothing for
///     both.
///   - The boat can shoot every 5 steps, a submarine does every 11. Bullets fly one column a step.
///   - Fish and submarines move every move_interval + 1 steps (6 at first), divers every 6 steps.
///   - Every enemy_period steps (20 at first) a fish (two times of three) or a submarine appears at the left
///     or right edge, unless one in its row is heading the other way; every 30 steps a diver.
///   - With ramping, each surfacing makes enemy_period one shorter, down to 1, and every other one
///     move_interval, down to 2.
///   - Lists of things are gone through from the newest to the oldest; bullets look for their target from
///     the oldest. A submarine shot at by running into a bullet still fires.
///   - The boat starts at the surface, where it uses no oxygen.
///
/// Source
///   MinAtar: see MinatarGame. The step limit of 10,000 is ours: a boat that stays at the surface would be
///   safe for ever.
///
/// Parameters
///   sticky_action_probability  0.1    chance that a step repeats the last action
///   difficulty_ramping         true   enemies appear more often and move faster
///   minimal_actions            false  the same six actions: the game has a use for all
///
/// Actions
///   0 none, 1 left, 2 up, 3 right, 4 down, 5 fire
///
/// Observation (10, 10, 10), uint8, each 0 or 1
///   0  front of the boat
///   1  back of the boat
///   2  own bullet
///   3  trail: the column behind a fish, submarine or diver, where that is on the board
///   4  enemy bullet
///   5  fish
///   6  enemy submarine
///   7  oxygen gauge, in the bottom row from the left
///   8  diver gauge, in the bottom row up to column 8
///   9  diver
class Seaquest final : public MinatarGame {
 public:
  // Each list has room for the most that the rules allow. A fish or submarine crosses the board in at most 60
  // steps, and at most one appears a step; a bullet crosses in at most 10 steps, and a submarine has at most
  // one in the air; divers take 60 steps and appear every 30; the boat shoots every 5.
  static constexpr int kMaxEnemies = 64;
  static constexpr int kMaxEnemyBullets = 80;
  static constexpr int kMaxDivers = 4;
  static constexpr int kMaxOwnBullets = 4;

  struct Bullet {
    int row = 0;
    int column = 0;
    int heading = 1;  ///< Columns a move: 1 to the right, -1 to the left. Likewise below.
  };
  /// A fish, a submarine or a diver.
  struct Swimmer {
    int row = 0;
    int column = 0;
    int heading = 1;
    int move_timer = 0;  ///< Steps until it moves.
    int shot_timer = 0;  ///< Steps until it shoots; submarines only.
  };
  struct State {
    int row = 0;  ///< Of the boat's front; 0 is the surface.
    int column = 0;
    int facing = -1;
    int oxygen = 0;         ///< Steps under water.
    int divers_aboard = 0;  ///< Negative after a full load was brought up.
    bool at_surface = true;
    int shot_timer = 0;     ///< Steps until the boat can shoot.
    int enemy_period = 0;   ///< Steps.
    int enemy_timer = 0;    ///< Steps until a fish or submarine appears.
    int diver_timer = 0;    ///< Steps until a diver appears.
    int move_interval = 0;  ///< What the move timer of a fish or submarine starts from.
    int ramp_index = 0;
    OrderedList<Bullet, kMaxOwnBullets> own_bullets;
    OrderedList<Bullet, kMaxEnemyBullets> enemy_bullets;
    OrderedList<Swimmer, kMaxEnemies> fish;
    OrderedList<Swimmer, kMaxEnemies> submarines;
    OrderedList<Swimmer, kMaxDivers> divers;
  };

  explicit Seaquest(const GameParameters& parameters);

  void WriteObservation(std::span<float> out) const override;
  void Draw(DrawList& out) const override;

  /// Where an action takes the boat.
  static void MoveBoat(MinatarAction action, int& row, int& column, int& facing);

  /// For tests: goes on from `state`, in the episode under way.
  void SetState(const State& state) { state_ = state; }
  const State& state() const { return state_; }

 protected:
  void Begin() override;
  int Advance(MinatarAction action) override;
  void Hash(StateHasher& hasher) const override;

 private:
  void SpawnEnemy();
  void SpawnDiver();
  void Fire();
  int MoveOwnBullets();
  void MoveDivers();
  int MoveSubmarines();
  void MoveEnemyBullets();
  int MoveFish();
  /// One fish or submarine of a list moves when its time has come: the reward.
  int MoveEnemy(OrderedList<Swimmer, kMaxEnemies>& enemies, int i);
  int BreatheAndSurface();
  int Surface();
  /// The diver at `i` comes aboard if he can: whether he did.
  bool TakeAboard(int i);

  State state_;
};

GameInfo SeaquestInfo();

}  // namespace metronome

#endif  // METRONOME_GAMES_MINATAR_SEAQUEST_H_
