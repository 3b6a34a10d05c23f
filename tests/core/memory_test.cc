#include "metronome/core/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "support/allocation_counter.h"

namespace metronome {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

TEST(MemoryTest, ATouchedBlockShowsAndShowsNoMoreWhenGivenBack) {
  constexpr std::int64_t kBytes = 64 * kMiB;
  ResidentBytes();
  const std::int64_t before = ResidentBytes();
  EXPECT_GT(before, 0);
  void* const block = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  EXPECT_LT(ResidentBytes() - before, 8 * kMiB) << "asked for, but not touched yet";
  std::memset(block, 1, kBytes);
  const std::int64_t touched = ResidentBytes();
  EXPECT_GE(touched - before, kBytes - 2 * kMiB);
  EXPECT_LE(touched - before, kBytes + 16 * kMiB);
  munmap(block, kBytes);
  EXPECT_LE(ResidentBytes() - before, 16 * kMiB);
}

TEST(MemoryTest, TheGaugeAllocatesNothingAfterItsFirstCall) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  std::int64_t sum = ResidentBytes();
  const AllocationScope scope;
  for (int i = 0; i < 1000; ++i) sum += ResidentBytes();
  EXPECT_EQ(scope.count(), 0) << sum;
}

TEST(MemoryTest, WhatIsAvailableIsAPlausibleAmount) {
  const std::optional<std::int64_t> available = AvailableMemoryBytes();
#if defined(__linux__) || defined(__APPLE__)
  ASSERT_TRUE(available.has_value());
#else
  if (!available) GTEST_SKIP() << "this system doesn't say";
#endif
  EXPECT_GT(*available, kMiB);
  EXPECT_LT(*available, std::int64_t{1} << 50);
}

TEST(MemoryTest, BytesAreFormattedInTheUnitThatFits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(12), "12 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.0 KiB");
  EXPECT_EQ(FormatBytes(640 * 1024), "640.0 KiB");
  EXPECT_EQ(FormatBytes(3 * kMiB / 2), "1.5 MiB");
  EXPECT_EQ(FormatBytes(3 * 1024 * kMiB / 2), "1.5 GiB");
  EXPECT_EQ(FormatBytes(std::int64_t{5} << 40), "5.0 TiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<std::int64_t>::max()), "8.0 EiB");
  EXPECT_EQ(FormatBytes(-2048), "-2.0 KiB");
}

}  // namespace
}  // namespace metronome
