#include "metronome/train/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/fake_terminal.h"
#include "cli/program.h"
#include "metronome/core/error.h"
#include "support/allocation_counter.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kSecond = 1'000'000'000;

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
  status.phase = RunPhase::kLearning;
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
  Progress progress({.log_file = {}, .level = LogLevel::kInfo, .descriptor = terminal.descriptor()});
  progress.Show(SomeStatus(), 0);
  // 123456 / 300000 = 41.15 %, 8 of 20 marks; 176544 steps at 12345.4 a second are 14.3 s.
  EXPECT_EQ(terminal.Read(),
            "[########------------]  41% step 123,456/300,000  12,345 steps/s  ETA 0:15  return 17.25  "
            "epsilon 0.050  "
            "3.0 MiB  learning  episodes 4,321  updates 122,456");
}

TEST_F(ProgressTest, LeavesOutWhatDoesNotExistYet) {
  FakeTerminal terminal(200);
  Progress progress({.log_file = {}, .level = LogLevel::kInfo, .descriptor = terminal.descriptor()});
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
  Progress progress({.log_file = {}, .level = LogLevel::kInfo, .descriptor = terminal.descriptor()});
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
  Progress progress({.log_file = {}, .level = LogLevel::kInfo, .descriptor = terminal.descriptor()});
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

TEST_F(ProgressTest, LeavesOutWholeFiguresWhereTheTerminalIsNarrow) {
  // At each width the most important figures that fit beside a free last column.
  const std::string all =
      "[########------------]  41% step 123,456/300,000  12,345 steps/s  ETA 0:15  return 17.25  epsilon "
      "0.050  "
      "3.0 MiB  learning  episodes 4,321  updates 122,456";
  const std::vector<std::pair<int, std::string>> cases = {
      {250, all},
      {149, all.substr(0, all.find("  updates"))},
      {120,
       "[########------------]  41% step 123,456/300,000  12,345 steps/s  ETA 0:15  return 17.25  "
       "epsilon 0.050  learning"},
      {80, " 41% step 123,456/300,000  12,345 steps/s  ETA 0:15  return 17.25  learning"},
      {60, " 41%  12,345 steps/s  ETA 0:15  return 17.25"},
      {40, " 41%  12,345 steps/s  return 17.25"},
      {30, " 41%  return 17.25"},
      {10, " 41%"},
      {4, " 41"},
      {2, " "}};
  for (const auto& [width, line] : cases) {
    FakeTerminal terminal(static_cast<unsigned short>(width));
    Progress progress({.log_file = {}, .descriptor = terminal.descriptor()});
    progress.Show(SomeStatus(), 0);
    EXPECT_EQ(terminal.Read(), line) << width;
    EXPECT_LT(line.size(), static_cast<std::size_t>(width));
  }
}

TEST_F(ProgressTest, ErasesAllRowsOfALineThatTheTerminalHasBecomeTooNarrowFor) {
  FakeTerminal terminal(120);
  Progress progress({.log_file = {}, .descriptor = terminal.descriptor()});
  progress.Show(SomeStatus(), 0);
  const std::size_t length = terminal.Read().size();
  ASSERT_GT(length, 90U);
  terminal.Resize(40);  // the line now takes three rows
  progress.Show(SomeStatus(), kSecond);
  EXPECT_EQ(terminal.Read(), "\x1b[2A\r\x1b[J 41%  12,345 steps/s  return 17.25");
  terminal.Resize(120);
  progress.Show(SomeStatus(), 2 * kSecond);
  EXPECT_THAT(terminal.Read(), AllOf(testing::StartsWith("\r\x1b[K[####"), EndsWith("learning")));
}

TEST_F(ProgressTest, WithoutColorNothingIsWrittenBeyondANarrowerTerminal) {
  setenv("NO_COLOR", "1", 1);
  FakeTerminal terminal(120);
  Progress progress({.log_file = {}, .descriptor = terminal.descriptor()});
  progress.Show(SomeStatus(), 0);
  terminal.Read();
  terminal.Resize(40);
  progress.Show(SomeStatus(), kSecond);
  EXPECT_EQ(terminal.Read(), "\r" + std::string(39, ' ') + "\r 41%  12,345 steps/s  return 17.25");
}

TEST_F(ProgressTest, RedrawShowsWhatTakesLongBetweenTwoSteps) {
  FakeTerminal terminal(200);
  Progress progress({.log_file = {}, .descriptor = terminal.descriptor()});
  ProgressStatus status = SomeStatus();
  progress.Show(status, 0);
  terminal.Read();
  status.phase = RunPhase::kEvaluating;
  progress.Redraw(status);
  EXPECT_THAT(terminal.Read(), HasSubstr("  evaluating  "));
}

TEST_F(ProgressTest, ShowsTheLevelsAskedFor) {
  const std::vector<std::pair<LogLevel, std::string>> cases = {{LogLevel::kDebug, "debug info warn "},
                                                               {LogLevel::kInfo, "info warn "},
                                                               {LogLevel::kWarning, "warn "},
                                                               {LogLevel::kError, ""}};
  for (const auto& [level, expected] : cases) {
    const std::filesystem::path log = folder_.path() / ("log" + expected + ".txt");
    FakeTerminal terminal(200);
    Progress progress({.log_file = log, .level = level, .descriptor = terminal.descriptor()});
    EXPECT_EQ(progress.debugs(), level == LogLevel::kDebug);
    progress.Debug("a-debug");
    progress.Info("an-info");
    progress.Warn("a-warn");
    progress.Show(SomeStatus(), 0);
    const std::string shown = terminal.Read();
    for (const std::string word : {"debug", "info", "warn"}) {
      EXPECT_EQ(shown.find("-" + word) != std::string::npos, expected.find(word) != std::string::npos)
          << word << " in: " << shown;
    }
    EXPECT_EQ(shown.find("41%") != std::string::npos, level <= LogLevel::kInfo) << "the live line";
    // The file misses nothing but what only debugging needs.
    const std::string text = ReadText(log);
    EXPECT_EQ(text.find("a-debug") != std::string::npos, level == LogLevel::kDebug);
    EXPECT_THAT(text, AllOf(HasSubstr("an-info"), HasSubstr("a-warn")));
  }
}

TEST_F(ProgressTest, RotatesALogThatHasGrownToItsBoundAndLosesOnlyTheOldest) {
  const std::filesystem::path log = folder_.path() / "log.txt";
  const auto message = [](int number) { return "message " + std::to_string(number) + "."; };
  int written = 0;
  for (int part = 0; part < 2; ++part) {  // also one that goes on with an earlier log
    Progress progress({.log_file = log, .level = LogLevel::kWarning, .most_log_bytes = 1000});
    for (int i = 0; i < 150; ++i) progress.Info(message(written++));
  }
  std::string kept;
  for (const std::string name : {"log.3.txt", "log.2.txt", "log.1.txt", "log.txt"}) {
    const std::string text = ReadText(folder_.path() / name);
    EXPECT_LT(text.size(), 1100U) << name;
    EXPECT_GT(text.size(), 0U) << name;
    EXPECT_THAT(text, EndsWith("\n"));
    kept += text;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "log.4.txt"));
  const auto lines = static_cast<int>(std::count(kept.begin(), kept.end(), '\n'));
  EXPECT_GT(lines, 50);
  std::size_t at = 0;
  for (int number = written - lines; number < written; ++number) {
    at = kept.find(message(number), at);
    ASSERT_NE(at, std::string::npos) << number;
  }
}

TEST_F(ProgressTest, PutsMessagesAboveTheLiveLine) {
  FakeTerminal terminal(80);
  Progress progress({.log_file = {}, .level = LogLevel::kInfo, .descriptor = terminal.descriptor()});
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
  Progress progress({.log_file = {}, .level = LogLevel::kInfo, .descriptor = terminal.descriptor()});
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
    Progress progress({.log_file = {}, .level = LogLevel::kInfo, .descriptor = descriptor});
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
  Progress progress({.log_file = log, .level = LogLevel::kWarning, .descriptor = terminal.descriptor()});
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
    Progress progress({.log_file = log, .level = LogLevel::kWarning, .descriptor = 2});
    progress.Info(message);
  }
  EXPECT_THAT(ReadText(log), HasSubstr("one\n"));
  EXPECT_THAT(ReadText(log), EndsWith("two\n"));
}

#ifdef __linux__
TEST_F(ProgressTest, TellsThatTheLogCannotBeWritten) {
  Progress progress(
      {.log_file = "/dev/full", .level = LogLevel::kWarning, .descriptor = 2, .stop_on_error = true});
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
  Progress live({.log_file = {}, .level = LogLevel::kInfo, .descriptor = terminal.descriptor()});
  Progress plain(
      {.log_file = folder_.path() / "log.txt", .level = LogLevel::kInfo, .descriptor = descriptor});
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
