#include "train/flatness.h"

#include <gtest/gtest.h>

#include "support/allocation_counter.h"
#include "train/csv_row.h"

namespace metronome {
namespace {

constexpr std::int64_t kMicrosecond = 1000;

TEST(FlatnessTest, SaysNothingOfTooFewSteps) {
  FlatnessMonitor monitor;
  for (int step = 0; step < 9; ++step) monitor.AddStep(kMicrosecond);
  EXPECT_FALSE(monitor.report().has_value());
}

TEST(FlatnessTest, SteadyStepsHaveTheRatioOneWheneverTheRunEnds) {
  for (const int steps : {20, 79, 80, 81, 160, 999, 12'345, 100'000}) {
    FlatnessMonitor monitor;
    for (int step = 0; step < steps; ++step) {
      monitor.AddMemory(1'000'000);
      monitor.AddStep(200 * kMicrosecond);
    }
    const auto report = monitor.report();
    ASSERT_TRUE(report.has_value()) << steps;
    EXPECT_NEAR(report->first.median_step_us, 200.0, 2.0) << steps;
    EXPECT_DOUBLE_EQ(report->step_ratio, 1.0) << steps;
    EXPECT_DOUBLE_EQ(report->memory_ratio, 1.0) << steps;
    EXPECT_EQ(report->memory_growth_bytes, 0) << steps;
  }
}

TEST(FlatnessTest, FirstAndLastTenthAreToldApart) {
  // Steps take 100 us in the first tenth, 900 us in the middle and 150 us in the last; memory grows all
  // along.
  const int steps = 80'000;
  FlatnessMonitor monitor;
  for (int step = 0; step < steps; ++step) {
    monitor.AddMemory(1'000'000 + step);
    monitor.AddStep((step < steps / 10 ? 100 : step < steps * 9 / 10 ? 900 : 150) * kMicrosecond);
  }
  const auto report = monitor.report();
  ASSERT_TRUE(report.has_value());
  EXPECT_NEAR(report->first.median_step_us, 100.0, 1.0);
  EXPECT_NEAR(report->last.median_step_us, 150.0, 1.5);
  EXPECT_NEAR(report->step_ratio, 1.5, 0.02);
  EXPECT_NEAR(static_cast<double>(report->first.resident_bytes), 1'000'000 + steps / 10, steps / 50);
  EXPECT_NEAR(static_cast<double>(report->last.resident_bytes), 1'000'000 + steps, steps / 50);
  EXPECT_NEAR(static_cast<double>(report->memory_growth_bytes), 0.9 * steps, steps / 25);
}

TEST(FlatnessTest, AddingAllocatesNothing) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  FlatnessMonitor monitor;
  const AllocationScope scope;
  for (int step = 0; step < 10'000; ++step) {
    monitor.AddStep(step);
    monitor.AddMemory(step);
  }
  const std::int64_t count = scope.count();
  EXPECT_EQ(count, 0);
}

TEST(CsvRowTest, WritesNumbersAndLeavesWhatDoesNotExistEmpty) {
  CsvRow row;
  row.Add(std::int64_t{-3})
      .Add(0.1)
      .Add(std::optional<double>())
      .Add(std::string_view("text"))
      .Add(2.0 / 3.0, 3)
      .Add(std::optional<double>(500.0));
  EXPECT_EQ(row.Finish(), "-3,0.1,,text,0.667,500\n");
}

TEST(CsvRowTest, AFirstEmptyFieldIsStillAField) {
  CsvRow row;
  row.Add(std::optional<double>()).Add(std::int64_t{7});
  EXPECT_EQ(row.Finish(), ",7\n");
}

}  // namespace
}  // namespace metronome
