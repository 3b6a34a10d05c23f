#include "learner/worker_team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/allocation_counter.h"

namespace metronome {
namespace {

TEST(WorkerTeamTest, RunsTheJobOnceInEachThread) {
  for (const int size : {1, 2, 3, 5}) {
    WorkerTeam team(size);
    for (int job = 0; job < 100; ++job) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(size));
      team.Run([&](int index) { ++calls[static_cast<std::size_t>(index)]; });
      for (const std::atomic<int>& count : calls)
        ASSERT_EQ(count.load(), 1) << size << " threads, job " << job;
    }
  }
}

TEST(WorkerTeamTest, NobodyPassesABarrierBeforeAllHaveReachedIt) {
  WorkerTeam team(3);
  std::atomic<int> reached{0};
  std::atomic<int> early{0};
  for (int job = 0; job < 2000; ++job) {
    reached = 0;
    team.Run([&](int) {
      ++reached;
      team.Barrier();
      if (reached.load() != 3) ++early;
      team.Barrier();
      ++reached;
      team.Barrier();
      if (reached.load() != 6) ++early;
    });
  }
  EXPECT_EQ(early.load(), 0);
}

TEST(WorkerTeamTest, WakesUpAfterALongRest) {
  WorkerTeam team(2);
  std::atomic<int> calls{0};
  for (int job = 0; job < 5; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // far past spinning and yielding
    team.Run([&](int) { ++calls; });
  }
  EXPECT_EQ(calls.load(), 10);
}

TEST(WorkerTeamTest, AllocatesNothingInRun) {
  WorkerTeam team(2);
  std::atomic<int> calls{0};
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const AllocationScope scope;
  for (int job = 0; job < 1000; ++job) team.Run([&](int) { ++calls; });
  const std::int64_t count = scope.count();
  EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace metronome
