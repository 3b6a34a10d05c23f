#include "games/minatar/space_invaders.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>

#include "games/minatar/minatar_policy.h"

namespace metronome {
namespace {

constexpr int kLast = CellSet::kSide - 1;  // column at the right, and the cannon's row
constexpr CellSet kBlock = CellSet::Block(0, 3, 2, 7);
constexpr int kStartColumn = 5;
constexpr int kShotPeriod = 5;        // steps between two shots of the cannon
constexpr int kAlienShotPeriod = 10;  // steps between two shots of the aliens
constexpr int kFirstMoveInterval = 12;
constexpr int kLastMoveInterval = 6;

constexpr std::array kMinimalActions = {MinatarAction::kNone, MinatarAction::kLeft, MinatarAction::kRight,
                                        MinatarAction::kFire};

enum Channel { kCannon, kAlien, kAlienLeft, kAlienRight, kOwnBullet, kEnemyBullet, kChannels };

}  // namespace

SpaceInvaders::SpaceInvaders(const GameParameters& parameters)
    : MinatarGame({.name = "space_invaders",
                   .channels = {"cannon", "alien", "alien, moving left", "alien, moving right", "own bullet",
                                "enemy bullet"},
                   .minimal_actions = kMinimalActions,
                   .ramps = true,
                   .steps_per_second = 12.0,
                   .default_max_episode_steps = 10'000},
                  parameters) {}

void SpaceInvaders::Begin() {
  state_ = {};
  state_.cannon_column = kStartColumn;
  state_.aliens = kBlock;
  state_.direction = -1;
  state_.move_interval = kFirstMoveInterval;
  state_.move_timer = kFirstMoveInterval;
  state_.alien_shot_timer = kAlienShotPeriod;
}

int SpaceInvaders::MoveCannon(MinatarAction action, int column) {
  if (action == MinatarAction::kLeft) return std::max(0, column - 1);
  if (action == MinatarAction::kRight) return std::min(kLast, column + 1);
  return column;
}

void SpaceInvaders::MoveAliens() {
  State& s = state_;
  s.move_timer = std::min(s.aliens.size(), s.move_interval);
  const CellSet edge = CellSet::Column(s.direction < 0 ? 0 : kLast);
  if (!(s.aliens & edge).empty()) {
    s.direction = -s.direction;
    if (!(s.aliens & CellSet::Row(kLast)).empty()) Terminate();
    // From the bottom row round to the top one: only the last picture of an episode shows it.
    s.aliens = s.aliens.RotatedDown();
  } else {
    s.aliens = s.direction < 0 ? s.aliens.MovedLeft() : s.aliens.MovedRight();
  }
  if (s.aliens.Has(kLast, s.cannon_column)) Terminate();
}

void SpaceInvaders::ShootAtCannon() {
  State& s = state_;
  for (int distance = 0; distance <= kLast; ++distance) {
    for (const int column : {s.cannon_column - distance, s.cannon_column + distance}) {
      if (column < 0 || column > kLast) continue;
      if ((s.aliens & CellSet::Column(column)).empty()) continue;
      int row = kLast;
      while (!s.aliens.Has(row, column)) --row;
      s.enemy_bullets.Add(row, column);
      return;
    }
  }
}

int SpaceInvaders::Advance(MinatarAction action) {
  State& s = state_;
  if (action == MinatarAction::kFire && s.shot_timer == 0) {
    s.own_bullets.Add(kLast, s.cannon_column);
    s.shot_timer = kShotPeriod;
  }
  s.cannon_column = MoveCannon(action, s.cannon_column);

  s.own_bullets = s.own_bullets.MovedUp();
  s.enemy_bullets = s.enemy_bullets.MovedDown();
  if (s.enemy_bullets.Has(kLast, s.cannon_column)) Terminate();
  if (s.aliens.Has(kLast, s.cannon_column)) Terminate();
  if (s.move_timer == 0) MoveAliens();
  if (s.alien_shot_timer == 0) {
    s.alien_shot_timer = kAlienShotPeriod;
    ShootAtCannon();
  }
  const CellSet hits = s.aliens & s.own_bullets;
  const int reward = hits.size();
  s.aliens = s.aliens - hits;
  s.own_bullets = s.own_bullets - hits;

  if (s.shot_timer > 0) --s.shot_timer;
  --s.move_timer;
  --s.alien_shot_timer;
  if (s.aliens.empty()) {
    if (ramping() && s.move_interval > kLastMoveInterval) {
      --s.move_interval;
      ++s.ramp_index;
    }
    s.aliens = kBlock;
  }
  return reward;
}

void SpaceInvaders::WriteObservation(std::span<float> out) const {
  CellWriter cells(out, kChannels);
  cells.Set(kCannon, kLast, state_.cannon_column);
  cells.Set(kAlien, state_.aliens);
  cells.Set(state_.direction < 0 ? kAlienLeft : kAlienRight, state_.aliens);
  cells.Set(kOwnBullet, state_.own_bullets);
  cells.Set(kEnemyBullet, state_.enemy_bullets);
}

void SpaceInvaders::Hash(StateHasher& hasher) const {
  hasher.Add(state_.cannon_column);
  for (const CellSet cells : {state_.own_bullets, state_.enemy_bullets, state_.aliens}) {
    hasher.Add(cells.low()).Add(cells.high());
  }
  hasher.Add(state_.direction).Add(state_.move_interval).Add(state_.move_timer);
  hasher.Add(state_.alien_shot_timer).Add(state_.ramp_index).Add(state_.shot_timer);
}

namespace {

/// Stands where a shot meets the nearest alien, fires, and steps out of the way of bullets.
class SpaceInvadersPolicy final : public MinatarPolicy {
 public:
  explicit SpaceInvadersPolicy(const GameParameters& parameters)
      : MinatarPolicy(parameters, kMinimalActions) {}

 private:
  MinatarAction Choose() override {
    const int cannon = Find(kCannon).column;
    Aim();
    MinatarAction best = MinatarAction::kNone;
    int least = std::numeric_limits<int>::max();
    for (const MinatarAction action :
         {MinatarAction::kFire, MinatarAction::kNone, MinatarAction::kLeft, MinatarAction::kRight}) {
      const int column = SpaceInvaders::MoveCannon(action, cannon);
      int cost = Danger(column) + DistanceToAim(column);
      if (action == MinatarAction::kFire && DistanceToAim(column) > 0) cost += kWaste;
      if (cost >= least) continue;
      least = cost;
      best = action;
    }
    return best;
  }

  /// Marks the columns in which a bullet fired now meets an alien, going by how often they move by their
  /// number.
  void Aim() {
    const CellSet aliens = Cells(kAlien);
    const int steps_per_move = std::min(aliens.size(), kUsualMoveInterval);
    const int direction = Cells(kAlienLeft).empty() ? 1 : -1;
    aims_ = {};
    aliens.ForEach([&](int cell) {
      const int row = cell / CellSet::kSide;
      const int moves = (kLast - row) / steps_per_move;
      const int column = cell % CellSet::kSide + direction * moves;
      aims_[static_cast<std::size_t>(std::clamp(column, 0, kLast))] = true;
    });
  }

  int DistanceToAim(int column) const {
    int least = CellSet::kSide;
    for (int aim = 0; aim <= kLast; ++aim) {
      if (aims_[static_cast<std::size_t>(aim)]) least = std::min(least, std::abs(aim - column));
    }
    return least;
  }

  /// What it costs to be in a column when this step's bullets have moved.
  int Danger(int column) const {
    if (Has(kEnemyBullet, kLast - 1, column)) return kDeadly;
    for (const int near : {column - 1, column, column + 1}) {
      if (Has(kAlien, kLast, near)) return kDeadly;
    }
    if (Has(kEnemyBullet, kLast - 2, column)) return kClose;
    return Has(kEnemyBullet, kLast - 3, column) ? kNear : 0;
  }

  static constexpr int kDeadly = 1000;
  static constexpr int kClose = 50;
  static constexpr int kNear = 5;
  static constexpr int kWaste = 1;
  static constexpr int kUsualMoveInterval = 9;  // steps, between the first and the last

  std::array<bool, CellSet::kSide> aims_ = {};
};

}  // namespace

GameInfo SpaceInvadersInfo() {
  GameInfo info;
  info.name = "space_invaders";
  info.summary = "MinAtar: shoot the aliens before their bullets or they themselves reach the cannon";
  info.parameters = MinatarParameters(/*ramps=*/true, kMinimalActions);
  info.make = [](const GameParameters& parameters) -> std::unique_ptr<Game> {
    return std::make_unique<SpaceInvaders>(parameters);
  };
  info.make_scripted_policy = [](const GameParameters& parameters) -> std::unique_ptr<ScriptedPolicy> {
    return std::make_unique<SpaceInvadersPolicy>(parameters);
  };
  return info;
}

}  // namespace metronome
