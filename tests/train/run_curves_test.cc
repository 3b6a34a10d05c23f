#include "train/run_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/allocation_counter.h"

namespace metronome {
namespace {

TEST(QSamplesTest, KeepsAllWhileThereAreFew) {
  QSamples samples(2);
  EXPECT_TRUE(samples.values(0).empty());
  for (int i = 0; i < 3; ++i) {
    const std::vector<float> q = {1.0f * static_cast<float>(i), -1.0f};
    samples.Add(q);
  }
  EXPECT_THAT(samples.values(0), testing::ElementsAre(0.0f, 1.0f, 2.0f));
  EXPECT_THAT(samples.values(1), testing::ElementsAre(-1.0f, -1.0f, -1.0f));
  samples.Clear();
  EXPECT_TRUE(samples.values(1).empty());
}

TEST(QSamplesTest, OfManyKeepsEverySecondFourthAndSoOn) {
  for (const std::int64_t decisions : {4096, 4097, 8192, 8193, 30'000, 100'000}) {
    QSamples samples(3);
    for (std::int64_t i = 0; i < decisions; ++i) {
      const auto value = static_cast<float>(i);
      const std::vector<float> q = {value, 2.0f * value, 3.0f * value};
      samples.Add(q);
    }
    std::int64_t period = 1;
    while ((decisions + period - 1) / period > QSamples::kMost) period *= 2;
    std::vector<float> expected;
    for (std::int64_t i = 0; i < decisions; i += period) expected.push_back(3.0f * static_cast<float>(i));
    EXPECT_THAT(samples.values(2), testing::ElementsAreArray(expected)) << decisions;
    EXPECT_EQ(samples.values(0).size(), expected.size());
  }
}

TEST(QSamplesTest, AddingAllocatesNothing) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  QSamples samples(4);
  const std::vector<float> q = {1.0f, 2.0f, 3.0f, 4.0f};
  const AllocationScope scope;
  for (int i = 0; i < 20'000; ++i) samples.Add(q);
  EXPECT_EQ(scope.count(), 0);
}

}  // namespace
}  // namespace metronome
