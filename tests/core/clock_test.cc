#include "metronome/core/clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace metronome {
namespace {

TEST(ClockTest, NeverGoesBack) {
  std::int64_t last = MonotonicNanoseconds();
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t now = MonotonicNanoseconds();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(ClockTest, CountsNanoseconds) {
  const std::int64_t start = MonotonicNanoseconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  // A sleep may last longer, never shorter.
  EXPECT_GE(MonotonicNanoseconds() - start, 2'000'000);
}

}  // namespace
}  // namespace metronome
