#include "train/run_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/file_calls.h"
#include "metronome/core/error.h"
#include "metronome/core/stop_signal.h"
#include "support/allocation_counter.h"
#include "support/temporary_folder.h"
#include "train/probe_games.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

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

TEST_F(RunLoopTest, EpisodeThatEndedWithANumberThatIsNotFiniteIsSaved) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto bad_at = [nan](std::int64_t at) {
    return std::make_unique<ProbeGame>(2, [=, played = std::int64_t{0}](std::int64_t step, int) mutable {
      return StepResult{++played == at ? nan : 1.0f, step == 20};
    });
  };
  request_.config.checkpoint.period = 50;
  request_.config.eval = {100, 2, {}};
  const fs::path saved = request_.folder / "recordings" / "nonfinite.recording";
  for (const bool in_evaluation : {false, true}) {
    fs::remove_all(request_.folder);
    RunLoop loop(request_, bad_at(in_evaluation ? 1'000'000 : 327), bad_at(in_evaluation ? 33 : 1'000'000));
    try {
      while (loop.Step()) {
      }
      FAIL() << "went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kNonFinite);
      EXPECT_THAT(
          error.what(),
          testing::AllOf(testing::HasSubstr(in_evaluation ? "evaluation episode 2, step 13" : "step 327"),
                         testing::HasSubstr("reward"), testing::HasSubstr(saved.string())));
    }
    // The last action is not in it: its reward is no number.
    EXPECT_EQ(ReadRecording(saved).actions.size(), in_evaluation ? 12u : 6u);
    std::vector<std::string> faults;
    EXPECT_EQ(ReadNewestCheckpoint(request_.folder, faults).state.trainer.steps, in_evaluation ? 50 : 300)
        << "the newest checkpoint is finite";
    EXPECT_THAT(faults, testing::IsEmpty());
  }
}

/// Lets nothing be written into files of these names' ends while it lives.
class UnwritableFiles {
 public:
  explicit UnwritableFiles(std::vector<std::string> ends) {
    ends_ = std::move(ends);
    file_calls.write = [](int descriptor, const void* bytes, std::size_t count) -> ssize_t {
      const fs::path file = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor));
      for (const std::string& end : ends_) {
        if (file.string().find(end) == std::string::npos) continue;
        errno = ENOSPC;
        return -1;
      }
      return kSystemFileCalls.write(descriptor, bytes, count);
    };
  }
  ~UnwritableFiles() { file_calls = kSystemFileCalls; }

 private:
  static inline std::vector<std::string> ends_;
};

TEST_F(RunLoopTest, LogsAndTablesThatCannotBeWrittenAreToldOnceAndTheRunGoesOn) {
  if (!fs::exists("/proc/self/fd")) GTEST_SKIP() << "no /proc/self/fd here";
  request_.config.train.steps = 3000;
  request_.config.checkpoint.period = 500;
  request_.config.eval = {1000, 1, {}};
  RunLoop loop(request_);
  for (int step = 0; step < 300; ++step) loop.Step();
  {
    const UnwritableFiles full({"episodes.csv", "evals.csv", "tfevents"});
    for (int step = 0; step < 2000; ++step) ASSERT_TRUE(loop.Step());
  }
  while (loop.Step()) {
  }
  EXPECT_EQ(loop.Finish(), 0);
  const std::string log = Log();
  for (const char* name : {"episodes.csv", "evals.csv", "tfevents"}) {
    const std::size_t first = log.find(name);
    ASSERT_NE(first, std::string::npos) << name;
    EXPECT_THAT(log.substr(first), testing::HasSubstr("No space left on device; the run goes on"));
    EXPECT_EQ(log.find(name, first + 1), std::string::npos) << name << " is told more than once";
  }
  // The rows that had no room came later: every episode is there once.
  std::istringstream rows(ReadFile(request_.folder / "episodes.csv"));
  std::string row;
  std::getline(rows, row);
  std::int64_t number = 0;
  for (; std::getline(rows, row); ++number) {
    EXPECT_THAT(row, testing::ContainsRegex("^[0-9]+," + std::to_string(number + 1) + ","));
  }
  EXPECT_EQ(number, loop.trainer().episodes());
}

TEST_F(RunLoopTest, LogThatCannotBeWrittenIsToldOnTheTerminalAndTheRunGoesOn) {
  if (!fs::exists("/proc/self/fd")) GTEST_SKIP() << "no /proc/self/fd here";
  request_.config.train.steps = 1500;
  request_.config.checkpoint.period = 300;
  testing::internal::CaptureStderr();
  {
    const UnwritableFiles full({"log.txt"});
    RunLoop loop(request_);
    while (loop.Step()) {
    }
    EXPECT_EQ(loop.Finish(), 0);
  }
  const std::string told = testing::internal::GetCapturedStderr();
  const std::size_t first = told.find("log.txt: cannot write: No space left on device; the run goes on");
  ASSERT_NE(first, std::string::npos) << told;
  EXPECT_EQ(told.find("log.txt", first + 1), std::string::npos) << told;
}

TEST_F(RunLoopTest, WithOnErrorStopTheFirstFailureEndsTheRun) {
  if (!fs::exists("/proc/self/fd")) GTEST_SKIP() << "no /proc/self/fd here";
  request_.config.log.on_error = OnLogError::kStop;
  request_.config.train.steps = 3000;
  request_.config.checkpoint.period = 500;
  for (const char* name : {"episodes.csv", "tfevents", "log.txt"}) {
    fs::remove_all(request_.folder);
    RunLoop loop(request_);
    for (int step = 0; step < 600; ++step) ASSERT_TRUE(loop.Step());
    const UnwritableFiles full({name});
    try {
      while (loop.Step()) {
      }
      FAIL() << "went on without " << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kInputOutput);
      EXPECT_THAT(error.what(),
                  testing::AllOf(testing::HasSubstr(name), testing::HasSubstr("No space left")));
    }
    EXPECT_LT(loop.trainer().steps(), 1600) << name;
    std::vector<std::string> faults;
    EXPECT_GE(ReadNewestCheckpoint(request_.folder, faults).state.trainer.steps, 500);
    EXPECT_THAT(faults, testing::IsEmpty());
  }
}

/// Bytes of all files below `folder`, a file with several names once.
std::int64_t BytesBelow(const fs::path& folder) {
  std::int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    bytes += static_cast<std::int64_t>(entry.file_size() / entry.hard_link_count());
  }
  return bytes;
}

TEST_F(RunLoopTest, DiskNeedToldBeforeTheRunIsWhatTheRunTakesAtTheMost) {
  struct Case {
    std::int64_t capacity, steps, period, keep;
  };
  for (const Case& c :
       {Case{5000, 12'000, 3000, 3}, Case{400, 2000, 500, 2}, Case{300'000, 600'000, 200'000, 2}}) {
    SCOPED_TRACE(c.steps);
    fs::remove_all(request_.folder);
    request_.config.replay = {c.capacity, c.capacity};
    request_.config.train = {.steps = c.steps, .update_period = 1000};
    request_.config.checkpoint = {c.period, c.keep};
    request_.config.eval = {c.period, 1, {}};
    request_.config.log.tensorboard = false;
    std::int64_t most = 0;
    {
      RunLoop loop(request_);
      while (loop.Step()) {
        if (loop.trainer().steps() % c.period == 0) {
          most = std::max(most, BytesBelow(request_.folder / "checkpoints"));
        }
      }
      loop.Finish();
    }
    // While one more is being written there is one more.
    const std::int64_t told = MostCheckpointBytes(request_.config, MakeGame("cartpole")->spec());
    EXPECT_GE(told, most * (c.keep + 2) / (c.keep + 1) * 9 / 10);
    EXPECT_LE(told, 4 * most + 400 * 1024);
  }
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
