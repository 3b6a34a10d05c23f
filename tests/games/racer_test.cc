#include "games/racer.h"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "games/racer_driver.h"
#include "metronome/core/rng.h"

namespace metronome {
namespace {

using Eigen::Vector2d;

constexpr int kCoast = 0;
constexpr int kLeft = 1;
constexpr int kGas = 3;
constexpr double kBonus = 10.0;
constexpr double kPerMeter = Racer::kPointsPerMeter;

Racer MakeRacer() { return Racer(GameParameters(RacerInfo().parameters)); }

Vector2d LeftOf(const Vector2d& v) { return Vector2d(-v.y(), v.x()); }

// A car `across` metres to the left of the centre line, turned by `turned` (rad) from the direction of
// travel.
RacerCar CarOn(const RacerTrack& track, double along, double across, double turned, double speed) {
  const Vector2d direction = track.DirectionAt(along);
  RacerCar car;
  car.PlaceAt(track.PointAt(along, across),
              std::cos(turned) * direction + std::sin(turned) * LeftOf(direction));
  car.velocity = speed * car.forward;
  return car;
}

std::array<float, Racer::kNumFeatures> Observe(const Racer& game) {
  std::array<float, Racer::kNumFeatures> observation;
  game.WriteObservation(observation);
  return observation;
}

int DriverAction(RacerDriver& driver, const Racer& game) { return driver.Act(Observe(game)); }

TEST(RacerTest, StartsAtRestOnTheStartLineAlongTheTrack) {
  Racer game = MakeRacer();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    game.Reset(seed);
    EXPECT_EQ(game.car().position, game.track().pieces().front().begin);
    EXPECT_EQ(game.car().velocity, Vector2d::Zero());
    EXPECT_NEAR((game.car().forward - game.track().DirectionAt(0.0)).norm(), 0.0, 1e-12);
    EXPECT_EQ(game.progress(), 0.0);
    EXPECT_EQ(game.laps(), 0);
  }
}

TEST(RacerTest, ActionsAreThePedalsTimesTheWheel) {
  const Racer game = MakeRacer();
  ASSERT_EQ(game.spec().num_actions(), Racer::kNumActions);
  for (int action = 0; action < Racer::kNumActions; ++action) {
    const RacerControls controls = Racer::ControlsOf(action);
    EXPECT_EQ(Racer::ActionOf(controls), action);
    std::set<std::string> keys;
    if (controls.gas) keys.insert("Up");
    if (controls.brake) keys.insert("Down");
    if (controls.steering > 0) keys.insert("Left");
    if (controls.steering < 0) keys.insert("Right");
    const ActionSpec& spec = game.spec().actions[static_cast<std::size_t>(action)];
    EXPECT_EQ(std::set<std::string>(spec.keys.begin(), spec.keys.end()), keys) << spec.name;
  }
}

TEST(RacerTest, StandingStillEarnsNothing) {
  Racer game = MakeRacer();
  game.Reset(1);
  for (int step = 0; step < 50; ++step) EXPECT_EQ(game.Step(step % 3 == 0 ? kCoast : kLeft).reward, 0.0f);
}

TEST(RacerTest, AStepIsSixTicksAndEarnsTheMetersAlongTheStraight) {
  Racer game = MakeRacer();
  game.Reset(4);
  RacerCar car = game.car();
  const Vector2d start = car.position;
  for (int step = 0; step < 5; ++step) {
    const double before = (car.position - start).norm();
    for (int tick = 0; tick < 6; ++tick) car.Tick({.gas = true}, {.grip = 11.0, .engine = 8.0});
    const StepResult result = game.Step(kGas);
    EXPECT_EQ(game.car().position, car.position);
    EXPECT_NEAR(result.reward, kPerMeter * ((car.position - start).norm() - before), 1e-6);
    EXPECT_FALSE(result.terminated);
  }
}

TEST(RacerTest, RewardsAddUpToTheProgressAndTheBonuses) {
  Racer game = MakeRacer();
  RacerDriver driver(11.0);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    game.Reset(seed);
    Vector2d before = game.car().position;
    double points = 0.0;
    std::int64_t laps = 0;
    double on_the_line = 0.0;
    for (int step = 0; step < 1000; ++step) {
      const StepResult result = game.Step(DriverAction(driver, game));
      points += static_cast<double>(result.reward);
      // Never more progress than the way driven, but for the inside of a bend: edge 3 m, centre line 9 m.
      const double way = (game.car().position - before).norm();
      ASSERT_LE(std::abs(result.reward) - (game.laps() > laps ? kBonus : 0.0), kPerMeter * 3.05 * way + 1e-6);
      before = game.car().position;
      if (game.laps() > laps) {
        ++laps;
        ASSERT_EQ(game.laps(), laps);
        // The car has just crossed the line: its distance from it, straight ahead, is the rest of the
        // progress.
        on_the_line = (game.car().position - game.track().pieces().front().begin)
                          .dot(game.track().pieces().front().begin_direction);
        ASSERT_GE(on_the_line, 0.0);
        ASSERT_LE(on_the_line, 4.0);
        ASSERT_NEAR(game.progress(), static_cast<double>(laps) * game.track().length() + on_the_line, 1e-6);
      }
      ASSERT_NEAR(points, kPerMeter * game.progress() + kBonus * static_cast<double>(laps), 1e-3);
      ASSERT_FALSE(result.terminated) << "seed " << seed << " step " << step;
    }
    EXPECT_GE(laps, 2) << "seed " << seed;
  }
}

TEST(RacerTest, GoingBackCostsWhatGoingOnEarned) {
  Racer game = MakeRacer();
  game.Reset(2);
  game.SetCar(CarOn(game.track(), 10.0, 0.0, std::acos(-1.0), 10.0), 10.0);
  const StepResult result = game.Step(kCoast);
  // 10 m/s for a tenth of a second, less drag.
  EXPECT_NEAR(result.reward, -kPerMeter * 1.0, 0.01);
  EXPECT_FALSE(result.terminated);
}

TEST(RacerTest, DrivingRoundTheTrackBackwardsCountsDown) {
  Racer game = MakeRacer();
  game.Reset(2);
  game.SetCar(CarOn(game.track(), 5.0, 0.0, std::acos(-1.0), 8.0), 5.0);
  RacerDriver driver(11.0);
  double points = 0.0;
  for (int step = 0; step < 700; ++step)
    points += static_cast<double>(game.Step(DriverAction(driver, game)).reward);
  EXPECT_LT(game.progress(), -1.5 * game.track().length());
  EXPECT_NEAR(points, kPerMeter * (game.progress() - 5.0), 1e-3) << "and no bonus";
  EXPECT_EQ(game.laps(), 0);
}

// Drives ovals around the start line, slowly, at full lock at both ends: over it, back over it, and again.
TEST(RacerTest, ALapCountsOnceHoweverOftenTheLineIsCrossed) {
  Racer game = MakeRacer();
  game.Reset(2);
  const Vector2d line = game.track().pieces().front().begin;
  const Vector2d ahead = game.track().pieces().front().begin_direction;
  const double length = game.track().length();
  game.SetCar(CarOn(game.track(), length - 6.0, -5.2, 0.0, 4.0), length - 6.0);
  double points = 0.0;
  int bonuses = 0;
  int crossings = 0;
  double side = -6.0;
  for (int step = 0; step < 1000; ++step) {
    const Vector2d where = game.car().position - line;
    // On the right hand side of the road onwards, on the left back; always turning left.
    const bool turning_at_far_end = where.dot(ahead) > 8.0 || (where.dot(ahead) < -8.0);
    const Vector2d want = turning_at_far_end
                              ? Vector2d((where.dot(ahead) > 0 ? -1.0 : 1.0) * ahead)
                              : Vector2d((game.car().forward.dot(ahead) > 0 ? 1.0 : -1.0) * ahead);
    const double off = game.car().forward.x() * want.y() - game.car().forward.y() * want.x();
    const bool reversed = game.car().forward.dot(want) < -0.2;
    RacerControls controls;
    controls.gas = game.car().forward_speed() < 3.5;
    if (reversed || off > 0.1) controls.steering = 1.0;
    if (!reversed && off < -0.1) controls.steering = -1.0;
    const StepResult result = game.Step(Racer::ActionOf(controls));
    ASSERT_FALSE(result.terminated) << "step " << step << " at " << where.dot(ahead) << ", "
                                    << where.dot(LeftOf(ahead));
    points += static_cast<double>(result.reward);
    if (result.reward > 5.0f) ++bonuses;
    const double now = (game.car().position - line).dot(ahead);
    if (now * side < 0.0) ++crossings;
    side = now;
  }
  EXPECT_GE(crossings, 8);
  EXPECT_EQ(bonuses, 1);
  EXPECT_EQ(game.laps(), 1);
  EXPECT_NEAR(points, kPerMeter * (game.progress() - (length - 6.0)) + kBonus, 1e-3);
  EXPECT_LE(points, kPerMeter * 30.0 + kBonus);
}

TEST(RacerTest, TheEpisodeEndsInTheTickInWhichTheMiddleOfTheCarLeavesTheRoad) {
  Racer game = MakeRacer();
  for (const double side : {1.0, -1.0}) {
    for (const double speed : {5.0, 11.3, 26.0}) {
      game.Reset(3);
      // Across the straight, from the centre line.
      RacerCar car = CarOn(game.track(), 5.0, 0.0, side * std::acos(0.0), speed);
      game.SetCar(car, 5.0);
      int ticks = 0;
      const Vector2d start = car.position;
      while ((car.position - start).norm() <= 6.0) {
        car.Tick({}, {.grip = 11.0, .engine = 8.0});
        ++ticks;
      }
      int steps = 0;
      StepResult result;
      do {
        result = game.Step(kCoast);
        ++steps;
      } while (!result.terminated && steps < 100);
      EXPECT_EQ(steps, (ticks + 5) / 6) << speed;
      EXPECT_EQ(game.car().position, car.position) << "no tick after that";
      EXPECT_NEAR(result.reward, 0.0, 1e-6) << "straight across is no progress";
    }
  }
}

TEST(RacerTest, ACarOnTheEdgeIsStillOnTheRoad) {
  Racer game = MakeRacer();
  game.Reset(3);
  for (const double across : {5.999, -5.999}) {
    game.SetCar(CarOn(game.track(), 3.0, across, 0.0, 10.0), 3.0);
    EXPECT_FALSE(game.Step(kCoast).terminated);
  }
}

TEST(RacerTest, NoStepIsTakenAfterTheEnd) {
  Racer game = MakeRacer();
  EXPECT_DEATH(game.Step(kGas), "playing_");
  game.Reset(3);
  game.SetCar(CarOn(game.track(), 5.0, 5.9, std::acos(0.0), 20.0), 5.0);
  ASSERT_TRUE(game.Step(kCoast).terminated);
  EXPECT_DEATH(game.Step(kCoast), "playing_");
  game.Reset(3);
  EXPECT_DEATH(game.Step(-1), "action");
  EXPECT_DEATH(game.Step(Racer::kNumActions), "action");
}

TEST(RacerTest, ObservationOnTheStraightByHand) {
  Racer game = MakeRacer();
  game.Reset(1);
  RacerCar car = CarOn(game.track(), 0.0, 0.0, 0.0, 0.0);
  car.velocity = 20.0 * car.forward - 2.5 * LeftOf(car.forward);
  car.yaw_rate = -0.5;
  car.steering = -0.25;
  game.SetCar(car, 0.0);
  const auto observation = Observe(game);
  const auto reading = [](double meters) { return static_cast<float>(meters / (meters + 15.0)); };
  // The edges are 6 m to the sides, so 6 / sin of the angle away.
  for (const auto& [ray, degrees] : {std::pair{0, 90.0}, std::pair{1, 60.0}, std::pair{2, 35.0}}) {
    const double meters = 6.0 / std::sin(degrees * std::acos(-1.0) / 180.0);
    EXPECT_NEAR(observation[static_cast<std::size_t>(ray)], reading(meters), 1e-6) << degrees;
    EXPECT_NEAR(observation[static_cast<std::size_t>(10 - ray)], reading(meters), 1e-6) << -degrees;
  }
  EXPECT_NEAR(observation[Racer::kSpeed], 20.0 / 40.0, 1e-6);
  EXPECT_NEAR(observation[Racer::kSideSpeed], -0.25, 1e-6);
  EXPECT_NEAR(observation[Racer::kYawRate], -0.25, 1e-6);
  EXPECT_NEAR(observation[Racer::kSteering], -0.25, 1e-6);
}

TEST(RacerTest, RaysAreThoseOfTheTrackInTheirOrder) {
  Racer game = MakeRacer();
  RacerDriver driver(11.0);
  game.Reset(6);
  for (int step = 0; step < 300; ++step) {
    ASSERT_FALSE(game.Step(DriverAction(driver, game)).terminated);
    const auto observation = Observe(game);
    const RacerTrack& track = game.track();
    const double along = game.progress() - static_cast<double>(game.laps()) * track.length();
    int piece = 0;
    while (piece + 1 < static_cast<int>(track.pieces().size()) &&
           track.pieces()[static_cast<std::size_t>(piece) + 1].start <= along) {
      ++piece;
    }
    for (std::size_t ray = 0; ray < Racer::kNumRays; ++ray) {
      const double angle = game.car().heading + Racer::kRayDegrees[ray] * std::acos(-1.0) / 180.0;
      const double meters =
          track.CastRay(piece, game.car().position, Vector2d(std::cos(angle), std::sin(angle)), 120.0);
      ASSERT_NEAR(observation[ray], meters / (meters + 15.0), 1e-6) << "ray " << ray << " step " << step;
    }
  }
}

TEST(RacerTest, TheParametersDoWhatTheySay) {
  const GameInfo info = RacerInfo();
  GameParameters parameters(info.parameters);
  parameters.Set("half_width", 8.0);
  parameters.Set("engine", 4.0);
  parameters.Set("ray_range", 30.0);
  parameters.Set("lap_bonus", 3.0);
  Racer game(parameters);
  game.Reset(1);
  EXPECT_EQ(game.track().half_width(), 8.0);
  EXPECT_NEAR(Observe(game)[0], 8.0 / 23.0, 1e-6);
  game.SetCar(CarOn(game.track(), 0.0, 0.0, 0.0, 0.0), 0.0);
  EXPECT_LE(Observe(game)[5], 30.0f / 45.0f);
  const double length = game.track().length();
  game.SetCar(CarOn(game.track(), length - 0.5, 0.0, 0.0, 10.0), length - 0.5);
  EXPECT_NEAR(game.Step(kCoast).reward, 3.0 + kPerMeter * 1.0, 0.01);
  game.SetCar(CarOn(game.track(), 0.0, 0.0, 0.0, 0.0), 0.0);
  game.Step(kGas);
  EXPECT_NEAR(game.car().forward_speed(), 0.4, 0.01);
}

TEST(RacerTest, TheHashSeesEachPartOfTheCar) {
  Racer game = MakeRacer();
  game.Reset(5);
  const RacerCar car = CarOn(game.track(), 3.0, 0.5, 0.1, 10.0);
  std::set<std::uint64_t> hashes;
  const auto add = [&](const RacerCar& changed, double along) {
    game.SetCar(changed, along);
    hashes.insert(game.StateHash());
  };
  add(car, 3.0);
  RacerCar changed = car;
  changed.position.x() += 1e-9;
  add(changed, 3.0);
  changed = car;
  changed.position.y() += 1e-9;
  add(changed, 3.0);
  changed = car;
  changed.velocity.x() += 1e-9;
  add(changed, 3.0);
  changed = car;
  changed.velocity.y() += 1e-9;
  add(changed, 3.0);
  changed = car;
  changed.heading += 1e-9;
  add(changed, 3.0);
  changed = car;
  changed.steering += 1e-9;
  add(changed, 3.0);
  EXPECT_EQ(hashes.size(), 7u);
  game.Reset(5);
  const std::uint64_t start = game.StateHash();
  game.Reset(6);
  EXPECT_NE(game.StateHash(), start) << "another track";
}

std::size_t NumShapes(const Racer& game) {
  DrawList list;
  game.Draw(list);
  return list.commands().size();
}

TEST(RacerTest, ThePictureShowsSlidesUntilTheNextEpisode) {
  Racer game = MakeRacer();
  game.Reset(5);
  const std::size_t without = NumShapes(game);
  RacerCar car = CarOn(game.track(), 3.0, 0.0, 0.0, 20.0);
  game.SetCar(car, 3.0);
  game.Step(kCoast);
  EXPECT_EQ(NumShapes(game), without);
  car.velocity += 4.0 * LeftOf(car.forward);
  game.SetCar(car, 3.0);
  game.Step(kCoast);
  EXPECT_EQ(NumShapes(game), without + 2) << "the marks of two wheels";
  game.Reset(5);
  EXPECT_EQ(NumShapes(game), without);
}

TEST(RacerTest, ThePictureForgetsOldSlides) {
  GameParameters parameters(RacerInfo().parameters);
  parameters.Set("grip", 4.0);
  Racer game(parameters);
  RacerDriver reckless(6.0);  // thinks that it has half as much again
  game.Reset(1);
  const std::size_t without = NumShapes(game);
  std::size_t most = 0;
  for (int step = 0; step < 2000 && !game.Step(DriverAction(reckless, game)).terminated; ++step) {
    most = std::max(most, NumShapes(game));
  }
  EXPECT_EQ(most, without + 2 * 256);
}

TEST(RacerTest, ThePictureStaysInItsFrame) {
  Racer game = MakeRacer();
  DrawList list;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    game.Reset(seed);
    list.Clear();
    game.Draw(list);
    for (const DrawCommand& command : list.commands()) {
      if (command.kind != DrawKind::kPolyline && command.kind != DrawKind::kPolygon) continue;
      for (const DrawPoint& point : list.points(command)) {
        ASSERT_GE(point.x, 0.0f);
        ASSERT_LE(point.x, 240.0f);
        ASSERT_GE(point.y, 0.0f);
        ASSERT_LE(point.y, 160.0f);
      }
    }
  }
}

}  // namespace
}  // namespace metronome
