#include "metronome/core/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

#include "metronome/core/hash.h"
#include "metronome/core/rng.h"

namespace metronome {
namespace {

// Where long double has no more digits than double, the standard library's own error comes on top.
constexpr double kRelative = LDBL_MANT_DIG > 53 ? 2e-16 : 4e-16;
constexpr double kAbsolute = LDBL_MANT_DIG > 53 ? 1e-15 : 2e-15;

TEST(MathTest, SineAndCosineAreThoseOfTheStandardLibrary) {
  Rng rng(1);
  for (const double range : {1e-9, 1e-3, 1.0, 10.0, 1e3, 1e5}) {
    for (int i = 0; i < 50'000; ++i) {
      const double angle = rng.Uniform(-range, range);
      const long double sine = std::sin(static_cast<long double>(angle));
      const long double cosine = std::cos(static_cast<long double>(angle));
      const SinCosValues both = SinCos(angle);
      ASSERT_LE(std::abs(both.sin - sine), kRelative * std::abs(sine)) << angle;
      ASSERT_LE(std::abs(both.cos - cosine), kRelative * std::abs(cosine)) << angle;
      ASSERT_EQ(Sin(angle), both.sin);
      ASSERT_EQ(Cos(angle), both.cos);
    }
  }
}

TEST(MathTest, SineAndCosineAreRightNearMultiplesOfAQuarterTurn) {
  for (int quarter = -2000; quarter <= 2000; ++quarter) {
    double angle = quarter * (kPi / 2);
    for (int step = 0; step < 3; ++step) {
      const long double sine = std::sin(static_cast<long double>(angle));
      const long double cosine = std::cos(static_cast<long double>(angle));
      ASSERT_LE(std::abs(Sin(angle) - sine), kRelative * std::abs(sine)) << angle;
      ASSERT_LE(std::abs(Cos(angle) - cosine), kRelative * std::abs(cosine)) << angle;
      angle = std::nextafter(angle, 1e9);
    }
  }
}

TEST(MathTest, SineAndCosineOfKnownAngles) {
  EXPECT_EQ(Sin(0.0), 0.0);
  EXPECT_EQ(Cos(0.0), 1.0);
  EXPECT_NEAR(Sin(kPi / 6), 0.5, 1e-16);
  EXPECT_NEAR(Cos(kPi / 3), 0.5, 2e-16);
  EXPECT_EQ(Sin(kPi / 2), 1.0);
  EXPECT_EQ(Cos(kPi), -1.0);
}

TEST(MathTest, WhatIsNoAngleHasNoSine) {
  for (const double angle :
       {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(std::isnan(Sin(angle)));
    EXPECT_TRUE(std::isnan(Cos(angle)));
  }
}

TEST(MathTest, Atan2IsThatOfTheStandardLibrary) {
  Rng rng(2);
  for (int i = 0; i < 300'000; ++i) {
    const double scale = std::exp(rng.Uniform(-30.0, 30.0));
    const double y = rng.Uniform(-1.0, 1.0) * (i % 2 == 0 ? scale : 1.0);
    const double x = rng.Uniform(-1.0, 1.0);
    const long double expected = std::atan2(static_cast<long double>(y), static_cast<long double>(x));
    ASSERT_LE(std::abs(Atan2(y, x) - expected), kAbsolute) << y << ", " << x;
  }
}

TEST(MathTest, Atan2OnTheAxes) {
  EXPECT_EQ(Atan2(0.0, 0.0), 0.0);
  EXPECT_EQ(Atan2(0.0, 1.0), 0.0);
  EXPECT_EQ(Atan2(1.0, 0.0), kPi / 2);
  EXPECT_EQ(Atan2(-1.0, 0.0), -kPi / 2);
  EXPECT_EQ(Atan2(0.0, -1.0), kPi);
  EXPECT_EQ(Atan2(-0.0, -1.0), kPi) << "a zero counts as positive";
  EXPECT_EQ(Atan2(-0.0, -0.0), 0.0);
  EXPECT_NEAR(Atan2(1.0, -1.0), 3 * kPi / 4, 1e-15);
}

TEST(MathTest, TheBitsArePinned) {
  // One hash of many results: any other machine, compiler or option must give the same.
  Rng rng(3);
  StateHasher hasher;
  for (int i = 0; i < 10'000; ++i) {
    const SinCosValues values = SinCos(rng.Uniform(-100.0, 100.0));
    hasher.Add(values.sin).Add(values.cos);
    const double y = rng.Uniform(-1.0, 1.0);
    const double x = rng.Uniform(-1.0, 1.0);
    hasher.Add(Atan2(y, x));
  }
  EXPECT_EQ(hasher.value(), 13238015838284014630u);
}

}  // namespace
}  // namespace metronome
