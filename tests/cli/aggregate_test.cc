#include "app/aggregate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "app/train_seeds.h"
#include "metronome/core/error.h"
#include "metronome/core/rng.h"

namespace metronome {
namespace {

TEST(AggregateTest, InterquartileMeansAreThoseWorkedOutByHand) {
  EXPECT_DOUBLE_EQ(InterquartileMean({7.0}), 7.0);
  EXPECT_DOUBLE_EQ(InterquartileMean({0.0, 10.0}), 5.0);
  EXPECT_DOUBLE_EQ(InterquartileMean({0.0, 3.0, 9.0}), (0.25 * 0.0 + 3.0 + 0.25 * 9.0) / 1.5);
  EXPECT_DOUBLE_EQ(InterquartileMean({0.0, 2.0, 4.0, 100.0}), 3.0);
  EXPECT_DOUBLE_EQ(InterquartileMean({1, 2, 3, 4, 5, 6, 7, 8}), 4.5);
  EXPECT_DOUBLE_EQ(InterquartileMean({1, 2, 3, 4, 5, 6, 7, 8, 9, 20}), (1.5 + 4 + 5 + 6 + 7 + 4.0) / 5.0);
  EXPECT_DOUBLE_EQ(InterquartileMean({-1000, 5, 5, 5, 5, 5, 5, 1000}), 5.0);
}

TEST(AggregateTest, NamesWhatIsThere) {
  const Aggregate all = AggregateOf({4.0, 1.0, 3.0, 2.0, 10.0});
  EXPECT_EQ(all.count, 5);
  EXPECT_DOUBLE_EQ(all.mean, 4.0);
  EXPECT_DOUBLE_EQ(all.median, 3.0);
  EXPECT_EQ(all.min, 1.0);
  EXPECT_EQ(all.max, 10.0);
  EXPECT_DOUBLE_EQ(AggregateOf({1.0, 2.0}).median, 1.5);
}

TEST(AggregateTest, EqualValuesHaveNoInterval) {
  const Aggregate all = AggregateOf({500.0, 500.0, 500.0, 500.0});
  EXPECT_EQ(all.interquartile_mean, 500.0);
  EXPECT_EQ(all.interquartile_mean_low, 500.0);
  EXPECT_EQ(all.interquartile_mean_high, 500.0);
}

TEST(AggregateTest, TheIntervalHoldsTheTruthNineteenTimesOfTwenty) {
  // Of uniform values the interquartile mean is the middle of their range.
  Rng rng(2);
  int held = 0;
  double width = 0.0;
  constexpr int kSets = 60;
  for (int set = 0; set < kSets; ++set) {
    std::vector<double> values;
    for (int i = 0; i < 30; ++i) values.push_back(rng.Uniform());
    const Aggregate all = AggregateOf(values);
    EXPECT_LE(all.interquartile_mean_low, all.interquartile_mean);
    EXPECT_GE(all.interquartile_mean_high, all.interquartile_mean);
    if (all.interquartile_mean_low <= 0.5 && all.interquartile_mean_high >= 0.5) ++held;
    width += (all.interquartile_mean_high - all.interquartile_mean_low) / kSets;
  }
  EXPECT_GE(held, 51);    // 57 expected, less four standard deviations of 1.7
  EXPECT_LT(width, 0.4);  // and not by being as wide as the range
  EXPECT_LT(held, kSets + 1);
}

TEST(AggregateTest, TheSameRunsGiveTheSameInterval) {
  const std::vector<double> values = {3.0, 8.0, 1.0, 9.0, 4.0};
  EXPECT_EQ(AggregateOf(values).interquartile_mean_low, AggregateOf(values).interquartile_mean_low);
  EXPECT_EQ(AggregateOf(values).interquartile_mean_high,
            AggregateOf({9.0, 8.0, 4.0, 3.0, 1.0}).interquartile_mean_high);
}

TEST(ParseSeedsTest, TakesRangesAndLists) {
  EXPECT_EQ(ParseSeeds("1..3"), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(ParseSeeds("7"), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(ParseSeeds("5,0,9"), (std::vector<std::int64_t>{5, 0, 9}));
  EXPECT_EQ(ParseSeeds("1..2,10..11,4"), (std::vector<std::int64_t>{1, 2, 10, 11, 4}));
  EXPECT_EQ(ParseSeeds("0..999").size(), 1000U);
}

TEST(ParseSeedsTest, RefusesWhatIsNoSetOfSeeds) {
  for (const char* text : {"", "1..", "..3", "3..1", "1,1", "1..3,2", "a", "1,", ",1", "-1", "1..1001",
                           "1...3", "1 2", "0..9223372036854775807", "99999999999999999999"}) {
    try {
      ParseSeeds(text);
      ADD_FAILURE() << "accepted \"" << text << "\"";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage) << text;
    }
  }
}

}  // namespace
}  // namespace metronome
