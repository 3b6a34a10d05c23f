#include "games/minatar/breakout.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "games/minatar/minatar_policy.h"

namespace metronome {
namespace {

constexpr int kLast = CellSet::kSide - 1;  // column at the right, and the paddle's row
constexpr CellSet kWall = CellSet::Block(1, 3, 0, kLast);
constexpr int kStartRow = 3;
constexpr int kStartPaddle = 4;

constexpr std::array kMinimalActions = {MinatarAction::kNone, MinatarAction::kLeft, MinatarAction::kRight};

enum Channel { kPaddle, kBall, kTrail, kBrick, kChannels };

// By direction: up-left, up-right, down-right, down-left.
constexpr std::array<int, 4> kRowSteps = {-1, -1, 1, 1};
constexpr std::array<int, 4> kColumnSteps = {-1, 1, 1, -1};

using Direction = Breakout::Direction;
constexpr std::array<Direction, 4> kMirroredSideways = {Breakout::kUpRight, Breakout::kUpLeft,
                                                        Breakout::kDownLeft, Breakout::kDownRight};
constexpr std::array<Direction, 4> kMirroredUpright = {Breakout::kDownLeft, Breakout::kDownRight,
                                                       Breakout::kUpRight, Breakout::kUpLeft};
constexpr std::array<Direction, 4> kReversed = {Breakout::kDownRight, Breakout::kDownLeft, Breakout::kUpLeft,
                                                Breakout::kUpRight};

}  // namespace

Breakout::Breakout(const GameParameters& parameters)
    : MinatarGame({.name = "breakout",
                   .channels = {"paddle", "ball", "trail", "brick"},
                   .minimal_actions = kMinimalActions,
                   .ramps = false,
                   .steps_per_second = 10.0,
                   .default_max_episode_steps = 10'000},
                  parameters) {}

void Breakout::Begin() {
  const bool from_left = chance().UniformInt(0, 2) == 0;
  state_ = {};
  state_.ball_row = kStartRow;
  state_.ball_column = from_left ? 0 : kLast;
  state_.direction = from_left ? kDownRight : kDownLeft;
  state_.trail_row = state_.ball_row;
  state_.trail_column = state_.ball_column;
  state_.paddle_column = kStartPaddle;
  state_.bricks = kWall;
}

Breakout::Flight Breakout::Fly(State& s) {
  Flight flight;
  if (s.ball_row == kLast) {  // lost before, and beyond that row there is no board
    flight.lost = true;
    return flight;
  }
  const int old_row = s.ball_row;
  const int old_column = s.ball_column;
  int row = old_row + kRowSteps[s.direction];
  int column = old_column + kColumnSteps[s.direction];
  bool struck = false;
  if (column < 0 || column > kLast) {
    column = std::clamp(column, 0, kLast);
    s.direction = kMirroredSideways[s.direction];
  }
  if (row < 0) {
    row = 0;
    s.direction = kMirroredUpright[s.direction];
  } else if (s.bricks.Has(row, column)) {
    struck = true;
    if (!s.strike) {
      flight.reward = 1;
      s.strike = true;
      s.bricks.Remove(row, column);
      row = old_row;
      s.direction = kMirroredUpright[s.direction];
    }
  } else if (row == kLast) {
    if (s.bricks.empty()) s.bricks = kWall;
    if (old_column == s.paddle_column) {
      s.direction = kMirroredUpright[s.direction];
      row = old_row;
    } else if (column == s.paddle_column) {
      s.direction = kReversed[s.direction];
      row = old_row;
    } else {
      flight.lost = true;
    }
  }
  if (!struck) s.strike = false;
  s.trail_row = old_row;
  s.trail_column = old_column;
  s.ball_row = row;
  s.ball_column = column;
  return flight;
}

int Breakout::Advance(MinatarAction action) {
  int& paddle = state_.paddle_column;
  if (action == MinatarAction::kLeft) paddle = std::max(0, paddle - 1);
  if (action == MinatarAction::kRight) paddle = std::min(kLast, paddle + 1);
  const Flight flight = Fly(state_);
  if (flight.lost) Terminate();
  return flight.reward;
}

void Breakout::WriteObservation(std::span<float> out) const {
  CellWriter cells(out, kChannels);
  cells.Set(kPaddle, kLast, state_.paddle_column);
  cells.Set(kBall, state_.ball_row, state_.ball_column);
  cells.Set(kTrail, state_.trail_row, state_.trail_column);
  cells.Set(kBrick, state_.bricks);
}

void Breakout::Hash(StateHasher& hasher) const {
  hasher.Add(state_.ball_row)
      .Add(state_.ball_column)
      .Add(static_cast<int>(state_.direction))
      .Add(state_.trail_row)
      .Add(state_.trail_column)
      .Add(state_.paddle_column)
      .Add(state_.strike)
      .Add(state_.bricks.low())
      .Add(state_.bricks.high());
}

namespace {

/// Works out where the ball will come down and goes there. The ball is either sent back up from under it or
/// returned from the column that it flies to: the player prefers the one that breaks more bricks.
class BreakoutPolicy final : public MinatarPolicy {
 public:
  explicit BreakoutPolicy(const GameParameters& parameters) : MinatarPolicy(parameters, kMinimalActions) {}
  void Reset() override { begun_ = false; }

 private:
  MinatarAction Choose() override {
    Follow();
    Breakout::State landing = state_;
    const int steps = FlyToTheBottom(landing).steps;
    Breakout::State lost = landing;
    Breakout::Fly(lost);
    int target = landing.ball_column;
    int most = -1;
    for (const int column : {landing.ball_column, lost.ball_column}) {
      if (std::abs(column - state_.paddle_column) > steps + 1) continue;
      Breakout::State returned = landing;
      returned.paddle_column = column;
      Breakout::Fly(returned);
      const int reward = FlyToTheBottom(returned).reward;
      if (reward > most) {
        most = reward;
        target = column;
      }
    }
    if (target == state_.paddle_column) return MinatarAction::kNone;
    return target < state_.paddle_column ? MinatarAction::kLeft : MinatarAction::kRight;
  }

  /// Brings `state_` up to the observation. Which way the ball flies is not to be seen after a bounce, so the
  /// player follows it from its start.
  void Follow() {
    state_.paddle_column = Find(kPaddle).column;
    if (begun_) {
      Breakout::Fly(state_);
      return;
    }
    begun_ = true;
    const Place ball = Find(kBall);
    state_.ball_row = ball.row;
    state_.ball_column = ball.column;
    state_.direction = ball.column == 0 ? Breakout::kDownRight : Breakout::kDownLeft;
    state_.strike = false;
    state_.bricks = Cells(kBrick);
  }

  struct Journey {
    int steps = 0;
    int reward = 0;
  };
  /// Flies on to the step before the one in which the ball comes down to the paddle's row.
  static Journey FlyToTheBottom(Breakout::State& state) {
    Journey journey;
    state.paddle_column = -1;
    for (Breakout::State next = state;; state = next) {
      const Breakout::Flight flight = Breakout::Fly(next);
      if (flight.lost) return journey;
      ++journey.steps;
      journey.reward += flight.reward;
    }
  }

  bool begun_ = false;
  Breakout::State state_;
};

}  // namespace

GameInfo BreakoutInfo() {
  GameInfo info;
  info.name = "breakout";
  info.summary = "MinAtar: keep a ball in play with a paddle and break the wall of bricks";
  info.parameters = MinatarParameters(/*ramps=*/false, kMinimalActions);
  info.make = [](const GameParameters& parameters) -> std::unique_ptr<Game> {
    return std::make_unique<Breakout>(parameters);
  };
  info.make_scripted_policy = [](const GameParameters& parameters) -> std::unique_ptr<ScriptedPolicy> {
    return std::make_unique<BreakoutPolicy>(parameters);
  };
  return info;
}

}  // namespace metronome
