#ifndef METRONOME_CORE_MATH_H_
#define METRONOME_CORE_MATH_H_

namespace metronome {

/// The functions below give the same bits on every machine and with every compiler and standard library,
/// which std::sin and its kin do not promise: only additions, multiplications and divisions of IEEE doubles,
/// in a fixed order, never fused. (std::sqrt, std::floor and std::abs are exact everywhere and need no
/// stand-in.)

inline constexpr double kPi = 0x1.921fb54442d18p+1;  // 3.14159265358979..., the double nearest to pi

struct SinCosValues {
  double sin = 0.0;
  double cos = 0.0;
};

/// Sine and cosine of `angle` (rad), together little dearer than one of them. The error of each is below
/// 2e-16 times the result; NaN for a NaN or an infinity.  REQUIRES (checked in debug builds): |angle| <= 1e5
/// or not finite.
SinCosValues SinCos(double angle);
double Sin(double angle);
double Cos(double angle);

/// The angle (rad, in [-pi, pi]) from the positive x axis to the point (x, y), within 1e-15; 0 at the origin.
/// A zero counts as positive whatever its sign.  REQUIRES: both finite.
double Atan2(double y, double x);

}  // namespace metronome

#endif  // METRONOME_CORE_MATH_H_
