#ifndef METRONOME_GAMES_RACER_H_
#define METRONOME_GAMES_RACER_H_

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "games/racer_car.h"
#include "games/racer_track.h"
#include "metronome/games/game.h"
#include "metronome/games/registry.h"

namespace metronome {

/// Rules
///   A car drives alone on a closed track, which is another for every seed: see RacerTrack, and RacerCar for
///   how it drives. It starts at rest on the start line. 60 ticks a second, 6 to a step, so 10 decisions a
///   second. Each step earns kPointsPerMeter for every metre that the car got ahead along the centre line,
///   less as many for every metre back, and `lap_bonus` when it completes a lap. A lap counts once: who goes
///   back over the start line earns nothing by crossing it again. The episode terminates when the middle of
///   the car leaves the road. The step limit is 1000, 100 seconds, in which a good driver completes three to
///   four laps.
///
/// Source
///   Our own.
///
/// Parameters
///   half_width    6    m      from the centre line to the edges of the road, 4 to 9
///   grip         11    m/s^2  greatest acceleration by the tyres, 3 to 30
///   engine        8    m/s^2  acceleration at full gas from a standstill, 2 to 20
///   ray_range   120    m      how far the distance sensors see, 30 to 300
///   lap_bonus    10    points for each lap completed, 0 to 100
///
/// Actions: pedal (none, gas, brake) times steering (none, left, right)
///   0  coast   3  gas         6  brake
///   1  left    4  gas left    7  brake left
///   2  right   5  gas right   8  brake right
///   The keys are Up for gas, Down for the brake, Left and Right.
///
/// Observation (15), float32: what sensors on the car measure, nothing of the map
///   0 .. 10  distance d to the edge, at kRayDegrees from the nose, left to right, as d / (d + 15 m)
///   11       speed along the nose, 40 m/s
///   12       speed to the left, 10 m/s: the slide
///   13       yaw rate, 2 rad/s, positive to the left
///   14       steering, -1 (right) to 1 (left)
class Racer final : public Game {
 public:
  static constexpr int kNumRays = 11;
  /// Of the rays, from the nose to the left.
  static constexpr std::array<double, kNumRays> kRayDegrees = {90,  60,  35,  20,  10, 0,
                                                               -10, -20, -35, -60, -90};
  static constexpr int kSpeed = kNumRays;  ///< Indices of the observation.
  static constexpr int kSideSpeed = kNumRays + 1;
  static constexpr int kYawRate = kNumRays + 2;
  static constexpr int kSteering = kNumRays + 3;
  static constexpr int kNumFeatures = kNumRays + 4;
  static constexpr double kRayScale = 15.0;        ///< A ray of this many metres reads 1/2.
  static constexpr double kSpeedScale = 40.0;      ///< m/s that read 1.
  static constexpr double kSideSpeedScale = 10.0;  ///< m/s
  static constexpr double kYawRateScale = 2.0;     ///< rad/s

  static constexpr int kNumActions = 9;
  static constexpr int kTicksPerStep = 6;
  static constexpr std::int64_t kMaxEpisodeSteps = 1000;
  static constexpr double kPointsPerMeter = 0.2;

  explicit Racer(const GameParameters& parameters);

  const GameSpec& spec() const override { return spec_; }
  void Reset(std::uint64_t seed) override;
  StepResult Step(int action) override;
  void WriteObservation(std::span<float> out) const override;
  std::uint64_t StateHash() const override;
  void Draw(DrawList& out) const override;
  void DrawOverlay(DrawList& out) const override;
  void DrawSenses(DrawList& out) const override;  ///< The distance rays.
  std::optional<CloseUp> close_up() const override;

  static RacerControls ControlsOf(int action);
  static int ActionOf(const RacerControls& controls);

  const RacerTrack& track() const { return track_; }
  const RacerCar& car() const { return car_; }
  /// Way along the centre line since the start, laps included, m; negative behind the start.
  double progress() const { return progress_; }
  std::int64_t laps() const { return laps_; }  ///< Completed.

  /// For tests: goes on with `car`, which is on the road `along` metres after the start line, as in an
  /// episode that has not ended.
  void SetCar(const RacerCar& car, double along);

 private:
  // Marks of both rear wheels from one step to the next.
  struct Skid {
    std::array<DrawPoint, 2> from;
    std::array<DrawPoint, 2> to;
  };
  static constexpr int kMaxSkids = 256;

  double ProgressNow() const;
  void RecordSkid(const RacerCar& before);

  GameSpec spec_;
  RacerCar::Settings settings_;
  double ray_range_;
  double lap_bonus_;
  std::array<Eigen::Vector2d, kNumRays> rays_;  // (cos, sin) of kRayDegrees

  RacerTrack track_;
  RacerCar car_;
  RacerPlace place_;
  double progress_ = 0.0;
  std::int64_t laps_ = 0;
  std::int64_t ticks_ = 0;  // since Reset(), for the clock in the picture
  bool playing_ = false;    // Reset() was called, and the car has not left the road since

  // For the picture only: whether the brake lights are on, and the last marks, a ring.
  bool braking_ = false;
  std::array<Skid, kMaxSkids> skids_;
  std::int64_t num_skids_ = 0;  // ever made in this episode
};

GameInfo RacerInfo();

}  // namespace metronome

#endif  // METRONOME_GAMES_RACER_H_
