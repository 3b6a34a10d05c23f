#include "games/racer.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "games/racer_driver.h"
#include "metronome/core/check.h"
#include "metronome/core/hash.h"
#include "metronome/core/math.h"

namespace metronome {
namespace {

// The tyres leave a mark where the car goes sideways faster than this, m/s.
constexpr double kSkidSpeed = 0.8;

GameSpec MakeSpec(const RacerCar::Settings& settings) {
  GameSpec spec;
  spec.name = "racer";
  spec.actions = {{"coast", {}},
                  {"left", {"Left"}},
                  {"right", {"Right"}},
                  {"gas", {"Up"}},
                  {"gas left", {"Up", "Left"}},
                  {"gas right", {"Up", "Right"}},
                  {"brake", {"Down"}},
                  {"brake left", {"Down", "Left"}},
                  {"brake right", {"Down", "Right"}}};
  spec.observation.type = ElementType::kFloat32;
  spec.observation.shape = {Racer::kNumFeatures};
  for (const double degrees : Racer::kRayDegrees) {
    const int whole = static_cast<int>(std::abs(degrees));
    const std::string where = degrees == 0.0  ? "ahead"
                              : degrees > 0.0 ? std::to_string(whole) + " degrees left"
                                              : std::to_string(whole) + " degrees right";
    spec.observation.features.push_back({"distance to the edge " + where + ", d / (d + 15 m)", 0.0, 1.0});
  }
  const auto add = [&spec](const char* name, double top, double scale) {
    constexpr double kRounding = 1.0001;  // of the arithmetic, and to float
    spec.observation.features.push_back({name, -kRounding * top / scale, kRounding * top / scale});
  };
  add("speed along the nose, 40 m/s", RacerCar::TopSpeed(settings), Racer::kSpeedScale);
  add("speed to the left, 10 m/s", RacerCar::TopSpeed(settings), Racer::kSideSpeedScale);
  add("yaw rate to the left, 2 rad/s", RacerCar::TopYawRate(settings), Racer::kYawRateScale);
  spec.observation.features.push_back({"steering to the left, full lock", -1.0, 1.0});
  spec.tick_rate_hz = 1.0 / RacerCar::kTickSeconds;
  spec.ticks_per_step = Racer::kTicksPerStep;
  spec.default_max_episode_steps = Racer::kMaxEpisodeSteps;
  spec.draw_width = RacerTrack::kWidth;
  spec.draw_height = RacerTrack::kHeight;
  return spec;
}

}  // namespace

Racer::Racer(const GameParameters& parameters)
    : settings_{.grip = parameters.GetDouble("grip"), .engine = parameters.GetDouble("engine")},
      ray_range_(parameters.GetDouble("ray_range")),
      lap_bonus_(parameters.GetDouble("lap_bonus")),
      track_(parameters.GetDouble("half_width")) {
  spec_ = MakeSpec(settings_);
  for (std::size_t ray = 0; ray < rays_.size(); ++ray) {
    const SinCosValues at = SinCos(kRayDegrees[ray] * (kPi / 180.0));
    rays_[ray] = Eigen::Vector2d(at.cos, at.sin);
  }
}

void Racer::Reset(std::uint64_t seed) {
  track_.Generate(seed);
  const RacerPiece& first = track_.pieces().front();
  car_.PlaceAt(first.begin, first.begin_direction);
  place_ = RacerPlace();
  progress_ = 0.0;
  laps_ = 0;
  ticks_ = 0;
  braking_ = false;
  num_skids_ = 0;
  playing_ = true;
}

RacerControls Racer::ControlsOf(int action) {
  const int pedal = action / 3;
  const int wheel = action % 3;
  return {.steering = wheel == 1 ? 1.0 : (wheel == 2 ? -1.0 : 0.0), .gas = pedal == 1, .brake = pedal == 2};
}

int Racer::ActionOf(const RacerControls& controls) {
  const int pedal = controls.brake ? 2 : (controls.gas ? 1 : 0);
  const int wheel = controls.steering > 0.0 ? 1 : (controls.steering < 0.0 ? 2 : 0);
  return 3 * pedal + wheel;
}

double Racer::ProgressNow() const {
  return static_cast<double>(place_.lap) * track_.length() + track_.Along(place_.piece, car_.position);
}

StepResult Racer::Step(int action) {
  METRONOME_CHECK(playing_);
  METRONOME_CHECK_GE(action, 0);
  METRONOME_CHECK_LT(action, kNumActions);
  const RacerControls controls = ControlsOf(action);
  const RacerCar before = car_;
  StepResult result;
  for (int tick = 0; tick < kTicksPerStep && !result.terminated; ++tick) {
    car_.Tick(controls, settings_);
    ++ticks_;
    track_.Follow(car_.position, place_);
    result.terminated = std::abs(track_.Across(place_.piece, car_.position)) > track_.half_width();
  }
  const double progress = ProgressNow();
  double points = kPointsPerMeter * (progress - progress_);
  progress_ = progress;
  // Completed for the first time only, so crossing the line to and fro earns nothing.
  if (place_.lap > laps_) {
    laps_ = place_.lap;
    points += lap_bonus_;
  }
  result.reward = static_cast<float>(points);
  playing_ = !result.terminated;
  braking_ = controls.brake;
  if (std::abs(car_.side_speed()) > kSkidSpeed) RecordSkid(before);
  return result;
}

void Racer::WriteObservation(std::span<float> out) const {
  METRONOME_CHECK_EQ(out.size(), static_cast<std::size_t>(kNumFeatures));
  const Eigen::Vector2d forward = car_.forward;
  for (std::size_t ray = 0; ray < rays_.size(); ++ray) {
    const Eigen::Vector2d direction(forward.x() * rays_[ray].x() - forward.y() * rays_[ray].y(),
                                    forward.y() * rays_[ray].x() + forward.x() * rays_[ray].y());
    const double distance = track_.CastRay(place_.piece, car_.position, direction, ray_range_);
    out[ray] = static_cast<float>(distance / (distance + kRayScale));
  }
  out[kSpeed] = static_cast<float>(car_.forward_speed() / kSpeedScale);
  out[kSideSpeed] = static_cast<float>(car_.side_speed() / kSideSpeedScale);
  out[kYawRate] = static_cast<float>(car_.yaw_rate / kYawRateScale);
  out[kSteering] = static_cast<float>(car_.steering);
}

std::uint64_t Racer::StateHash() const {
  return StateHasher()
      .Add(track_.hash())
      .Add(settings_.grip)
      .Add(settings_.engine)
      .Add(lap_bonus_)
      .Add(car_.position.x())
      .Add(car_.position.y())
      .Add(car_.velocity.x())
      .Add(car_.velocity.y())
      .Add(car_.heading)
      .Add(car_.steering)
      .Add(car_.yaw_rate)
      .Add(place_.piece)
      .Add(place_.lap)
      .Add(progress_)
      .Add(laps_)
      .Add(ticks_)
      .Add(playing_)
      .value();
}

void Racer::SetCar(const RacerCar& car, double along) {
  METRONOME_CHECK(along >= 0.0 && along < track_.length());
  car_ = car;
  place_ = RacerPlace();
  while (place_.piece + 1 < static_cast<int>(track_.pieces().size()) &&
         track_.pieces()[static_cast<std::size_t>(place_.piece) + 1].start <= along) {
    ++place_.piece;
  }
  track_.Follow(car.position, place_);
  progress_ = ProgressNow();
  laps_ = 0;
  ticks_ = 0;
  braking_ = false;
  num_skids_ = 0;
  playing_ = true;
}

GameInfo RacerInfo() {
  GameInfo info;
  info.name = "racer";
  info.summary = "Drive a car around a track that is new in every episode, fast, and stay on the road";
  info.parameters = {{.name = "half_width",
                      .default_value = 6.0,
                      .low = RacerTrack::kMinHalfWidth,
                      .high = RacerTrack::kMaxHalfWidth,
                      .unit = "m",
                      .meaning = "from the middle of the road to its edges"},
                     {.name = "grip",
                      .default_value = 11.0,
                      .low = 3.0,
                      .high = 30.0,
                      .unit = "m/s^2",
                      .meaning = "greatest acceleration that the tyres give, in all directions together"},
                     {.name = "engine",
                      .default_value = 8.0,
                      .low = 2.0,
                      .high = 20.0,
                      .unit = "m/s^2",
                      .meaning = "acceleration at full gas from a standstill"},
                     {.name = "ray_range",
                      .default_value = 120.0,
                      .low = 30.0,
                      .high = 300.0,
                      .unit = "m",
                      .meaning = "how far the distance sensors see"},
                     {.name = "lap_bonus",
                      .default_value = 10.0,
                      .low = 0.0,
                      .high = 100.0,
                      .unit = "points",
                      .meaning = "earned by each lap completed; a metre earns 0.2"}};
  info.make = [](const GameParameters& parameters) -> std::unique_ptr<Game> {
    return std::make_unique<Racer>(parameters);
  };
  info.make_scripted_policy = [](const GameParameters& parameters) -> std::unique_ptr<ScriptedPolicy> {
    return std::make_unique<RacerDriver>(parameters.GetDouble("grip"));
  };
  return info;
}

}  // namespace metronome
