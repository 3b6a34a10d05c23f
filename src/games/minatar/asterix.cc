#include "games/minatar/asterix.h"

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
constexpr int kFirstRow = 1;  // of the lanes
constexpr int kLastRow = Asterix::kLanes;
constexpr int kStart = 5;  // the player's row and column
constexpr int kFirstSpawnPeriod = 10;
constexpr int kFirstMovePeriod = 5;
constexpr int kRampTime = 100;  // counted down to -1, so that a ramp comes every 102 steps
constexpr double kGoldProbability = 1.0 / 3.0;

constexpr std::array kMinimalActions = {MinatarAction::kNone, MinatarAction::kLeft, MinatarAction::kUp,
                                        MinatarAction::kRight, MinatarAction::kDown};

enum Channel { kPlayer, kEnemy, kTrail, kGold, kChannels };

}  // namespace

Asterix::Asterix(const GameParameters& parameters)
    : MinatarGame({.name = "asterix",
                   .channels = {"player", "enemy", "trail", "gold"},
                   .minimal_actions = kMinimalActions,
                   .ramps = true,
                   .steps_per_second = 10.0,
                   .default_max_episode_steps = 10'000},
                  parameters) {}

void Asterix::Begin() {
  state_ = {};
  state_.player_row = kStart;
  state_.player_column = kStart;
  state_.spawn_period = kFirstSpawnPeriod;
  state_.spawn_timer = kFirstSpawnPeriod;
  state_.move_period = kFirstMovePeriod;
  state_.move_timer = kFirstMovePeriod;
  state_.ramp_timer = kRampTime;
}

void Asterix::Spawn() {
  const bool from_left = chance().Uniform() < 0.5;
  const bool is_gold = chance().Uniform() < kGoldProbability;
  const auto is_empty = [](const Lane& lane) { return lane.kind == Kind::kNothing; };
  const auto empty_lanes =
      static_cast<int>(std::count_if(state_.lanes.begin(), state_.lanes.end(), is_empty));
  if (empty_lanes == 0) return;
  int skip = chance().UniformInt(0, empty_lanes);
  for (Lane& lane : state_.lanes) {
    if (!is_empty(lane) || skip-- > 0) continue;
    lane.kind = is_gold ? Kind::kGold : Kind::kEnemy;
    lane.column = from_left ? 0 : kLastColumn;
    lane.heading = from_left ? 1 : -1;
    return;
  }
}

void Asterix::MovePlayer(MinatarAction action, int& row, int& column) {
  switch (action) {
    case MinatarAction::kLeft:
      column = std::max(0, column - 1);
      break;
    case MinatarAction::kRight:
      column = std::min(kLastColumn, column + 1);
      break;
    case MinatarAction::kUp:
      row = std::max(kFirstRow, row - 1);
      break;
    case MinatarAction::kDown:
      row = std::min(kLastRow, row + 1);
      break;
    case MinatarAction::kNone:
    case MinatarAction::kFire:
      break;
  }
}

int Asterix::Touch() {
  Lane& lane = state_.lanes[static_cast<std::size_t>(state_.player_row - kFirstRow)];
  if (lane.kind == Kind::kNothing || lane.column != state_.player_column) return 0;
  if (lane.kind == Kind::kEnemy) {
    Terminate();
    return 0;
  }
  lane.kind = Kind::kNothing;
  return 1;
}

void Asterix::Ramp() {
  State& s = state_;
  if (!ramping() || (s.spawn_period == 1 && s.move_period == 1)) return;
  if (s.ramp_timer >= 0) {
    --s.ramp_timer;
    return;
  }
  if (s.move_period > 1 && s.ramp_index % 2 == 1) --s.move_period;
  if (s.spawn_period > 1) --s.spawn_period;
  ++s.ramp_index;
  s.ramp_timer = kRampTime;
}

int Asterix::Advance(MinatarAction action) {
  State& s = state_;
  if (s.spawn_timer == 0) {
    Spawn();
    s.spawn_timer = s.spawn_period;
  }
  MovePlayer(action, s.player_row, s.player_column);
  int reward = Touch();
  if (s.move_timer == 0) {
    s.move_timer = s.move_period;
    for (Lane& lane : s.lanes) {
      if (lane.kind == Kind::kNothing) continue;
      lane.column += lane.heading;
      if (lane.column < 0 || lane.column > kLastColumn) lane.kind = Kind::kNothing;
    }
    reward += Touch();
  }
  --s.spawn_timer;
  --s.move_timer;
  Ramp();
  return reward;
}

void Asterix::WriteObservation(std::span<float> out) const {
  CellWriter cells(out, kChannels);
  cells.Set(kPlayer, state_.player_row, state_.player_column);
  for (int i = 0; i < kLanes; ++i) {
    const Lane& lane = state_.lanes[static_cast<std::size_t>(i)];
    if (lane.kind == Kind::kNothing) continue;
    const int row = kFirstRow + i;
    cells.Set(lane.kind == Kind::kGold ? kGold : kEnemy, row, lane.column);
    const int behind = lane.column - lane.heading;
    if (behind >= 0 && behind <= kLastColumn) cells.Set(kTrail, row, behind);
  }
}

void Asterix::Hash(StateHasher& hasher) const {
  hasher.Add(state_.player_row).Add(state_.player_column);
  for (const Lane& lane : state_.lanes) {
    hasher.Add(static_cast<int>(lane.kind));
    if (lane.kind != Kind::kNothing) hasher.Add(lane.column).Add(lane.heading);
  }
  hasher.Add(state_.spawn_period).Add(state_.spawn_timer).Add(state_.move_period).Add(state_.move_timer);
  hasher.Add(state_.ramp_timer).Add(state_.ramp_index);
}

namespace {

/// Goes for the nearest gold, and keeps out of the way of enemies as if they moved every step.
class AsterixPolicy final : public MinatarPolicy {
 public:
  explicit AsterixPolicy(const GameParameters& parameters) : MinatarPolicy(parameters, kMinimalActions) {}

 private:
  MinatarAction Choose() override {
    const Place player = Find(kPlayer);
    MinatarAction best = MinatarAction::kNone;
    double least = std::numeric_limits<double>::infinity();
    for (const MinatarAction action : kMinimalActions) {
      const Place place = After(player, action);
      // An action that is taken twice, as a sticky one, should not end badly either.
      const double cost =
          Danger(place) + kStickyWeight * Danger(After(place, action)) + DistanceToGold(place);
      if (cost >= least) continue;
      least = cost;
      best = action;
    }
    return best;
  }

  static Place After(Place place, MinatarAction action) {
    Asterix::MovePlayer(action, place.row, place.column);
    return place;
  }

  /// How soon an enemy can be there.
  double Danger(Place place) const {
    for (int column = 0; column <= kLastColumn; ++column) {
      if (!Has(kEnemy, place.row, column)) continue;
      const int gap = (place.column - column) * Heading(kTrail, place.row, column);
      if (gap == 0 || gap == 1) return kDeadly;
      return gap > 0 ? kNearWeight / gap : 0.0;
    }
    // Nothing in this lane, but something can come in at its ends.
    return place.column == 0 || place.column == kLastColumn ? kNearWeight : 0.0;
  }

  /// From a place, in moves; where there is no gold, to the middle of the board.
  double DistanceToGold(Place place) const {
    double least = std::numeric_limits<double>::infinity();
    Cells(kGold).ForEach([&](int cell) {
      const int row = cell / CellSet::kSide;
      const int column = cell % CellSet::kSide;
      const int distance = std::abs(row - place.row) + std::abs(column - place.column);
      least = std::min(least, static_cast<double>(distance));
    });
    if (std::isfinite(least)) return least;
    return 0.5 * (std::abs(place.row - 4.5) + std::abs(place.column - 4.5));
  }

  static constexpr double kDeadly = 1000.0;
  static constexpr double kStickyWeight = 0.1;
  static constexpr double kNearWeight = 2.0;
};

}  // namespace

GameInfo AsterixInfo() {
  GameInfo info;
  info.name = "asterix";
  info.summary = "MinAtar: gather the gold that crosses the board and keep clear of the enemies";
  info.parameters = MinatarParameters(/*ramps=*/true, kMinimalActions);
  info.make = [](const GameParameters& parameters) -> std::unique_ptr<Game> {
    return std::make_unique<Asterix>(parameters);
  };
  info.make_scripted_policy = [](const GameParameters& parameters) -> std::unique_ptr<ScriptedPolicy> {
    return std::make_unique<AsterixPolicy>(parameters);
  };
  return info;
}

}  // namespace metronome
