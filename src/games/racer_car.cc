#include "games/racer_car.h"

#include <algorithm>
#include <cmath>

#include "metronome/core/math.h"

namespace metronome {
namespace {

// `value` brought nearer to `target` by at most `step`.
double Approach(double value, double target, double step) {
  return value < target ? std::min(value + step, target) : std::max(value - step, target);
}

}  // namespace

void RacerCar::PlaceAt(const Eigen::Vector2d& where, const Eigen::Vector2d& direction) {
  *this = RacerCar();
  position = where;
  heading = Atan2(direction.y(), direction.x());
  const SinCosValues along = SinCos(heading);
  forward = Eigen::Vector2d(along.cos, along.sin);
}

void RacerCar::Tick(const RacerControls& controls, const Settings& settings) {
  steering = Approach(steering, controls.steering, kSteeringRate * kTickSeconds);

  const double speed = velocity.norm();
  const double rolling = forward_speed();
  // Turning radius at low speed, v / r; grip of the front tyres at high speed, a / v.
  double full_lock = std::abs(rolling) / kTurningRadius;
  if (full_lock * speed > kFrontGrip * settings.grip) full_lock = kFrontGrip * settings.grip / speed;
  yaw_rate = (rolling < 0.0 ? -steering : steering) * full_lock;
  heading += yaw_rate * kTickSeconds;
  if (heading > kPi) heading -= 2 * kPi;
  if (heading < -kPi) heading += 2 * kPi;
  const SinCosValues along = SinCos(heading);
  forward = Eigen::Vector2d(along.cos, along.sin);
  const Eigen::Vector2d left(-along.sin, along.cos);

  // The heading has turned under the velocity, so a part of it is sideways now.
  double ahead = velocity.dot(forward);
  double sideways = velocity.dot(left);
  double pedal = 0.0;
  if (controls.brake) {
    pedal = kPedalShare * settings.grip;
    ahead = Approach(ahead, 0.0, pedal * kTickSeconds);
  } else if (controls.gas) {
    pedal = std::min(settings.engine, kPedalShare * settings.grip);
    ahead += pedal * kTickSeconds;
  }
  const double side_grip = std::sqrt(settings.grip * settings.grip - pedal * pedal);
  sideways = Approach(sideways, 0.0, side_grip * kTickSeconds);

  const double kept = 1.0 - (kRollingDrag + kAirDrag * speed) * kTickSeconds;
  velocity = kept * (ahead * forward + sideways * left);
  position += kTickSeconds * velocity;
}

double RacerCar::TopSpeed(const Settings& settings) {
  // kAirDrag v^2 + kRollingDrag v = engine.
  return (std::sqrt(kRollingDrag * kRollingDrag + 4 * kAirDrag * settings.engine) - kRollingDrag) /
         (2 * kAirDrag);
}

double RacerCar::TopYawRate(const Settings& settings) {
  // v / r = a / v at v = sqrt(a r).
  return std::sqrt(kFrontGrip * settings.grip / kTurningRadius);
}

}  // namespace metronome
