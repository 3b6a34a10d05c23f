#include "games/racer_driver.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "games/racer.h"
#include "metronome/core/check.h"
#include "metronome/core/math.h"

namespace metronome {
namespace {

// All found by hand on a few tracks.
constexpr double kSteeringGain = 2.0;   // yaw rate wanted for an angle, 1/s
constexpr double kMaxLock = 0.75;       // more only makes the car slide
constexpr double kBrakingShare = 0.45;  // of the grip, in the driver's idea of its braking distance
constexpr double kMargin = 2.5;         // road ahead that it leaves out of account, m
constexpr double kCrawl = 3.0;          // speed that is always safe, m/s

}  // namespace

int RacerDriver::Act(std::span<const float> observation) {
  METRONOME_CHECK_EQ(observation.size(), static_cast<std::size_t>(Racer::kNumFeatures));
  std::array<double, Racer::kNumRays> distance;  // m
  double weights = 0.0;
  double weighted_degrees = 0.0;
  for (std::size_t ray = 0; ray < distance.size(); ++ray) {
    const auto seen = static_cast<double>(observation[ray]);
    distance[ray] = Racer::kRayScale * seen / (1.0 - seen);
    const double square = distance[ray] * distance[ray];
    weights += square * square;
    weighted_degrees += square * square * Racer::kRayDegrees[ray];
  }
  const double open_side = weights > 0.0 ? weighted_degrees / weights * (kPi / 180.0) : 0.0;  // rad
  const double speed = Racer::kSpeedScale * static_cast<double>(observation[Racer::kSpeed]);
  const auto steering = static_cast<double>(observation[Racer::kSteering]);

  // The wheel for the yaw rate wanted. One key moves it by so much in a step: which brings it nearest?
  const double full_lock = std::min(std::max(speed, 1.0) / RacerCar::kTurningRadius,
                                    RacerCar::kFrontGrip * grip_ / std::max(speed, 1.0));
  const double wheel = std::clamp(kSteeringGain * open_side / full_lock, -kMaxLock, kMaxLock);
  constexpr double kWheelStep = RacerCar::kSteeringRate * RacerCar::kTickSeconds * Racer::kTicksPerStep;
  RacerControls controls;
  double nearest = HUGE_VAL;
  for (const double key : {0.0, 1.0, -1.0}) {
    const double turned = std::clamp(key - steering, -kWheelStep, kWheelStep) + steering;
    if (std::abs(turned - wheel) < nearest) {
      nearest = std::abs(turned - wheel);
      controls.steering = key;
    }
  }

  // v^2 = 2 a s, on the road seen ahead: in a bend the nose points at the edge, and both neighbours look past
  // it.
  constexpr std::size_t kAhead = Racer::kNumRays / 2;
  const double view = std::max(distance[kAhead], std::min(distance[kAhead - 1], distance[kAhead + 1]));
  const double safe_speed =
      std::max(kCrawl, std::sqrt(2 * kBrakingShare * grip_ * std::max(0.0, view - kMargin)));
  controls.gas = speed < safe_speed - 0.5;
  controls.brake = speed > safe_speed + 1.0;
  return Racer::ActionOf(controls);
}

}  // namespace metronome
