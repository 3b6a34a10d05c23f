// Whole runs on a disk that fails, and in a process that ends, at each system call of a save in turn.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/stop_signal.h"
#include "metronome/games/recording.h"
#include "metronome/train/checkpoint.h"
#include "metronome/train/run.h"
#include "support/faulty_files.h"
#include "support/temporary_folder.h"
#include "train/run_difference.h"
#include "train/run_loop.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;
using Fault = FaultyFiles::Fault;

/// Where there are folders in memory, what a test writes need not wait for a disk.
struct InMemory {
  InMemory() {
    if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
  }
};

class FaultTest : public testing::Test {
 protected:
  FaultTest() {
    request_.config.game = MakeGameConfig("cartpole");
    request_.config.network.hidden = {4};
    request_.config.learner.batch_size = 4;
    request_.config.learner.target_update_period = 10;
    request_.config.replay = {60, 20};
    request_.config.train.steps = 150;
    request_.config.eval = {75, 1, {}};
    request_.config.checkpoint = {50, 2};
    request_.config.device.threads = 1;
    request_.config_text = "# the configuration\n";
    request_.log_level = LogLevel::kWarning;
    StopSignal::Clear();
    reference_ = Folder("reference");
    request_.folder = reference_;
    EXPECT_EQ(RunTraining(request_), 0);
    // A run that was stopped with a checkpoint at step 50 and at step 60.
    base_ = Folder("base");
    request_.folder = base_;
    RunLoop loop(request_);
    while (loop.trainer().steps() < 60) loop.Step();
    loop.Finish();
  }

  fs::path Folder(const std::string& name) const { return temporary_.path() / name; }

  /// A copy of the stopped run.
  void Prepare() {
    request_.folder = Folder("run");
    fs::remove_all(request_.folder);
    fs::copy(base_, request_.folder, fs::copy_options::recursive);
  }

  int Resume(std::vector<std::string>* faults = nullptr) const {
    std::vector<std::string> found;
    const Checkpoint checkpoint = ReadNewestCheckpoint(request_.folder, found);
    if (faults != nullptr) *faults = found;
    return ResumeTraining(request_, checkpoint, found);
  }

  struct Ended {
    int code = 0;
    std::string message;  // of the error that ended it
    std::string failed;   // the call that failed
    std::int64_t calls = 0;
  };

  /// `action` in a process of its own, on files that go wrong as planned.
  template <typename Action>
  Ended InChild(const FaultyFiles::Plan& plan, Action action) const {
    const fs::path report = Folder("report");
    fs::remove(report);
    const pid_t child = fork();
    if (child == 0) {
      const int nowhere = open("/dev/null", O_WRONLY);
      dup2(nowhere, STDERR_FILENO);
      int code = 0;
      std::string message;
      FaultyFiles files(plan);
      try {
        code = action();
      } catch (const Error& error) {
        code = static_cast<int>(error.code());
        message = error.what();
      } catch (...) {
        code = 99;
      }
      std::ofstream(report) << files.calls() << "\n" << files.failed() << "\n" << message << "\n";
      _exit(code);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    Ended ended;
    ended.code = WEXITSTATUS(status);
    std::ifstream in(report);
    std::string calls;
    std::getline(in, calls);
    std::getline(in, ended.failed);
    std::getline(in, ended.message);
    ended.calls = calls.empty() ? 0 : std::stoll(calls);
    return ended;
  }

  /// Every checkpoint under a final name is whole, every recording, and no file is half there.
  void ExpectWholeFiles(const std::string& what) const {
    for (const fs::path& checkpoint : NumberedCheckpoints(request_.folder)) {
      EXPECT_NO_THROW(ReadCheckpoint(checkpoint)) << what << ", " << checkpoint;
    }
    const fs::path best = request_.folder / "checkpoints" / "best";
    if (fs::exists(best)) {
      EXPECT_NO_THROW(ReadCheckpoint(best)) << what;
    }
    for (const auto& entry : fs::directory_iterator(request_.folder / "recordings")) {
      if (entry.path().filename().string().starts_with(WholeFolder::kTemporaryPrefix)) continue;
      EXPECT_NO_THROW(ReadRecording(entry.path())) << what << ", " << entry.path();
    }
    EXPECT_EQ(ReadFile(request_.folder / "config.toml"), request_.config_text) << what;
  }

  /// Files and folders that a killed or failed process left unfinished.
  std::set<std::string> Leftovers() const {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(request_.folder)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(WholeFolder::kTemporaryPrefix)) found.insert(name);
    }
    return found;
  }

  const InMemory in_memory_;
  TemporaryFolder temporary_;
  RunRequest request_;
  fs::path reference_;
  fs::path base_;
};

TEST_F(FaultTest, KilledBeforeAnyCallOfItsSavesTheRunGoesOnAsIfItHadNotBeen) {
  Prepare();
  const std::int64_t calls = InChild({}, [this] { return Resume(); }).calls;
  ASSERT_GT(calls, 200) << "two numbered checkpoints, the best, recordings, and what a resume writes";
  std::cout << calls << " calls\n";
  for (const Fault fault : {Fault::kKill, Fault::kPowerLoss}) {
    for (std::int64_t at = 1; at <= calls; ++at) {
      const std::string what =
          std::string(fault == Fault::kKill ? "killed" : "power lost") + " before call " + std::to_string(at);
      Prepare();
      ASSERT_EQ(InChild({fault, at, 0}, [this] { return Resume(); }).code, FaultyFiles::kKilled) << what;
      ExpectWholeFiles(what);
      if (fs::exists(request_.folder / "checkpoints" / "150")) continue;  // it had been through
      std::vector<std::string> faults;
      ASSERT_EQ(Resume(&faults), 0) << what;
      EXPECT_THAT(faults, testing::IsEmpty()) << what;
      EXPECT_EQ(RunDifference(reference_, request_.folder, 150), "") << what;
      EXPECT_THAT(Leftovers(), testing::IsEmpty()) << what;
      if (HasFailure()) return;
    }
  }
}

TEST_F(FaultTest, KilledBeforeAnyCallOfItsStartARunIsAbsentOrCanGoOn) {
  request_.folder = Folder("run");
  const auto begin = [this] {
    RunLoop loop(request_);
    while (loop.trainer().steps() < 55) loop.Step();
    return 0;
  };
  fs::remove_all(request_.folder);
  const std::int64_t calls = InChild({}, begin).calls;
  for (std::int64_t at = 1; at <= calls; ++at) {
    const std::string what = "before call " + std::to_string(at);
    fs::remove_all(request_.folder);
    ASSERT_EQ(InChild({Fault::kPowerLoss, at, 0}, begin).code, FaultyFiles::kKilled) << what;
    if (NumberedCheckpoints(request_.folder).empty()) {
      EXPECT_THROW(Resume(), Error) << what;
      continue;
    }
    ASSERT_EQ(Resume(), 0) << what;
    EXPECT_EQ(RunDifference(reference_, request_.folder, 150), "") << what;
    if (HasFailure()) return;
  }
}

TEST_F(FaultTest, CallThatFailsIsToldAndHarmsNothing) {
  Prepare();
  const std::int64_t calls = InChild({}, [this] { return Resume(); }).calls;
  const std::vector<FaultyFiles::Plan> faults = {{Fault::kStaysFull, 0, ENOSPC}, {Fault::kError, 0, EIO},
                                                 {Fault::kError, 0, EROFS},      {Fault::kError, 0, EFBIG},
                                                 {Fault::kError, 0, ENOENT},     {Fault::kError, 0, ENOSPC}};
  std::set<std::string> failed_calls;
  int stopped = 0;
  for (FaultyFiles::Plan plan : faults) {
    for (plan.at = 1; plan.at <= calls; ++plan.at) {
      Prepare();
      const Ended ended = InChild(plan, [this] { return Resume(); });
      const std::string reason = std::generic_category().message(plan.error);
      const std::string what = "call " + std::to_string(plan.at) + ", " + ended.failed + ": " + reason +
                               "; exit code " + std::to_string(ended.code) + ", " + ended.message;
      const std::string call = ended.failed.substr(0, ended.failed.find(' '));
      failed_calls.insert(call);
      ASSERT_THAT(ended.code, testing::AnyOf(0, 1)) << what;
      ExpectWholeFiles(what);
      const bool removes = call == "unlink" || call == "rmdir";
      if (removes && plan.error == ENOENT) continue;  // then there is nothing to remove, and no failure
      if (ended.code == 1) {
        ++stopped;
        EXPECT_THAT(ended.message, testing::AllOf(testing::HasSubstr(temporary_.path().string()),
                                                  testing::HasSubstr(reason)))
            << what;
        // What could not be removed is there; all else that was begun is gone.
        if (!removes) {
          EXPECT_THAT(Leftovers(), testing::IsEmpty()) << what;
        }
        if (!fs::exists(request_.folder / "checkpoints" / "150")) {
          std::vector<std::string> found;
          ASSERT_EQ(Resume(&found), 0) << what;
          EXPECT_THAT(found, testing::IsEmpty()) << what;
        }
      }
      // However it ended: the run, gone on with, is the one that met no fault. A full disk may have cost
      // rows.
      if (plan.fault != Fault::kStaysFull || ended.code == 1) {
        EXPECT_EQ(RunDifference(reference_, request_.folder, 150), "") << what;
      }
      EXPECT_TRUE(removes || Leftovers().empty()) << what;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(stopped, 100);
  EXPECT_THAT(failed_calls, testing::IsSupersetOf({"create", "open", "write", "sync", "close", "rename",
                                                   "exchange", "mkdir", "unlink", "rmdir"}));
}

}  // namespace
}  // namespace metronome
