#include "train/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "metronome/core/rng.h"
#include "support/allocation_counter.h"

namespace metronome {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kMicrosecond = 1e3;

/// Feeds a watchdog with steps on a pretended clock.
class WatchedRun {
 public:
  explicit WatchedRun(const Watchdog::Options& options = {}) : watchdog_(options) {}

  /// One step whose phases take so many microseconds; 0 for one that does not happen.
  void Step(double game, double act, double replay, double update) {
    ++step_;
    const double phases[] = {game, act, replay, update};
    for (std::size_t i = 0; i < kPhases.size(); ++i) {
      if (phases[i] == 0.0) continue;
      const auto nanoseconds = static_cast<std::int64_t>(phases[i] * kMicrosecond);
      now_ += nanoseconds;
      if (auto message = watchdog_.Add(kPhases[i], nanoseconds, step_, now_)) messages.push_back(*message);
    }
  }
  /// Something that is no step.
  void Pause(double seconds) { now_ += static_cast<std::int64_t>(seconds * 1e9); }
  void Memory(std::int64_t bytes) {
    if (auto message = watchdog_.AddMemory(bytes, step_)) messages.push_back(*message);
  }

  std::vector<std::string> messages;

 private:
  Watchdog watchdog_;
  std::int64_t step_ = 0;
  std::int64_t now_ = 1'000'000'000;
};

TEST(WatchdogTest, TellsOnceThatAPhaseBecameSlowWithBothMedians) {
  WatchedRun run;
  for (int i = 0; i < 50'000; ++i) run.Step(1, 1, 5, 200);
  EXPECT_THAT(run.messages, testing::IsEmpty());
  for (int i = 0; i < 100'000; ++i) run.Step(1, 1, 5, 500);
  ASSERT_EQ(run.messages.size(), 1u);
  EXPECT_THAT(
      run.messages[0],
      AllOf(HasSubstr("\"update\""),
            testing::ContainsRegex("median (199|20[0-2])\\.[0-9] us at first, (49[89]|50[0-4])\\.[0-9] us")));
}

TEST(WatchdogTest, TellsOfEachPhaseByItself) {
  WatchedRun run;
  for (int i = 0; i < 50'000; ++i) run.Step(1, 1, 5, 200);
  for (int i = 0; i < 100'000; ++i) run.Step(300, 1, 400, 200);
  ASSERT_EQ(run.messages.size(), 2u);
  EXPECT_THAT(run.messages, testing::UnorderedElementsAre(HasSubstr("\"game\""), HasSubstr("\"replay\"")));
}

TEST(WatchdogTest, SlownessOfAFewSecondsIsNotTold) {
  WatchedRun run;
  for (int i = 0; i < 50'000; ++i) run.Step(1, 1, 5, 200);
  for (int episode = 0; episode < 10; ++episode) {
    for (int i = 0; i < 20'000; ++i) run.Step(1, 1, 5, 600);  // 12 s
    for (int i = 0; i < 20'000; ++i) run.Step(1, 1, 5, 200);
  }
  EXPECT_THAT(run.messages, testing::IsEmpty());
}

TEST(WatchdogTest, ASmallPhaseThatDoublesHarmsNobody) {
  // Acting costs nothing while all actions are random, and a microsecond once they are not.
  WatchedRun run;
  for (int i = 0; i < 50'000; ++i) run.Step(1, 0.1, 5, 200);
  for (int i = 0; i < 300'000; ++i) run.Step(3, 1, 12, 200);
  EXPECT_THAT(run.messages, testing::IsEmpty());
}

TEST(WatchdogTest, EvaluationsAndCheckpointsAreNoSlowSteps) {
  WatchedRun run;
  for (int i = 0; i < 300'000; ++i) {
    run.Step(1, 1, 5, 200);
    if (i % 1000 == 0) run.Pause(30.0);
  }
  EXPECT_THAT(run.messages, testing::IsEmpty());
}

TEST(WatchdogTest, TheFirstUpdatesAreNoSlowness) {
  WatchedRun run;
  for (int i = 0; i < 2'000'000; ++i) run.Step(1, 0.1, 0, 0);
  for (int i = 0; i < 200'000; ++i) run.Step(2.5, 0.4, 5, 200);  // caches that are shared from now on
  EXPECT_THAT(run.messages, testing::IsEmpty());
}

TEST(WatchdogTest, NoFalseAlarmInFiftyNoisyRuns) {
  // Times as on a shared machine: scattered by a third, one in a hundred steps ten times as long, spells of
  // some seconds at half the speed.
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    WatchedRun run;
    double speed = 1.0;
    for (int i = 0; i < 200'000; ++i) {
      if (i % 10'000 == 0) speed = rng.UniformInt(10) == 0 ? 2.2 : rng.Uniform(0.9, 1.2);
      const double stall = rng.UniformInt(100) == 0 ? 10.0 : 1.0;
      run.Step(rng.Uniform(0.5, 2.0), rng.Uniform(0.1, 1.5), rng.Uniform(4.0, 8.0),
               200 * speed * stall * rng.Uniform(0.8, 1.3));
      if (i % 500 == 0) run.Memory((100 << 20) + rng.UniformInt(2 << 20));
    }
    ASSERT_THAT(run.messages, testing::IsEmpty()) << "seed " << seed;
  }
}

TEST(WatchdogTest, TellsOnceThatMemoryGrewBeyondTheBound) {
  WatchedRun run;
  run.Memory(100 << 20);
  for (int mebibyte = 0; mebibyte <= 8; ++mebibyte) run.Memory((100 + mebibyte) << 20);
  EXPECT_THAT(run.messages, testing::IsEmpty());
  run.Memory((108 << 20) + 1);
  run.Memory(200 << 20);
  ASSERT_EQ(run.messages.size(), 1u);
  EXPECT_THAT(run.messages[0], AllOf(HasSubstr("memory"), HasSubstr("100.0 MiB"), HasSubstr("108.0 MiB")));
}

TEST(WatchdogTest, WatchingAllocatesNothing) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  Watchdog watchdog({});
  const AllocationScope scope;
  for (int i = 0; i < 100'000; ++i) {
    watchdog.Add(Phase::kUpdate, 200'000, i, std::int64_t{i} * 200'000);
    watchdog.AddMemory(1000, i);
  }
  const std::int64_t count = scope.count();
  EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace metronome
