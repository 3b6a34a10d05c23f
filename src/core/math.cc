#include "metronome/core/math.h"

#include <cmath>
#include <cstdint>

#include "metronome/core/check.h"

// This file must be compiled with -ffp-contract=off: a fused multiply-add rounds once where two operations
// round twice.

namespace metronome {
namespace {

// pi/2 as a sum of three doubles; the first two have 33 significant bits at most, so that their products with
// a whole number below 2^20 are exact (Cody and Waite 1980, chapter 8).
constexpr double kHalfPiHigh = 0x1.921fb544p+0;
constexpr double kHalfPiMiddle = 0x1.0b4611a6p-34;
constexpr double kHalfPiLow = 0x1.3198a2e037073p-69;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
// Adding and subtracting it rounds a small double to the nearest whole number.
constexpr double kRounder = 0x1.8p52;

// sin x on [-pi/4, pi/4], x = angle + error, |error| tiny: Taylor to x^17; the next term is below 1e-19.
double SinKernel(double x, double error) {
  const double z = x * x;
  const double p =
      z * (1.0 / 120 +
           z * (-1.0 / 5040 +
                z * (1.0 / 362880 + z * (-1.0 / 39916800 +
                                         z * (1.0 / 6227020800.0 + z * (-1.0 / 1307674368000.0 +
                                                                        z * (1.0 / 355687428096000.0)))))));
  return x + (x * z * (-1.0 / 6 + p) + error);
}

// cos x likewise, to x^18. 1 - z/2 is rounded, and its rounding error taken back into the small part.
double CosKernel(double x, double error) {
  const double z = x * x;
  const double p =
      z * z *
      (1.0 / 24 +
       z * (-1.0 / 720 +
            z * (1.0 / 40320 + z * (-1.0 / 3628800 +
                                    z * (1.0 / 479001600 + z * (-1.0 / 87178291200.0 +
                                                                z * (1.0 / 20922789888000.0 +
                                                                     z * (-1.0 / 6402373705728000.0))))))));
  const double half = 0.5 * z;
  const double high = 1.0 - half;
  return high + (((1.0 - high) - half) + (p - x * error));
}

// atan t on [-tan(pi/16), tan(pi/16)]: Taylor to t^21; the next term is below 4e-18.
double AtanKernel(double t) {
  const double z = t * t;
  const double p =
      z * (1.0 / 3 -
           z * (1.0 / 5 -
                z * (1.0 / 7 -
                     z * (1.0 / 9 -
                          z * (1.0 / 11 -
                               z * (1.0 / 13 -
                                    z * (1.0 / 15 - z * (1.0 / 17 - z * (1.0 / 19 - z * (1.0 / 21))))))))));
  return t - t * p;
}

}  // namespace

SinCosValues SinCos(double angle) {
  METRONOME_DCHECK(!std::isfinite(angle) || std::abs(angle) <= 1e5);
  const double rounded = angle * kTwoOverPi + kRounder;
  const double quarters = rounded - kRounder;  // quarter turns
  // angle - quarters * pi/2 as x + error. The first difference is exact.
  const double first = angle - quarters * kHalfPiHigh;
  const double middle = quarters * kHalfPiMiddle;
  const double reduced = first - middle;
  const double low = ((first - reduced) - middle) - quarters * kHalfPiLow;
  const double x = reduced + low;
  const double error = (reduced - x) + low;

  const double s = SinKernel(x, error);
  const double c = CosKernel(x, error);
  if (!(quarters >= -0x1p30 && quarters <= 0x1p30)) {
    return {s, c};  // NaN, or a broken contract
  }
  switch (static_cast<std::uint32_t>(static_cast<std::int32_t>(quarters)) & 3u) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

double Sin(double angle) { return SinCos(angle).sin; }

double Cos(double angle) { return SinCos(angle).cos; }

double Atan2(double y, double x) {
  const double ax = std::abs(x);
  const double ay = std::abs(y);
  if (ax == 0.0 && ay == 0.0) {
    return 0.0;
  }
  // The angle of (u, v), 0 <= v <= u, is that of (u, v) turned back by the middle of its eighth or sixteenth:
  // atan(v/u) = atan(m) + atan((v - m u) / (u + m v)).
  const bool steep = ay > ax;
  const double u = steep ? ay : ax;
  const double v = steep ? ax : ay;
  constexpr double kTanSixteenth = 0x1.975f5e0553158p-3;        // tan(pi/16) = 0.19891...
  constexpr double kTanThreeSixteenths = 0x1.561b82ab7f990p-1;  // tan(3 pi/16) = 0.66817...
  constexpr double kTanEighth = 0x1.a827999fcef32p-2;           // tan(pi/8) = 0.41421...
  double angle;
  if (v <= kTanSixteenth * u) {
    angle = AtanKernel(v / u);
  } else if (v <= kTanThreeSixteenths * u) {
    angle = kPi / 8 + AtanKernel((v - kTanEighth * u) / (u + kTanEighth * v));
  } else {
    angle = kPi / 4 + AtanKernel((v - u) / (u + v));
  }
  if (steep) {
    angle = kPi / 2 - angle;
  }
  if (x < 0.0) {
    angle = kPi - angle;
  }
  return y < 0.0 ? -angle : angle;
}

}  // namespace metronome
