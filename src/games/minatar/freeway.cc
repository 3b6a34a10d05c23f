#include "games/minatar/freeway.h"

#include <algorithm>
#include <array>
#include <memory>

#include "games/minatar/minatar_policy.h"

namespace metronome {
namespace {

constexpr int kColumns = CellSet::kSide;
constexpr int kLastRow = CellSet::kSide - 1;  // where the chicken starts
constexpr int kChickenPeriod = 3;             // steps between two of its moves
constexpr int kTimeLimit = 2500;
constexpr int kClasses = 5;

constexpr std::array kMinimalActions = {MinatarAction::kNone, MinatarAction::kUp, MinatarAction::kDown};

enum Channel { kChicken, kCar, kFirstTrail, kChannels = kFirstTrail + kClasses };

/// The column one move further on a road that closes in a ring.
int Wrapped(int column) {
  if (column < 0) return column + kColumns;
  return column < kColumns ? column : column - kColumns;
}

}  // namespace

Freeway::Freeway(const GameParameters& parameters)
    : MinatarGame({.name = "freeway",
                   .channels = {"chicken", "car", "trail of class 1", "trail of class 2", "trail of class 3",
                                "trail of class 4", "trail of class 5"},
                   .minimal_actions = kMinimalActions,
                   .ramps = false,
                   .steps_per_second = 12.0,
                   .default_max_episode_steps = 0},
                  parameters) {}

void Freeway::Randomize() {
  for (Car& car : state_.cars) {
    car.speed_class = chance().UniformInt(1, kClasses + 1);
    car.timer = car.speed_class;
  }
  for (Car& car : state_.cars) car.heading = chance().Uniform() < 0.5 ? -1 : 1;
}

void Freeway::Begin() {
  state_ = {};
  state_.chicken_row = kLastRow;
  state_.chicken_timer = kChickenPeriod;
  state_.steps_left = kTimeLimit;
  Randomize();
}

int Freeway::Advance(MinatarAction action) {
  State& s = state_;
  int reward = 0;
  if (s.chicken_timer == 0) {
    if (action == MinatarAction::kUp) {
      s.chicken_timer = kChickenPeriod;
      s.chicken_row = std::max(0, s.chicken_row - 1);
    } else if (action == MinatarAction::kDown) {
      s.chicken_timer = kChickenPeriod;
      s.chicken_row = std::min(kLastRow, s.chicken_row + 1);
    }
  }
  if (s.chicken_row == 0) {
    ++reward;
    Randomize();
    s.chicken_row = kLastRow;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    Car& car = s.cars[static_cast<std::size_t>(lane)];
    const auto hit = [&] { return car.column == kChickenColumn && s.chicken_row == lane + 1; };
    if (hit()) s.chicken_row = kLastRow;
    if (car.timer == 0) {
      car.timer = car.speed_class;
      car.column = Wrapped(car.column + car.heading);
      if (hit()) s.chicken_row = kLastRow;
    } else {
      --car.timer;
    }
  }
  if (s.chicken_timer > 0) --s.chicken_timer;
  if (--s.steps_left < 0) Terminate();
  return reward;
}

void Freeway::WriteObservation(std::span<float> out) const {
  CellWriter cells(out, kChannels);
  cells.Set(kChicken, state_.chicken_row, kChickenColumn);
  for (int lane = 0; lane < kLanes; ++lane) {
    const Car& car = state_.cars[static_cast<std::size_t>(lane)];
    cells.Set(kCar, lane + 1, car.column);
    cells.Set(kFirstTrail + car.speed_class - 1, lane + 1, Wrapped(car.column - car.heading));
  }
}

void Freeway::Hash(StateHasher& hasher) const {
  hasher.Add(state_.chicken_row).Add(state_.chicken_timer).Add(state_.steps_left);
  for (const Car& car : state_.cars) {
    hasher.Add(car.column).Add(car.timer).Add(car.speed_class).Add(car.heading);
  }
}

namespace {

/// Goes up whenever the lane ahead is free of cars that could arrive while the chicken is in it.
class FreewayPolicy final : public MinatarPolicy {
 public:
  explicit FreewayPolicy(const GameParameters& parameters) : MinatarPolicy(parameters, kMinimalActions) {}

 private:
  MinatarAction Choose() override {
    const int row = Find(kChicken).row;
    if (IsFree(row - 1)) return MinatarAction::kUp;
    return IsFree(row) || !IsFree(row + 1) ? MinatarAction::kNone : MinatarAction::kDown;
  }

  /// Whether no car can reach the chicken's column within its period.
  bool IsFree(int row) const {
    for (int column = 0; column < kColumns; ++column) {
      if (!Has(kCar, row, column)) continue;
      for (int speed_class = 1; speed_class <= kClasses; ++speed_class) {
        for (const int heading : {-1, 1}) {
          if (!Has(kFirstTrail + speed_class - 1, row, Wrapped(column - heading))) continue;
          const int distance = (heading * (Freeway::kChickenColumn - column) + kColumns) % kColumns;
          const int most_moves = 1 + (kChickenPeriod - 1) / (speed_class + 1);
          if (distance <= most_moves) return false;
        }
      }
    }
    return true;
  }
};

}  // namespace

GameInfo FreewayInfo() {
  GameInfo info;
  info.name = "freeway";
  info.summary = "MinAtar: take a chicken across a road, again and again, between the cars";
  info.parameters = MinatarParameters(/*ramps=*/false, kMinimalActions);
  info.make = [](const GameParameters& parameters) -> std::unique_ptr<Game> {
    return std::make_unique<Freeway>(parameters);
  };
  info.make_scripted_policy = [](const GameParameters& parameters) -> std::unique_ptr<ScriptedPolicy> {
    return std::make_unique<FreewayPolicy>(parameters);
  };
  return info;
}

}  // namespace metronome
