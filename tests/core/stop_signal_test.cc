#include "metronome/core/stop_signal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace metronome {
namespace {

class StopSignalTest : public testing::Test {
 protected:
  StopSignalTest() {
    sigaction(SIGINT, nullptr, &old_interrupt_);
    sigaction(SIGTERM, nullptr, &old_terminate_);
    StopSignal::Install();
    StopSignal::Clear();
  }
  ~StopSignalTest() override {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
    StopSignal::Clear();
  }

 private:
  struct sigaction old_interrupt_ = {};
  struct sigaction old_terminate_ = {};
};

TEST_F(StopSignalTest, NothingReceivedIsZero) { EXPECT_EQ(StopSignal::received(), 0); }

TEST_F(StopSignalTest, EitherSignalIsReceivedByItsNumber) {
  std::raise(SIGINT);
  EXPECT_EQ(StopSignal::received(), SIGINT);
  StopSignal::Clear();
  EXPECT_EQ(StopSignal::received(), 0);
  std::raise(SIGTERM);
  EXPECT_EQ(StopSignal::received(), SIGTERM);
}

TEST_F(StopSignalTest, TheFirstOfSeveralCounts) {
  std::raise(SIGTERM);
  std::raise(SIGINT);
  std::raise(SIGINT);
  EXPECT_EQ(StopSignal::received(), SIGTERM);
}

TEST_F(StopSignalTest, InstallingAgainTakesTheSignalsBack) {
  // As some libraries do when they start (faults.md 52).
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_IGN);
  StopSignal::Install();
  std::raise(SIGTERM);
  EXPECT_EQ(StopSignal::received(), SIGTERM);
  StopSignal::Clear();
  std::raise(SIGINT);
  EXPECT_EQ(StopSignal::received(), SIGINT);
}

TEST_F(StopSignalTest, InstallingAgainForgetsNothing) {
  std::raise(SIGINT);
  StopSignal::Install();
  EXPECT_EQ(StopSignal::received(), SIGINT);
}

TEST_F(StopSignalTest, AReadInProgressGoesOn) {
  // The signal arrives while the read waits; the read must still bring the byte.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    usleep(50'000);
    kill(getppid(), SIGINT);
    usleep(50'000);
    const ssize_t written = write(ends[1], "x", 1);
    _exit(written == 1 ? 0 : 1);
  }
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(StopSignal::received(), SIGINT);
  close(ends[0]);
  close(ends[1]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
}

}  // namespace
}  // namespace metronome
