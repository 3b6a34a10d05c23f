#include "metronome/train/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "cli/program.h"
#include "metronome/core/error.h"
#include "support/allocation_counter.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kSecond = 1'000'000'000;

/// A terminal that keeps what is written to it.
class FakeTerminal {
 public:
  explicit FakeTerminal(unsigned short width) {
    master_ = posix_openpt(O_RDWR | O_NOCTTY);
    EXPECT_EQ(grantpt(master_), 0);
    EXPECT_EQ(unlockpt(master_), 0);
    descriptor_ = open(ptsname(master_), O_RDWR | O_NOCTTY);
    EXPECT_GE(descriptor_, 0);
    winsize size{};
    size.ws_col = width;
    size.ws_row = 25;
    EXPECT_EQ(ioctl(descriptor_, TIOCSWINSZ, &size), 0);
    EXPECT_EQ(fcntl(master_, F_SETFL, O_NONBLOCK), 0);
  }
  ~FakeTerminal() {
    close(descriptor_);
    close(master_);
  }
  FakeTerminal(const FakeTerminal&) = delete;
  FakeTerminal& operator=(const FakeTerminal&) = delete;

  int descriptor() const { return descriptor_; }

  /// What arrived since the last call. The kernel may take a moment to pass it on.
  std::string Read() {
    std::string text;
    pollfd readable = {.fd = master_, .events = POLLIN, .revents = 0};
    while (poll(&readable, 1, text.empty() ? 500 : 50) == 1) {
      char block[4096];
      const ssize_t size = read(master_, block, sizeof(block));
      if (size <= 0) {
        break;
      }
      text.append(block, static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  int master_ = -1;
  int descriptor_ = -1;
};

ProgressStatus SomeStatus() {
  ProgressStatus status;
  status.step = 123'456;
  status.total_steps = 300'000;
  status.episodes = 4'321;
  status.updates = 122'456;
  status.steps_per_second = 12'345.4;
  status.mean_return_100 = 17.25;
  status.epsilon = 0.05;
  status.resident_bytes = 3 << 20;
  status.learning = true;
  return status;
}

class ProgressTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
  }

  TemporaryFolder folder_;
};

TEST_F(ProgressTest, ShowsAllFiguresOnOneLine) {
  FakeTerminal terminal(200);
  Progress progress({.log_file = {}, .quiet = false, .descriptor = terminal.descriptor()});
  progress.Show(SomeStatus(), 0);
  // 123456 / 300000 = 41.15 %, 8 of 20 marks; 176544 steps at 12345.4 a second are 14.3 s.
  EXPECT_EQ(terminal.Read(),
            "[########------------]  41% step 123,456/300,000  12,345 steps/s  ETA 0:15  return 17.25  "
            "epsilon 0.050  "
            "3.0 MiB  episodes 4,321  updates 122,456");
}

TEST_F(ProgressTest, LeavesOutWhatDoesNotExistYet) {
  FakeTerminal terminal(200);
  Progress progress({.log_file = {}, .quiet = false, .descriptor = terminal.descriptor()});
  ProgressStatus status;
  status.total_steps = 1000;
  status.epsilon = 1.0;
  progress.Show(status, 0);
  const std::string line = terminal.Read();
  EXPECT_THAT(line, HasSubstr("  0% step 0/1,000  epsilon 1.000"));
  EXPECT_THAT(line, HasSubstr("filling the replay"));
  EXPECT_THAT(line, Not(HasSubstr("return")));
  EXPECT_THAT(line, Not(HasSubstr("ETA")));
}

TEST_F(ProgressTest, SaysAHundredPercentAtTheEndAndNotBefore) {
  FakeTerminal terminal(200);
  Progress progress({.log_file = {}, .quiet = false, .descriptor = terminal.descriptor()});
  ProgressStatus status = SomeStatus();
  status.step = 299'999;
  progress.Show(status, 0);
  EXPECT_THAT(terminal.Read(), HasSubstr(" 99%"));
  status.step = 300'000;
  progress.Show(status, kSecond);
  EXPECT_THAT(terminal.Read(), HasSubstr("[####################] 100%"));
}

TEST_F(ProgressTest, RedrawsAtMostTenTimesASecond) {
  FakeTerminal terminal(200);
  Progress progress({.log_file = {}, .quiet = false, .descriptor = terminal.descriptor()});
  int draws = 0;
  for (std::int64_t now = 0; now < 2 * kSecond; now += kSecond / 1000) {
    if (progress.Due(now)) {
      ++draws;
    }
    progress.Show(SomeStatus(), now);
  }
  EXPECT_EQ(draws, 20);
  const std::string text = terminal.Read();
  EXPECT_EQ(std::count(text.begin(), text.end(), '['), draws + (draws - 1));  // bars and erasures
}

TEST_F(ProgressTest, CutsTheLineToTheTerminal) {
  FakeTerminal terminal(30);
  Progress progress({.log_file = {}, .quiet = false, .descriptor = terminal.descriptor()});
  progress.Show(SomeStatus(), 0);
  EXPECT_EQ(terminal.Read(), "[########------------]  41% s");  // 29 characters: the last column stays free
}

TEST_F(ProgressTest, PutsMessagesAboveTheLiveLine) {
  FakeTerminal terminal(30);
  Progress progress({.log_file = {}, .quiet = false, .descriptor = terminal.descriptor()});
  progress.Show(SomeStatus(), 0);
  const std::string line = terminal.Read();
  progress.Info("hello");
  const std::string after = terminal.Read();
  EXPECT_TRUE(after.starts_with("\r\x1b[K")) << after;
  EXPECT_TRUE(after.ends_with(" hello\r\n" + line)) << after;
  progress.Show(SomeStatus(), kSecond);
  EXPECT_EQ(terminal.Read(), "\r\x1b[K" + line);
  progress.Finish();
  EXPECT_EQ(terminal.Read(), "\r\n");
  progress.Info("bye");
  EXPECT_THAT(terminal.Read(), EndsWith(" bye\r\n"));
}

TEST_F(ProgressTest, WritesNoEscapeCodesWhereNoColorIsAskedFor) {
  setenv("NO_COLOR", "1", 1);
  FakeTerminal terminal(30);
  Progress progress({.log_file = {}, .quiet = false, .descriptor = terminal.descriptor()});
  progress.Show(SomeStatus(), 0);
  progress.Warn("careful");
  progress.Show(SomeStatus(), kSecond);
  const std::string text = terminal.Read();
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("warning: "));
  EXPECT_THAT(text, HasSubstr("41%"));
}

TEST_F(ProgressTest, WithoutATerminalLogsALineEveryFiveSecondsAndNoControlCodes) {
  const std::filesystem::path file = folder_.path() / "stderr";
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT, 0600);
  {
    Progress progress({.log_file = {}, .quiet = false, .descriptor = descriptor});
    for (std::int64_t now = 0; now < 12 * kSecond; now += kSecond / 10) {
      progress.Show(SomeStatus(), now);  // at 0, 5 and 10 s
    }
    progress.Warn("careful");
    progress.Finish();
  }
  close(descriptor);
  const std::string text = ReadText(file);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_THAT(text, HasSubstr(" 41% step 123,456/300,000  12,345 steps/s"));
  EXPECT_THAT(text, HasSubstr("warning: "));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST_F(ProgressTest, HasEveryMessageInTheLogAtOnce) {
  const std::filesystem::path log = folder_.path() / "log.txt";
  FakeTerminal terminal(80);
  Progress progress({.log_file = log, .quiet = true, .descriptor = terminal.descriptor()});
  progress.Info("first");
  EXPECT_THAT(ReadText(log), EndsWith(" info: first\n"));
  progress.Warn("second");
  EXPECT_THAT(ReadText(log), EndsWith(" warning: second\n"));
  // Quiet: nothing but the warning is on the terminal.
  const std::string text = terminal.Read();
  EXPECT_THAT(text, Not(HasSubstr("first")));
  EXPECT_THAT(text, HasSubstr("second"));
}

TEST_F(ProgressTest, GoesOnAtTheEndOfAnEarlierLog) {
  const std::filesystem::path log = folder_.path() / "log.txt";
  for (const char* message : {"one", "two"}) {
    Progress progress({.log_file = log, .quiet = true, .descriptor = 2});
    progress.Info(message);
  }
  EXPECT_THAT(ReadText(log), HasSubstr("one\n"));
  EXPECT_THAT(ReadText(log), EndsWith("two\n"));
}

#ifdef __linux__
TEST_F(ProgressTest, TellsThatTheLogCannotBeWritten) {
  Progress progress({.log_file = "/dev/full", .quiet = true, .descriptor = 2});
  try {
    progress.Info("lost");
    FAIL() << "the loss went unnoticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kInputOutput);
    EXPECT_THAT(error.what(), HasSubstr("/dev/full"));
  }
}
#endif

TEST_F(ProgressTest, AllocatesNothingAfterTheFirstLine) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  FakeTerminal terminal(200);
  const std::filesystem::path file = folder_.path() / "stderr";
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT, 0600);
  Progress live({.log_file = {}, .quiet = false, .descriptor = terminal.descriptor()});
  Progress plain({.log_file = folder_.path() / "log.txt", .quiet = false, .descriptor = descriptor});
  const ProgressStatus status = SomeStatus();
  live.Show(status, 0);
  plain.Show(status, 0);
  const AllocationScope scope;
  for (std::int64_t now = kSecond; now < 20 * kSecond; now += kSecond) {
    live.Show(status, now);
    plain.Show(status, now);
  }
  EXPECT_EQ(scope.count(), 0);
  close(descriptor);
}

}  // namespace
}  // namespace metronome
