#include "games/minatar/seaquest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>

#include "games/minatar/minatar_policy.h"

namespace metronome {
namespace {

constexpr int kLastColumn = CellSet::kSide - 1;
constexpr int kGaugeRow = CellSet::kSide - 1;
constexpr int kDeepestRow = 8;
constexpr int kFirstSpawnRow = 1;
constexpr int kStartColumn = 5;
constexpr int kFullOxygen = 200;
constexpr int kGaugeLength = CellSet::kSide;  // cells of a full oxygen gauge
constexpr int kMaxAboard = 6;
constexpr int kDiverGaugeEnd = 8;  // last column of the diver gauge
constexpr int kFirstEnemyPeriod = 20;
constexpr int kDiverPeriod = 30;
constexpr int kFirstMoveInterval = 5;
constexpr int kLastMoveInterval = 2;
constexpr int kDiverMoveInterval = 5;
constexpr int kShotPeriod = 5;
constexpr int kEnemyShotInterval = 10;
constexpr double kSubmarineProbability = 1.0 / 3.0;

constexpr std::array kMinimalActions = {MinatarAction::kNone,  MinatarAction::kLeft, MinatarAction::kUp,
                                        MinatarAction::kRight, MinatarAction::kDown, MinatarAction::kFire};

enum Channel {
  kFront,
  kBack,
  kOwnBullet,
  kTrail,
  kEnemyBullet,
  kFish,
  kSubmarine,
  kOxygenGauge,
  kDiverGauge,
  kDiver,
  kChannels
};

bool OnBoard(int column) { return column >= 0 && column <= kLastColumn; }

/// Cells that so much oxygen fills, and what six divers earn.
int OxygenTenths(int oxygen) { return std::max(0, oxygen) * kGaugeLength / kFullOxygen; }

template <typename Item>
bool IsAt(const Item& item, const Seaquest::State& boat) {
  return item.row == boat.row && item.column == boat.column;
}

}  // namespace

Seaquest::Seaquest(const GameParameters& parameters)
    : MinatarGame(
          {.name = "seaquest",
           .channels = {"front of the boat", "back of the boat", "own bullet", "trail", "enemy bullet",
                        "fish", "enemy submarine", "oxygen gauge", "diver gauge", "diver"},
           .minimal_actions = kMinimalActions,
           .ramps = true,
           .steps_per_second = 12.0,
           .default_max_episode_steps = 10'000},
          parameters) {}

void Seaquest::Begin() {
  state_ = {};
  state_.column = kStartColumn;
  state_.oxygen = kFullOxygen;
  state_.enemy_period = kFirstEnemyPeriod;
  state_.enemy_timer = kFirstEnemyPeriod;
  state_.diver_timer = kDiverPeriod;
  state_.move_interval = kFirstMoveInterval;
}

void Seaquest::SpawnEnemy() {
  const bool from_left = chance().Uniform() < 0.5;
  const bool is_submarine = chance().Uniform() < kSubmarineProbability;
  Swimmer enemy;
  enemy.row = chance().UniformInt(kFirstSpawnRow, kDeepestRow + 1);
  enemy.column = from_left ? 0 : kLastColumn;
  enemy.heading = from_left ? 1 : -1;
  enemy.move_timer = state_.move_interval;
  const auto blocks = [&enemy](const Swimmer& other) {
    return other.row == enemy.row && other.heading != enemy.heading;
  };
  if (std::any_of(state_.fish.begin(), state_.fish.end(), blocks)) return;
  if (std::any_of(state_.submarines.begin(), state_.submarines.end(), blocks)) return;
  if (is_submarine) {
    enemy.shot_timer = kEnemyShotInterval;
    state_.submarines.Add(enemy);
  } else {
    state_.fish.Add(enemy);
  }
}

void Seaquest::SpawnDiver() {
  const bool from_left = chance().Uniform() < 0.5;
  Swimmer diver;
  diver.row = chance().UniformInt(kFirstSpawnRow, kDeepestRow + 1);
  diver.column = from_left ? 0 : kLastColumn;
  diver.heading = from_left ? 1 : -1;
  diver.move_timer = kDiverMoveInterval;
  state_.divers.Add(diver);
}

void Seaquest::MoveBoat(MinatarAction action, int& row, int& column, int& facing) {
  switch (action) {
    case MinatarAction::kLeft:
      column = std::max(0, column - 1);
      facing = -1;
      break;
    case MinatarAction::kRight:
      column = std::min(kLastColumn, column + 1);
      facing = 1;
      break;
    case MinatarAction::kUp:
      row = std::max(0, row - 1);
      break;
    case MinatarAction::kDown:
      row = std::min(kDeepestRow, row + 1);
      break;
    case MinatarAction::kNone:
    case MinatarAction::kFire:
      break;
  }
}

void Seaquest::Fire() {
  State& s = state_;
  if (s.shot_timer > 0) return;
  s.own_bullets.Add({.row = s.row, .column = s.column, .heading = s.facing});
  s.shot_timer = kShotPeriod;
}

int Seaquest::MoveOwnBullets() {
  State& s = state_;
  int reward = 0;
  for (int i = s.own_bullets.size() - 1; i >= 0; --i) {
    Bullet& bullet = s.own_bullets[i];
    bullet.column += bullet.heading;
    if (!OnBoard(bullet.column)) {
      s.own_bullets.Remove(i);
      continue;
    }
    // One bullet takes one enemy, and a fish before a submarine.
    const int fish = s.fish.FirstAt(bullet.row, bullet.column);
    const int submarine = fish >= 0 ? -1 : s.submarines.FirstAt(bullet.row, bullet.column);
    if (fish < 0 && submarine < 0) continue;
    if (fish >= 0) s.fish.Remove(fish);
    if (submarine >= 0) s.submarines.Remove(submarine);
    s.own_bullets.Remove(i);
    ++reward;
  }
  return reward;
}

bool Seaquest::TakeAboard(int i) {
  if (!IsAt(state_.divers[i], state_) || state_.divers_aboard >= kMaxAboard) return false;
  state_.divers.Remove(i);
  ++state_.divers_aboard;
  return true;
}

void Seaquest::MoveDivers() {
  State& s = state_;
  for (int i = s.divers.size() - 1; i >= 0; --i) {
    if (TakeAboard(i)) continue;
    Swimmer& diver = s.divers[i];
    if (diver.move_timer > 0) {
      --diver.move_timer;
      continue;
    }
    diver.move_timer = kDiverMoveInterval;
    diver.column += diver.heading;
    if (!OnBoard(diver.column)) {
      s.divers.Remove(i);
    } else {
      TakeAboard(i);
    }
  }
}

int Seaquest::MoveEnemy(OrderedList<Swimmer, kMaxEnemies>& enemies, int i) {
  State& s = state_;
  Swimmer& enemy = enemies[i];
  if (IsAt(enemy, s)) Terminate();
  if (enemy.move_timer > 0) {
    --enemy.move_timer;
    return 0;
  }
  enemy.move_timer = s.move_interval;
  enemy.column += enemy.heading;
  if (!OnBoard(enemy.column)) {
    enemies.Remove(i);
    return 0;
  }
  if (IsAt(enemy, s)) {
    Terminate();
    return 0;
  }
  const int bullet = s.own_bullets.FirstAt(enemy.row, enemy.column);
  if (bullet < 0) return 0;
  s.own_bullets.Remove(bullet);
  enemies.Remove(i);
  return 1;
}

int Seaquest::MoveSubmarines() {
  State& s = state_;
  int reward = 0;
  for (int i = s.submarines.size() - 1; i >= 0; --i) {
    const int submarines = s.submarines.size();
    // A submarine that is removed here still fires, from where it came to.
    Swimmer submarine = s.submarines[i];
    if (submarine.move_timer == 0) submarine.column += submarine.heading;
    reward += MoveEnemy(s.submarines, i);
    const bool removed = s.submarines.size() < submarines;
    int& shot_timer = removed ? submarine.shot_timer : s.submarines[i].shot_timer;
    if (shot_timer == 0) {
      shot_timer = kEnemyShotInterval;
      s.enemy_bullets.Add({.row = submarine.row, .column = submarine.column, .heading = submarine.heading});
    } else {
      --shot_timer;
    }
  }
  return reward;
}

void Seaquest::MoveEnemyBullets() {
  State& s = state_;
  for (int i = s.enemy_bullets.size() - 1; i >= 0; --i) {
    Bullet& bullet = s.enemy_bullets[i];
    if (IsAt(bullet, s)) Terminate();
    bullet.column += bullet.heading;
    if (!OnBoard(bullet.column)) {
      s.enemy_bullets.Remove(i);
    } else if (IsAt(bullet, s)) {
      Terminate();
    }
  }
}

int Seaquest::MoveFish() {
  int reward = 0;
  for (int i = state_.fish.size() - 1; i >= 0; --i) reward += MoveEnemy(state_.fish, i);
  return reward;
}

int Seaquest::Surface() {
  State& s = state_;
  int reward = 0;
  s.at_surface = true;
  if (s.divers_aboard == kMaxAboard) {
    s.divers_aboard = 0;
    reward = OxygenTenths(s.oxygen);
  }
  s.oxygen = kFullOxygen;
  --s.divers_aboard;
  if (ramping() && (s.enemy_period > 1 || s.move_interval > kLastMoveInterval)) {
    if (s.move_interval > kLastMoveInterval && s.ramp_index % 2 == 1) --s.move_interval;
    if (s.enemy_period > 1) --s.enemy_period;
    ++s.ramp_index;
  }
  return reward;
}

int Seaquest::BreatheAndSurface() {
  State& s = state_;
  if (s.oxygen <= 0) Terminate();
  if (s.row > 0) {
    --s.oxygen;
    s.at_surface = false;
    return 0;
  }
  if (s.at_surface) return 0;
  if (s.divers_aboard == 0) {
    Terminate();
    return 0;
  }
  return Surface();
}

int Seaquest::Advance(MinatarAction action) {
  State& s = state_;
  if (s.enemy_timer == 0) {
    SpawnEnemy();
    s.enemy_timer = s.enemy_period;
  }
  if (s.diver_timer == 0) {
    SpawnDiver();
    s.diver_timer = kDiverPeriod;
  }
  if (action == MinatarAction::kFire) Fire();
  MoveBoat(action, s.row, s.column, s.facing);
  int reward = MoveOwnBullets();
  MoveDivers();
  reward += MoveSubmarines();
  MoveEnemyBullets();
  reward += MoveFish();
  for (int* const timer : {&s.enemy_timer, &s.diver_timer, &s.shot_timer}) {
    if (*timer > 0) --*timer;
  }
  return reward + BreatheAndSurface();
}

void Seaquest::WriteObservation(std::span<float> out) const {
  const State& s = state_;
  CellWriter cells(out, kChannels);
  cells.Set(kFront, s.row, s.column);
  // Always on the board: the boat has moved the way it faces, or stands at the edge that it faces.
  cells.Set(kBack, s.row, s.column - s.facing);
  for (const Bullet& bullet : s.own_bullets) cells.Set(kOwnBullet, bullet.row, bullet.column);
  for (const Bullet& bullet : s.enemy_bullets) cells.Set(kEnemyBullet, bullet.row, bullet.column);
  const auto set_all = [&cells](const auto& swimmers, int channel) {
    for (const Swimmer& swimmer : swimmers) {
      cells.Set(channel, swimmer.row, swimmer.column);
      const int behind = swimmer.column - swimmer.heading;
      if (OnBoard(behind)) cells.Set(kTrail, swimmer.row, behind);
    }
  };
  set_all(s.fish, kFish);
  set_all(s.submarines, kSubmarine);
  set_all(s.divers, kDiver);
  for (int i = 0; i < OxygenTenths(s.oxygen); ++i) cells.Set(kOxygenGauge, kGaugeRow, i);
  for (int i = 0; i < s.divers_aboard; ++i) cells.Set(kDiverGauge, kGaugeRow, kDiverGaugeEnd - i);
}

void Seaquest::Hash(StateHasher& hasher) const {
  const State& s = state_;
  hasher.Add(s.row).Add(s.column).Add(s.facing).Add(s.oxygen).Add(s.divers_aboard).Add(s.at_surface);
  hasher.Add(s.shot_timer).Add(s.enemy_period).Add(s.enemy_timer).Add(s.diver_timer);
  hasher.Add(s.move_interval).Add(s.ramp_index);
  const auto add_bullets = [&hasher](const auto& bullets) {
    hasher.Add(bullets.size());
    for (const Bullet& bullet : bullets) hasher.Add(bullet.row).Add(bullet.column).Add(bullet.heading);
  };
  const auto add_swimmers = [&hasher](const auto& swimmers) {
    hasher.Add(swimmers.size());
    for (const Swimmer& swimmer : swimmers) {
      hasher.Add(swimmer.row).Add(swimmer.column).Add(swimmer.heading);
      hasher.Add(swimmer.move_timer).Add(swimmer.shot_timer);
    }
  };
  add_bullets(s.own_bullets);
  add_bullets(s.enemy_bullets);
  add_swimmers(s.fish);
  add_swimmers(s.submarines);
  add_swimmers(s.divers);
}

namespace {

/// Shoots what it faces, gathers divers, and comes up with one aboard before the oxygen ends or with six at
/// once. Keeps out of the way of enemies and bullets as if they moved every step.
class SeaquestPolicy final : public MinatarPolicy {
 public:
  explicit SeaquestPolicy(const GameParameters& parameters) : MinatarPolicy(parameters, kMinimalActions) {}

 private:
  struct Boat {
    int row = 0;
    int column = 0;
    int facing = -1;
  };

  MinatarAction Choose() override {
    const Place front = Find(kFront);
    const Boat boat = {
        .row = front.row, .column = front.column, .facing = Has(kBack, front.row, front.column + 1) ? -1 : 1};
    aboard_ = Cells(kDiverGauge).size();
    const bool short_of_oxygen = Cells(kOxygenGauge).size() <= kLowGauge;
    to_surface_ = aboard_ == kMaxAboard || (aboard_ > 0 && short_of_oxygen);
    MinatarAction best = MinatarAction::kNone;
    double least = std::numeric_limits<double>::infinity();
    for (const MinatarAction action : kMinimalActions) {
      const Boat next = After(boat, action);
      // An action that is taken twice, as a sticky one, should not end badly either.
      double cost = Danger(boat, next) + kStickyWeight * Danger(next, After(next, action)) + Distance(next);
      if (action == MinatarAction::kFire) cost += EnemyAhead(next) ? -kShotWeight : kWaste;
      if (cost >= least) continue;
      least = cost;
      best = action;
    }
    return best;
  }

  static Boat After(Boat boat, MinatarAction action) {
    Seaquest::MoveBoat(action, boat.row, boat.column, boat.facing);
    return boat;
  }

  bool IsEnemy(int row, int column) const { return Has(kFish, row, column) || Has(kSubmarine, row, column); }

  bool EnemyAhead(const Boat& boat) const {
    for (int column = boat.column + boat.facing; OnBoard(column); column += boat.facing) {
      if (IsEnemy(boat.row, column)) return true;
    }
    return false;
  }

  double Danger(const Boat& before, const Boat& boat) const {
    // To come up without a diver is the end. To come up with one costs him.
    if (boat.row == 0 && before.row > 0 && !to_surface_) return aboard_ == 0 ? kDeadly : kDiverWeight;
    double danger = 0.0;
    for (int column = 0; column <= kLastColumn; ++column) {
      const int distance = std::abs(boat.column - column);
      if (Has(kEnemyBullet, boat.row, column)) danger += distance <= 1 ? kDeadly : kNearWeight / distance;
      if (!IsEnemy(boat.row, column)) continue;
      const int gap = (boat.column - column) * Heading(kTrail, boat.row, column);
      if (gap == 0 || gap == 1) danger += kDeadly;
      if (gap > 1) danger += kNearWeight / gap;
    }
    // Something can come in at the ends of a row.
    if (boat.row > 0 && (boat.column == 0 || boat.column == kLastColumn)) danger += kNearWeight;
    return danger;
  }

  /// To where the boat should be, in moves.
  double Distance(const Boat& boat) const {
    if (to_surface_) return kHurry * boat.row;
    double least = std::numeric_limits<double>::infinity();
    Cells(kDiver).ForEach([&](int cell) {
      const int row = cell / CellSet::kSide;
      const int column = cell % CellSet::kSide;
      const double distance = std::abs(row - boat.row) + std::abs(column - boat.column);
      least = std::min(least, distance);
    });
    if (std::isfinite(least)) return least;
    (Cells(kFish) | Cells(kSubmarine)).ForEach([&](int cell) {
      const int row = cell / CellSet::kSide;
      const int column = cell % CellSet::kSide;
      const bool behind = (column - boat.column) * boat.facing < 0;
      const double distance = std::abs(row - boat.row) + (behind ? kTurn : 0.0);
      least = std::min(least, distance);
    });
    if (std::isfinite(least)) return least;
    return std::abs(boat.row - 4.5) + 0.5 * std::abs(boat.column - 4.5);
  }

  static constexpr int kLowGauge = 2;  // cells; each is 20 steps
  static constexpr double kDeadly = 1000.0;
  static constexpr double kStickyWeight = 0.1;
  static constexpr double kNearWeight = 4.0;
  static constexpr double kDiverWeight = 20.0;
  static constexpr double kShotWeight = 3.0;
  static constexpr double kWaste = 0.5;
  static constexpr double kTurn = 2.0;
  static constexpr double kHurry = 10.0;

  int aboard_ = 0;
  bool to_surface_ = false;
};

}  // namespace

GameInfo SeaquestInfo() {
  GameInfo info;
  info.name = "seaquest";
  info.summary = "MinAtar: bring divers to the surface in time, and shoot fish and submarines on the way";
  info.parameters = MinatarParameters(/*ramps=*/true, kMinimalActions);
  info.make = [](const GameParameters& parameters) -> std::unique_ptr<Game> {
    return std::make_unique<Seaquest>(parameters);
  };
  info.make_scripted_policy = [](const GameParameters& parameters) -> std::unique_ptr<ScriptedPolicy> {
    return std::make_unique<SeaquestPolicy>(parameters);
  };
  return info;
}

}  // namespace metronome
