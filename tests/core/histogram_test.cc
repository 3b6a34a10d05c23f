#include "metronome/core/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "metronome/core/rng.h"
#include "support/allocation_counter.h"

namespace metronome {
namespace {

/// The value that a share `q` of the sorted `values` does not exceed.
double SortedQuantile(const std::vector<std::int64_t>& values, double q) {
  const double wanted = std::ceil(q * static_cast<double>(values.size()));
  const auto place = static_cast<std::size_t>(std::max(wanted, 1.0)) - 1;
  return static_cast<double>(values[std::min(place, values.size() - 1)]);
}

struct Distribution {
  const char* name;
  std::function<double(Rng&)> draw;
};

void PrintTo(const Distribution& distribution, std::ostream* out) { *out << distribution.name; }

class HistogramTest : public testing::TestWithParam<Distribution> {};

TEST_P(HistogramTest, QuantilesAreThoseOfTheSortedValuesWithinABucket) {
  Rng rng(1);
  for (const int count : {1, 2, 10, 1000, 100'000}) {
    DurationHistogram histogram;
    std::vector<std::int64_t> values;
    std::int64_t total = 0;
    for (int i = 0; i < count; ++i) {
      values.push_back(static_cast<std::int64_t>(GetParam().draw(rng)));
      histogram.Add(values.back());
      total += values.back();
    }
    std::sort(values.begin(), values.end());
    EXPECT_EQ(histogram.count(), count);
    EXPECT_EQ(histogram.total_nanoseconds(), total);
    EXPECT_EQ(histogram.max_nanoseconds(), values.back());
    for (const double q : {0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0}) {
      const double expected = SortedQuantile(values, q);
      const double found = histogram.QuantileNanoseconds(q);
      EXPECT_NEAR(found, expected, expected / 64.0) << count << " values, q " << q;
      EXPECT_LE(found, static_cast<double>(values.back()));
    }
    EXPECT_EQ(histogram.QuantileNanoseconds(1.0), static_cast<double>(values.back()));
  }
}

TEST_P(HistogramTest, AMergeIsAsIfAllHadBeenAddedToOne) {
  Rng rng(2);
  DurationHistogram both;
  DurationHistogram first;
  DurationHistogram second;
  for (int i = 0; i < 10'000; ++i) {
    const auto value = static_cast<std::int64_t>(GetParam().draw(rng));
    both.Add(value);
    (i % 3 == 0 ? first : second).Add(value);
  }
  first.Merge(second);
  first.Merge(DurationHistogram());
  EXPECT_EQ(first.count(), both.count());
  EXPECT_EQ(first.total_nanoseconds(), both.total_nanoseconds());
  EXPECT_EQ(first.max_nanoseconds(), both.max_nanoseconds());
  for (double q = 0.0; q <= 1.0; q += 0.01) {
    EXPECT_EQ(first.QuantileNanoseconds(q), both.QuantileNanoseconds(q)) << q;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Distributions, HistogramTest,
    testing::Values(Distribution{"small", [](Rng& rng) { return rng.Uniform(1.0, 100.0); }},
                    Distribution{"steps", [](Rng& rng) { return rng.Uniform(90e3, 110e3); }},
                    Distribution{"allScales", [](Rng& rng) { return std::exp(rng.Uniform(0.0, 32.0)); }},
                    Distribution{"twoPeaks", [](Rng& rng) { return rng.Uniform() < 0.9 ? 120e3 : 5e9; }},
                    Distribution{"equal", [](Rng&) { return 131'071.0; }}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(DurationHistogramTest, IsRightAtPowersOfTwo) {
  for (int bits = 0; bits < 48; ++bits) {
    for (const int offset : {-1, 0, 1}) {
      const std::int64_t value = (std::int64_t{1} << bits) + offset;
      if (value < 1) continue;
      DurationHistogram histogram;
      histogram.Add(value);
      const auto expected = static_cast<double>(value);
      EXPECT_NEAR(histogram.QuantileNanoseconds(0.5), expected, expected / 64.0) << value;
    }
  }
}

TEST(DurationHistogramTest, TakesWhatIsOutsideItsRangeIntoTheOuterBuckets) {
  DurationHistogram histogram;
  histogram.Add(0);
  histogram.Add(-5);
  EXPECT_EQ(histogram.count(), 2);
  EXPECT_LE(histogram.QuantileNanoseconds(1.0), 1.0);
  const std::int64_t week = std::int64_t{7} * 24 * 3600 * 1'000'000'000;
  histogram.Add(week);
  EXPECT_EQ(histogram.count(), 3);
  EXPECT_EQ(histogram.max_nanoseconds(), week);
  EXPECT_EQ(histogram.QuantileNanoseconds(1.0), static_cast<double>(week));
  DurationHistogram endless;
  endless.Add(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(endless.count(), 1);
}

TEST(DurationHistogramTest, ClearedIsAsNew) {
  DurationHistogram histogram;
  for (int i = 1; i < 1000; ++i) histogram.Add(i * 1000);
  histogram.Clear();
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_EQ(histogram.total_nanoseconds(), 0);
  EXPECT_EQ(histogram.max_nanoseconds(), 0);
  histogram.Add(5'000'000);
  EXPECT_NEAR(histogram.QuantileNanoseconds(0.0), 5e6, 5e6 / 64.0);
  EXPECT_NEAR(histogram.QuantileNanoseconds(1.0), 5e6, 5e6 / 64.0);
  histogram.Clear();
  histogram.Clear();
  EXPECT_EQ(histogram.count(), 0);
}

TEST(DurationHistogramTest, CountsMoreThanThirtyTwoBits) {
  DurationHistogram histogram;
  histogram.Add(1000);
  for (int doubling = 0; doubling < 33; ++doubling) {
    const DurationHistogram copy = histogram;
    histogram.Merge(copy);
  }
  histogram.Add(5000);
  EXPECT_EQ(histogram.count(), (std::int64_t{1} << 33) + 1);
  EXPECT_NEAR(histogram.QuantileNanoseconds(0.5), 1000.0, 1000.0 / 64.0);
}

TEST(DurationHistogramTest, AllocatesNothing) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  DurationHistogram histogram;
  DurationHistogram other;
  double sum = 0.0;
  const AllocationScope scope;
  for (int i = 1; i < 100'000; ++i) histogram.Add(i * 17);
  other.Merge(histogram);
  sum += other.QuantileNanoseconds(0.5);
  other.Clear();
  EXPECT_EQ(scope.count(), 0) << sum;
}

TEST(DurationHistogramDeathTest, AQuantileOfNothingAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  DurationHistogram histogram;
  EXPECT_DEATH(histogram.QuantileNanoseconds(0.5), "check failed: count_ > 0");
  histogram.Add(1);
  EXPECT_DEATH(histogram.QuantileNanoseconds(1.5), "check failed");
  EXPECT_DEATH(histogram.QuantileNanoseconds(std::nan("")), "check failed");
}

}  // namespace
}  // namespace metronome
