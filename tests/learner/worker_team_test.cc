#include "learner/worker_team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#if defined(__linux__)
#include <sched.h>
#endif

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "support/allocation_counter.h"

namespace metronome {
namespace {

TEST(WorkerTeamTest, DoesEachPartOnceAndReturnsWhenAllAreDone) {
  for (const int size : {1, 2, 3, 5}) {
    WorkerTeam team(size);
    for (int job = 0; job < 500; ++job) {
      const std::int64_t parts = job % 7;
      std::vector<std::atomic<int>> calls(7);
      team.ForEach(parts, [&](std::int64_t part) { ++calls[static_cast<std::size_t>(part)]; });
      for (std::int64_t part = 0; part < 7; ++part) {
        ASSERT_EQ(calls[static_cast<std::size_t>(part)].load(), part < parts ? 1 : 0)
            << size << " threads, job " << job << ", part " << part;
      }
    }
  }
}

TEST(WorkerTeamTest, WhatAJobWroteTheNextOneReads) {
  // Each job reads its neighbours' results of the job before: a team that let jobs overlap would read old
  // ones.
  WorkerTeam team(3);
  constexpr std::int64_t kParts = 16;
  std::vector<std::int64_t> left(kParts), right(kParts);
  for (std::int64_t round = 1; round <= 20'000; ++round) {
    team.ForEach(kParts,
                 [&](std::int64_t part) { left[static_cast<std::size_t>(part)] = round * 100 + part; });
    team.ForEach(kParts, [&](std::int64_t part) {
      right[static_cast<std::size_t>(part)] = left[static_cast<std::size_t>((part + 7) % kParts)];
    });
    for (std::int64_t part = 0; part < kParts; ++part) {
      ASSERT_EQ(right[static_cast<std::size_t>(part)], round * 100 + (part + 7) % kParts) << round;
    }
  }
}

TEST(WorkerTeamTest, SharesTheWork) {
  WorkerTeam team(2);
  std::atomic<int> others{0};
  const std::thread::id caller = std::this_thread::get_id();
  // Parts of a millisecond: the second thread must come in for some of them, whatever else the machine does.
  for (int job = 0; job < 50; ++job) {
    team.ForEach(8, [&](std::int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (std::this_thread::get_id() != caller) ++others;
    });
  }
  EXPECT_GT(others.load(), 20);
}

TEST(WorkerTeamTest, AThreadThatIsHeldUpDelaysNothingButItsPart) {
  // One thread is stuck in part 0; the rest of the parts must be done by the other meanwhile.
  WorkerTeam team(2);
  std::atomic<int> done{0};
  std::atomic<bool> saw_all_others{false};
  team.ForEach(32, [&](std::int64_t part) {
    if (part != 0) {
      ++done;
      return;
    }
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (done.load() < 31 && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
    saw_all_others = done.load() == 31;
  });
  EXPECT_TRUE(saw_all_others.load());
}

TEST(WorkerTeamTest, WakesUpAfterALongRest) {
  WorkerTeam team(2);
  std::atomic<int> calls{0};
  for (int job = 0; job < 5; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // far past spinning and yielding
    team.ForEach(3, [&](std::int64_t) { ++calls; });
  }
  EXPECT_EQ(calls.load(), 15);
}

#if defined(__linux__)
TEST(WorkerTeamTest, LeavesTheCallersCoreToTheCaller) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "there is one core alone";
  WorkerTeam team(2);
  // The caller goes wherever the other thread is, again and again; that one must not stay there.
  int shared = 0;
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> core{-1};
    const std::thread::id caller = std::this_thread::get_id();
    const auto look = [&](std::int64_t) {
      if (std::this_thread::get_id() != caller) core = sched_getcpu();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    };
    team.ForEach(4, look);
    if (core.load() < 0) continue;
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(static_cast<std::size_t>(core.load()), &there);
    ASSERT_EQ(sched_setaffinity(0, sizeof(there), &there), 0);
    const int callers = core.load();
    for (int job = 0; job < 5; ++job) {
      core = -1;
      team.ForEach(4, look);
    }
    shared += core.load() == callers ? 1 : 0;
    ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  }
  EXPECT_LT(shared, kRounds / 4);
}
#endif

TEST(WorkerTeamTest, AllocatesNothing) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  WorkerTeam team(2);
  std::atomic<int> calls{0};
  const AllocationScope scope;
  for (int job = 0; job < 1000; ++job) team.ForEach(5, [&](std::int64_t) { ++calls; });
  const std::int64_t count = scope.count();
  EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace metronome
