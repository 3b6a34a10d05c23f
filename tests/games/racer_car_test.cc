#include "games/racer_car.h"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <numbers>

#include "metronome/core/rng.h"

namespace metronome {
namespace {

using Eigen::Vector2d;

constexpr double kTick = 1.0 / 60.0;
constexpr RacerCar::Settings kSettings = {.grip = 11.0, .engine = 8.0};
constexpr RacerControls kCoast = {};
constexpr RacerControls kGas = {.gas = true};
constexpr RacerControls kBrake = {.brake = true};

// A car on its way along x.
RacerCar Moving(double speed) {
  RacerCar car;
  car.PlaceAt(Vector2d::Zero(), Vector2d::UnitX());
  car.velocity = Vector2d(speed, 0.0);
  return car;
}

TEST(RacerCarTest, StartsAtRestWithItsNoseWhereItIsPut) {
  RacerCar car = Moving(10.0);
  car.steering = 1.0;
  car.PlaceAt(Vector2d(3.0, 4.0), Vector2d(0.6, -0.8));
  EXPECT_EQ(car.position, Vector2d(3.0, 4.0));
  EXPECT_EQ(car.velocity, Vector2d::Zero());
  EXPECT_NEAR((car.forward - Vector2d(0.6, -0.8)).norm(), 0.0, 1e-15);
  EXPECT_NEAR(car.heading, std::atan2(-0.8, 0.6), 1e-15);
  EXPECT_EQ(car.steering, 0.0);
}

TEST(RacerCarTest, FirstTicksAtFullGasByHand) {
  RacerCar car = Moving(0.0);
  car.Tick(kGas, kSettings);
  // v = 8/60 less a 60th of 0.04 of it; x = v/60. In the second tick the drag has 0.004 v more.
  const double v = 8.0 / 60 * (1 - 0.04 / 60);
  EXPECT_NEAR(car.velocity.x(), v, 1e-15);
  EXPECT_NEAR(car.position.x(), v / 60, 1e-15);
  car.Tick(kGas, kSettings);
  EXPECT_NEAR(car.velocity.x(), (v + 8.0 / 60) * (1 - (0.04 + 0.004 * v) / 60), 1e-15);
}

// v' = a - b v - c v^2 from rest: v = (d tanh(d t / 2 + artanh(b / d)) - b) / 2c with d^2 = b^2 + 4 a c.
TEST(RacerCarTest, AcceleratesAsTheDifferentialEquationSays) {
  constexpr double a = 8.0, b = 0.04, c = 0.004;
  const double d = std::sqrt(b * b + 4 * a * c);
  RacerCar car = Moving(0.0);
  for (int tick = 1; tick <= 1800; ++tick) {
    car.Tick(kGas, kSettings);
    const double expected = (d * std::tanh(d * tick * kTick / 2 + std::atanh(b / d)) - b) / (2 * c);
    ASSERT_NEAR(car.forward_speed(), expected, 0.08) << "tick " << tick;
  }
  EXPECT_EQ(car.position.y(), 0.0);
}

TEST(RacerCarTest, TopSpeedIsWhereDragEqualsTheEngine) {
  EXPECT_NEAR(RacerCar::TopSpeed(kSettings), 40.0, 1e-9) << "0.04 * 40 + 0.004 * 1600 = 8";
  RacerCar car = Moving(0.0);
  for (int tick = 0; tick < 60 * 60; ++tick) {
    car.Tick(kGas, kSettings);
    ASSERT_LE(car.velocity.norm(), 40.0);
  }
  EXPECT_NEAR(car.forward_speed(), 40.0, 0.1);
}

TEST(RacerCarTest, NothingExceedsTheTopSpeedOrYawRate) {
  Rng rng(3);
  for (const double grip : {3.0, 11.0, 30.0}) {
    for (const double engine : {2.0, 8.0, 20.0}) {
      const RacerCar::Settings settings = {.grip = grip, .engine = engine};
      RacerCar car = Moving(0.0);
      RacerControls controls;
      for (int tick = 0; tick < 20'000; ++tick) {
        if (tick % 30 == 0) {
          controls = {.steering = static_cast<double>(rng.UniformInt(3) - 1),
                      .gas = rng.UniformInt(4) > 0,
                      .brake = rng.UniformInt(6) == 0};
        }
        car.Tick(controls, settings);
        ASSERT_LE(car.velocity.norm(), RacerCar::TopSpeed(settings) * (1 + 1e-12));
        ASSERT_LE(std::abs(car.yaw_rate), RacerCar::TopYawRate(settings) * (1 + 1e-12));
        ASSERT_LE(std::abs(car.steering), 1.0);
        ASSERT_LE(std::abs(car.heading), std::numbers::pi);
        ASSERT_NEAR(car.forward.norm(), 1.0, 1e-12);
        ASSERT_NEAR(car.forward.x(), std::cos(car.heading), 1e-12);
        ASSERT_NEAR(car.forward.y(), std::sin(car.heading), 1e-12);
      }
    }
  }
}

TEST(RacerCarTest, TheBrakeUsesFourFifthsOfTheGrip) {
  RacerCar car = Moving(20.0);
  car.Tick(kBrake, kSettings);
  EXPECT_NEAR(car.velocity.x(), (20.0 - 0.8 * 11.0 / 60) * (1 - (0.04 + 0.004 * 20.0) / 60), 1e-12);
}

TEST(RacerCarTest, BrakingEndsAtRestAndNotInReverse) {
  RacerCar car = Moving(20.0);
  int ticks = 0;
  while (car.velocity.x() > 0.0 && ticks < 1000) {
    car.Tick(kBrake, kSettings);
    ++ticks;
  }
  // 20 / 8.8 = 2.27 s and 22.7 m without drag; drag of at most 2.4 m/s^2 shortens both.
  EXPECT_LT(ticks, 2.27 * 60);
  EXPECT_GT(ticks, 20.0 / (8.8 + 2.4) * 60);
  EXPECT_LT(car.position.x(), 22.7);
  EXPECT_GT(car.position.x(), 400.0 / (2 * (8.8 + 2.4)));
  const Vector2d stopped = car.position;
  for (int tick = 0; tick < 60; ++tick) car.Tick(kBrake, kSettings);
  EXPECT_EQ(car.velocity, Vector2d::Zero());
  EXPECT_EQ(car.position, stopped);
}

TEST(RacerCarTest, TheBrakeWinsOverTheGas) {
  RacerCar car = Moving(20.0);
  RacerCar braking = Moving(20.0);
  car.Tick({.gas = true, .brake = true}, kSettings);
  braking.Tick(kBrake, kSettings);
  EXPECT_EQ(car.velocity, braking.velocity);
}

TEST(RacerCarTest, PedalsCannotUseMoreGripThanThereIs) {
  const RacerCar::Settings ice = {.grip = 3.0, .engine = 8.0};
  RacerCar car = Moving(0.0);
  car.Tick(kGas, ice);
  EXPECT_NEAR(car.velocity.x(), 0.8 * 3.0 / 60 * (1 - 0.04 / 60), 1e-15);
}

TEST(RacerCarTest, CoastingOnlyDrags) {
  RacerCar car = Moving(30.0);
  double speed = 30.0;
  for (int tick = 0; tick < 300; ++tick) {
    car.Tick(kCoast, kSettings);
    speed *= 1 - (0.04 + 0.004 * speed) / 60;
    ASSERT_NEAR(car.velocity.x(), speed, 1e-12);
  }
}

TEST(RacerCarTest, TheWheelTakesAFifthOfASecondToFullLock) {
  RacerCar car = Moving(5.0);
  for (int tick = 1; tick <= 12; ++tick) {
    car.Tick({.steering = 1.0}, kSettings);
    ASSERT_NEAR(car.steering, tick / 12.0, 1e-12);
  }
  car.Tick({.steering = 1.0}, kSettings);
  EXPECT_EQ(car.steering, 1.0);
  for (int tick = 1; tick <= 12; ++tick) car.Tick(kCoast, kSettings);
  EXPECT_NEAR(car.steering, 0.0, 1e-12);
  for (int tick = 1; tick <= 3; ++tick) car.Tick({.steering = -1.0}, kSettings);
  EXPECT_NEAR(car.steering, -0.25, 1e-12);
}

TEST(RacerCarTest, SlowlyItTurnsOnACircleOfFiveMetres) {
  RacerCar car = Moving(4.0);
  car.steering = 1.0;
  const Vector2d center(0.0, RacerCar::kTurningRadius);
  for (int tick = 0; tick < 240; ++tick) {
    car.Tick({.steering = 1.0}, kSettings);
    // Within the length of a tick: the heading turns before the car moves.
    ASSERT_NEAR((car.position - center).norm(), 5.0, 4.0 / 60) << "tick " << tick;
    ASSERT_NEAR(car.side_speed(), 0.0, 1e-12);
  }
}

// At 20 m/s full lock asks the front tyres for 1.4 times the grip: 0.7 of it is within the grip, 0.8 is not.
TEST(RacerCarTest, ItSlidesOnlyBeyondTheGrip) {
  for (const double lock : {0.3, 0.7}) {
    RacerCar car = Moving(20.0);
    car.steering = lock;
    for (int tick = 0; tick < 60; ++tick) {
      car.Tick({.steering = lock}, kSettings);
      ASSERT_NEAR(car.side_speed(), 0.0, 1e-9) << lock;
      ASSERT_NEAR(car.yaw_rate, lock * 1.4 * 11.0 / car.velocity.norm(), 0.01) << lock;
    }
  }
  RacerCar car = Moving(20.0);
  car.steering = 0.8;
  for (int tick = 0; tick < 60; ++tick) car.Tick({.steering = 0.8}, kSettings);
  EXPECT_LT(car.side_speed(), -0.5) << "a left turn slides to the right";
}

TEST(RacerCarTest, FirstTickOfASlideByHand) {
  RacerCar car = Moving(25.0);
  car.steering = 1.0;
  car.Tick({.steering = 1.0}, kSettings);
  const double yaw_rate = 1.4 * 11.0 / 25.0;
  const double angle = yaw_rate / 60;
  const double kept = 1 - (0.04 + 0.004 * 25.0) / 60;
  EXPECT_NEAR(car.yaw_rate, yaw_rate, 1e-12);
  EXPECT_NEAR(car.heading, angle, 1e-12);
  EXPECT_NEAR(car.forward_speed(), kept * 25.0 * std::cos(angle), 1e-12);
  EXPECT_NEAR(car.side_speed(), kept * (-25.0 * std::sin(angle) + 11.0 / 60), 1e-12);
}

TEST(RacerCarTest, ASlideGoesOnAfterTheWheelIsStraight) {
  RacerCar car = Moving(20.0);
  car.velocity.y() = 3.0;  // heading along x, so 3 m/s to the left
  // The tyres take 11 m/s^2 off it: 3 m/s last 0.27 s, a little less with drag.
  int ticks = 0;
  while (car.side_speed() > 1e-9 && ticks < 100) {
    car.Tick(kCoast, kSettings);
    ++ticks;
  }
  EXPECT_EQ(ticks, 17);
  EXPECT_EQ(car.heading, 0.0);
}

TEST(RacerCarTest, PedalsTakeGripFromTheSides) {
  // sqrt(11^2 - 8^2) = 7.55 with the gas, sqrt(11^2 - 8.8^2) = 6.6 with the brake.
  for (const auto& [controls, side_grip] :
       {std::pair{kCoast, 11.0}, std::pair{kGas, std::sqrt(57.0)}, std::pair{kBrake, 6.6}}) {
    RacerCar car = Moving(20.0);
    car.velocity.y() = 3.0;
    const double speed = car.velocity.norm();
    car.Tick(controls, kSettings);
    EXPECT_NEAR(car.side_speed(), (3.0 - side_grip / 60) * (1 - (0.04 + 0.004 * speed) / 60), 1e-12);
  }
}

TEST(RacerCarTest, BrakingInATurnSlidesWhereCoastingDoesNot) {
  RacerCar coasting = Moving(20.0);
  RacerCar braking = Moving(20.0);
  coasting.steering = braking.steering = 0.6;
  for (int tick = 0; tick < 30; ++tick) {
    coasting.Tick({.steering = 0.6}, kSettings);
    braking.Tick({.steering = 0.6, .brake = true}, kSettings);
  }
  EXPECT_NEAR(coasting.side_speed(), 0.0, 1e-9);
  EXPECT_LT(braking.side_speed(), -0.3);
}

TEST(RacerCarTest, LeftAndRightAreMirrored) {
  RacerCar left = Moving(28.0);
  RacerCar right = Moving(28.0);
  Rng rng(8);
  for (int tick = 0; tick < 600; ++tick) {
    const RacerControls controls = {.steering = static_cast<double>(rng.UniformInt(3) - 1),
                                    .gas = rng.UniformInt(2) == 0,
                                    .brake = rng.UniformInt(5) == 0};
    left.Tick(controls, kSettings);
    right.Tick({.steering = -controls.steering, .gas = controls.gas, .brake = controls.brake}, kSettings);
    ASSERT_NEAR(left.position.x(), right.position.x(), 1e-9);
    ASSERT_NEAR(left.position.y(), -right.position.y(), 1e-9);
  }
}

TEST(RacerCarTest, RollingBackwardsItTurnsTheOtherWay) {
  RacerCar car = Moving(-3.0);
  car.steering = 1.0;
  car.Tick({.steering = 1.0}, kSettings);
  EXPECT_NEAR(car.yaw_rate, -3.0 / 5.0, 1e-12);
}

}  // namespace
}  // namespace metronome
