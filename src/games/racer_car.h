#ifndef METRONOME_GAMES_RACER_CAR_H_
#define METRONOME_GAMES_RACER_CAR_H_

#include <Eigen/Core>

namespace metronome {

/// What the driver does with a car.
struct RacerControls {
  double steering = 0.0;  ///< Where the wheel is pushed: +1 full left, 0 straight, -1 full right.
  bool gas = false;
  bool brake = false;
};

/// A car seen from above, advanced in fixed ticks. Coordinates as in RacerTrack.
///
/// Tyres can push the car with an acceleration of at most `grip`, along and across together:
///   - gas accelerates along the heading by `engine`, the brake slows it, with kPedalShare of that at most;
///   - what the pedals leave, sqrt(grip^2 - pedal^2), stops the car from going sideways. While the heading
///     turns no faster than that allows, the car goes where it points. Turned faster, it slides: it keeps a
///     sideways speed, which the tyres go on to wear down.
/// The wheel takes a moment to follow, and turns the car on a circle of kTurningRadius at full lock; at speed
/// the front tyres give in at a sideways acceleration of kFrontGrip times the grip. So full lock slides, and
/// half of it does not while the pedals are left alone. Drag grows with speed and slows all motion alike.
struct RacerCar {
  static constexpr double kTickSeconds = 1.0 / 60.0;
  static constexpr double kPedalShare = 0.8;     ///< Of the grip.
  static constexpr double kFrontGrip = 1.4;      ///< Times the grip.
  static constexpr double kTurningRadius = 5.0;  ///< m
  static constexpr double kSteeringRate = 5.0;   ///< Full locks per second.
  static constexpr double kRollingDrag = 0.04;   ///< 1/s, times speed.
  static constexpr double kAirDrag = 0.004;      ///< 1/m, times speed squared.
  static constexpr double kLength = 4.4;         ///< m; size for the eye alone: the car is on the road while
  static constexpr double kWidth = 1.9;          ///< its position, the middle of it, is.

  /// What kind of car it is.
  struct Settings {
    double grip = 11.0;   ///< m/s^2
    double engine = 8.0;  ///< m/s^2
  };

  Eigen::Vector2d position = Eigen::Vector2d::Zero();  ///< m
  Eigen::Vector2d velocity = Eigen::Vector2d::Zero();  ///< m/s
  Eigen::Vector2d forward = Eigen::Vector2d::UnitX();  ///< (cos, sin) of the heading.
  double heading = 0.0;                                ///< rad, in [-pi, pi], counter-clockwise from x.
  double steering = 0.0;                               ///< Where the wheel is, -1 to 1, positive to the left.
  double yaw_rate = 0.0;                               ///< Of the last tick, rad/s, positive to the left.

  /// Puts the car at rest, wheel straight, its nose in `direction` (length 1).
  void PlaceAt(const Eigen::Vector2d& where, const Eigen::Vector2d& direction);

  /// Advances by kTickSeconds.
  void Tick(const RacerControls& controls, const Settings& settings);

  double forward_speed() const { return velocity.dot(forward); }  ///< m/s
  double side_speed() const {
    return forward.x() * velocity.y() - forward.y() * velocity.x();
  }  ///< Leftwards.

  /// No car of this kind gets faster, m/s: where the drag equals the engine.
  static double TopSpeed(const Settings& settings);
  /// None turns faster, rad/s.
  static double TopYawRate(const Settings& settings);
};

}  // namespace metronome

#endif  // METRONOME_GAMES_RACER_CAR_H_
