#include "train/run_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "metronome/core/stop_signal.h"
#include "support/allocation_counter.h"
#include "support/temporary_folder.h"
#include "train/probe_games.h"

namespace metronome {
namespace {

class RunLoopTest : public testing::Test {
 protected:
  RunLoopTest() {
    request_.config.game.name = "cartpole";
    request_.config.game.parameters = GameParameters(FindGame("cartpole").parameters);
    request_.config.network.hidden = {16};
    request_.config.learner.batch_size = 16;
    request_.config.learner.target_update_period = 100;
    request_.config.replay = {5000, 200};
    request_.config.train.steps = 1'000'000;
    request_.config.eval.period = 0;
    request_.config.checkpoint.period = 0;
    request_.config.device.threads = 1;
    request_.config_text = "# the configuration\n";
    request_.folder = temporary_.path() / "run";
    request_.log_level = LogLevel::kWarning;
    StopSignal::Clear();
  }

  std::string Log() const { return ReadFile(request_.folder / "log.txt"); }

  /// A game that does `extra` in each step after the first `calm` ones.
  template <typename Extra>
  std::unique_ptr<Game> GameThatChanges(std::int64_t calm, Extra extra) {
    return std::make_unique<ProbeGame>(2, [=, played = std::int64_t{0}](std::int64_t step, int) mutable {
      if (++played > calm) extra();
      return StepResult{1.0f, step == 20};
    });
  }

  TemporaryFolder temporary_;
  RunRequest request_;
};

TEST_F(RunLoopTest, WholeStepsAllocateNothingOver100000OfThem) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  for (const int threads : {1, 2}) {
    request_.config.device.threads = threads;
    request_.folder = temporary_.path() / std::to_string(threads);
    RunLoop loop(request_);
    for (int step = 0; step < 1000; ++step) ASSERT_TRUE(loop.Step());
    const std::int64_t episodes_before = loop.trainer().episodes();
    const AllocationScope scope;
    for (int step = 0; step < 100'000; ++step) loop.Step();
    const std::int64_t count = scope.count();
    EXPECT_EQ(count, 0) << "game, act, add, sample, update, episode ends, rows of metrics and events; "
                        << threads << " threads";
    EXPECT_EQ(loop.trainer().steps(), 101'000);
    EXPECT_GT(loop.trainer().episodes(), episodes_before + 100);
    EXPECT_GT(loop.trainer().learner().target_syncs(), 900);
    EXPECT_EQ(loop.Finish(), 0);
    EXPECT_THAT(ReadFile(request_.folder / "log.txt"),
                testing::HasSubstr("heap blocks taken in the steps since learning began: 0"));
  }
}

TEST_F(RunLoopTest, GameThatAllocatesIsCountedInTheSummary) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  request_.config.train.steps = 1000;
  std::vector<std::unique_ptr<int>> kept;
  kept.reserve(100);
  RunLoop loop(request_, GameThatChanges(990, [&kept] { kept.push_back(std::make_unique<int>(1)); }),
               GameThatChanges(0, [] {}));
  while (loop.Step()) {
  }
  loop.Finish();
  // Ten of these, and what the probe itself takes to remember actions.
  EXPECT_THAT(Log(), testing::ContainsRegex("since learning began: 1[0-9]\n"));
}

TEST_F(RunLoopTest, WatchdogNamesThePhaseThatBecameSlow) {
  Watchdog::Options options;
  options.seconds = 0.3;
  options.steps_per_window = 50;
  options.window_seconds = 0.0;
  const auto slow = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  RunLoop loop(request_, GameThatChanges(1000, slow), GameThatChanges(0, [] {}), options);
  for (int step = 0; step < 1600; ++step) loop.Step();
  EXPECT_THAT(Log(), testing::HasSubstr("the phase \"game\" has become slow"));
}

TEST_F(RunLoopTest, WatchdogTellsOfAMemoryLeak) {
  std::vector<std::unique_ptr<std::vector<char>>> leak;
  const auto leaking = [&leak] { leak.push_back(std::make_unique<std::vector<char>>(256 * 1024, 'x')); };
  RunLoop loop(request_, GameThatChanges(1000, leaking), GameThatChanges(0, [] {}));
  for (int step = 0; step < 1100; ++step) loop.Step();  // 25 MiB
  EXPECT_THAT(Log(), testing::HasSubstr("memory has grown"));
}

TEST_F(RunLoopTest, FiftyCleanRunsRaiseNoAlarm) {
  request_.config.train.steps = 4000;
  request_.config.eval = {500, 2, {}};
  request_.config.checkpoint.period = 2000;
  for (int run = 1; run <= 50; ++run) {
    request_.config.train.seed = run;
    request_.folder = temporary_.path() / std::to_string(run);
    RunLoop loop(request_);
    while (loop.Step()) {
    }
    ASSERT_EQ(loop.Finish(), 0);
    ASSERT_THAT(ReadFile(request_.folder / "log.txt"), testing::Not(testing::HasSubstr("watchdog"))) << run;
  }
}

}  // namespace
}  // namespace metronome
