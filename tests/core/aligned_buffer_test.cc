#include "metronome/core/aligned_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include "support/allocation_counter.h"

namespace metronome {
namespace {

static_assert(!std::is_copy_constructible_v<AlignedBuffer<float>>);
static_assert(!std::is_copy_assignable_v<AlignedBuffer<float>>);

TEST(AlignedBufferTest, StartsZeroedOnACacheLine) {
  for (const std::int64_t size : {1, 7, 64, 1001}) {
    const AlignedBuffer<std::uint8_t> buffer(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_THAT(buffer.span(), testing::Each(0));
    EXPECT_EQ(buffer.span().size(), static_cast<std::size_t>(size));
  }
}

TEST(AlignedBufferTest, HoldsWhatIsWritten) {
  AlignedBuffer<double> buffer(100);
  for (std::int64_t i = 0; i < 100; ++i) buffer[i] = static_cast<double>(i) / 3.0;
  const AlignedBuffer<double>& constant = buffer;
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(constant[i], static_cast<double>(i) / 3.0);
}

TEST(AlignedBufferTest, EmptyOnesHoldNothing) {
  const AlignedBuffer<int> none;
  EXPECT_EQ(none.size(), 0);
  EXPECT_TRUE(none.span().empty());
  const AlignedBuffer<int> zero(0);
  EXPECT_EQ(zero.size(), 0);
}

TEST(AlignedBufferTest, MovingPassesTheBlockOn) {
  AlignedBuffer<int> first(10);
  first[3] = 33;
  const int* const block = first.data();
  AlignedBuffer<int> second(std::move(first));
  EXPECT_EQ(second.data(), block);
  EXPECT_EQ(second.size(), 10);
  AlignedBuffer<int> third(5);
  third = std::move(second);
  EXPECT_EQ(third.data(), block);
  EXPECT_EQ(third[3], 33);
}

TEST(AlignedBufferTest, TakesOneBlock) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const AllocationScope scope;
  const AlignedBuffer<float> buffer(1000);
  EXPECT_EQ(scope.count(), 1);
}

TEST(AlignedBufferDeathTest, ANegativeSizeAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(AlignedBuffer<float>(-1), "check failed: size >= 0 \\(-1 against 0\\)");
}

}  // namespace
}  // namespace metronome
