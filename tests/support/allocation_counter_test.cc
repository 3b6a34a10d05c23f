#include "support/allocation_counter.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace metronome {
namespace {

// Keeps a compiler from leaving out an allocation that nobody looks at.
void* volatile kept = nullptr;

TEST(AllocationCounterTest, CountsNothingWhereNothingIsAllocated) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  std::vector<int> values(1000);
  const AllocationScope scope;
  for (int i = 0; i < 1000; ++i) {
    values[static_cast<std::size_t>(i)] = i;
  }
  EXPECT_EQ(scope.count(), 0);
  EXPECT_EQ(scope.bytes(), 0);
}

TEST(AllocationCounterTest, CountsEachFormOfNewOnce) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  struct alignas(64) Line {
    char bytes[64];
  };
  const AllocationScope scope;
  int* const one = new int(1);
  kept = one;
  int* const many = new int[100];
  kept = many;
  Line* const line = new Line;
  kept = line;
  int* const quiet = new (std::nothrow) int(2);
  kept = quiet;
  const std::int64_t count = scope.count();
  const std::int64_t bytes = scope.bytes();
  delete one;
  delete[] many;
  delete line;
  delete quiet;
  EXPECT_EQ(count, 4);
  EXPECT_GE(bytes, 4 + 400 + 64 + 4);
  EXPECT_EQ(scope.count(), 4) << "giving back is not taking";
}

TEST(AllocationCounterTest, CountsInsideTheStandardLibrary) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  std::vector<std::string> rows;
  const AllocationScope scope;
  rows.push_back(std::string(1000, 'x'));
  EXPECT_GE(scope.count(), 2);
  EXPECT_GE(scope.bytes(), 1000);
}

TEST(AllocationCounterTest, CountsOtherThreads) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  constexpr int kBlocks = 10'000;
  const auto allocate = [] {
    for (int i = 0; i < kBlocks; ++i) {
      int* const block = new int(i);
      kept = block;
      delete block;
    }
  };
  const AllocationScope scope;
  std::thread first(allocate);
  std::thread second(allocate);
  first.join();
  second.join();
  EXPECT_GE(scope.count(), 2 * kBlocks);
  EXPECT_LT(scope.count(), 2 * kBlocks + 20) << "the threads themselves take a few";
}

TEST(AllocationCounterTest, CountsOnlyFromItsOwnStart) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const AllocationScope outer;
  std::vector<int> first(10);
  kept = first.data();
  const AllocationScope inner;
  std::vector<int> second(10);
  kept = second.data();
  EXPECT_EQ(inner.count(), 1);
  EXPECT_EQ(outer.count(), 2);
}

#ifdef __GLIBC__
TEST(AllocationCounterTest, CountsTheFunctionsOfC) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const AllocationScope scope;
  void* block = std::malloc(10);
  kept = block;
  block = std::realloc(block, 20);
  kept = block;
  std::free(block);
  block = std::calloc(3, 10);
  kept = block;
  std::free(block);
  block = std::aligned_alloc(64, 128);
  kept = block;
  std::free(block);
  void* aligned = nullptr;
  const int error = posix_memalign(&aligned, 256, 512);
  const std::int64_t count = scope.count();
  const std::int64_t bytes = scope.bytes();
  EXPECT_EQ(error, 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 256, 0u);
  std::free(aligned);
  EXPECT_EQ(count, 5);
  EXPECT_EQ(bytes, 10 + 20 + 30 + 128 + 512);
}
#endif

}  // namespace
}  // namespace metronome
