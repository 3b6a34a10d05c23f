#include "app/seed_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "cli/fake_terminal.h"
#include "cli/program.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr std::int64_t kSecond = 1'000'000'000;

class SeedBoardTest : public ::testing::Test {
 protected:
  SeedBoardTest() {
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
  }
  ~SeedBoardTest() override { unsetenv("NO_COLOR"); }

  TemporaryFolder folder_;
};

TEST_F(SeedBoardTest, KeepsALineForEachRunBelowTheMessages) {
  FakeTerminal terminal(40);
  SeedBoard board(folder_.path() / "log.txt", LogLevel::kInfo, terminal.descriptor());
  EXPECT_EQ(board.width(), 39);
  board.Show({"seed 1  5%", "seed 2  7%"}, kSecond);
  EXPECT_EQ(terminal.Read(), "seed 1  5%\r\nseed 2  7%\r\n");
  board.Show({"seed 1  6%", "seed 2  8%"}, 2 * kSecond);
  EXPECT_EQ(terminal.Read(), "\x1b[2A\r\x1b[Jseed 1  6%\r\nseed 2  8%\r\n");
  board.Say("hello");
  EXPECT_THAT(terminal.Read(),
              MatchesRegex("\x1b\\[2A\r\x1b\\[J[0-9:]+ hello\r\nseed 1  6%\r\nseed 2  8%\r\n"));
  board.Show({"seed 2  9%"}, 3 * kSecond);
  EXPECT_EQ(terminal.Read(), "\x1b[2A\r\x1b[Jseed 2  9%\r\n");
  board.Clear();
  EXPECT_EQ(terminal.Read(), "\x1b[1A\r\x1b[J");
  board.Say("bye", LogLevel::kWarning);
  EXPECT_THAT(terminal.Read(), MatchesRegex("warning: [0-9:]+ bye\r\n"));
  EXPECT_THAT(ReadText(folder_.path() / "log.txt"), EndsWith(" warning: bye\n"));
}

TEST_F(SeedBoardTest, ErasesAllRowsWhenTheTerminalHasBecomeNarrower) {
  FakeTerminal terminal(40);
  SeedBoard board(folder_.path() / "log.txt", LogLevel::kInfo, terminal.descriptor());
  board.Show({std::string(30, 'a'), std::string(10, 'b')}, kSecond);
  terminal.Read();
  terminal.Resize(20);  // the first line now takes two rows
  board.Clear();
  EXPECT_EQ(terminal.Read(), "\x1b[3A\r\x1b[J");
}

TEST_F(SeedBoardTest, WithNoColorTellsEveryTenSecondsInPlainLines) {
  setenv("NO_COLOR", "1", 1);
  FakeTerminal terminal(40);
  SeedBoard board(folder_.path() / "log.txt", LogLevel::kInfo, terminal.descriptor());
  for (std::int64_t now = kSecond; now <= 25 * kSecond; now += kSecond) board.Show({"seed 1"}, now);
  board.Clear();
  const std::string text = terminal.Read();
  EXPECT_THAT(text, MatchesRegex("([0-9:]+ seed 1\r\n){2}"));  // after 10 and 20 seconds
  EXPECT_THAT(ReadText(folder_.path() / "log.txt"), Not(HasSubstr("seed 1")));
}

TEST_F(SeedBoardTest, QuietShowsWarningsAlone) {
  FakeTerminal terminal(40);
  SeedBoard board(folder_.path() / "log.txt", LogLevel::kWarning, terminal.descriptor());
  board.Show({"seed 1"}, 20 * kSecond);
  board.Show({"seed 1"}, 40 * kSecond);
  board.Say("hello");
  board.Say("careful", LogLevel::kWarning);
  const std::string text = terminal.Read();
  EXPECT_THAT(text, HasSubstr("careful"));
  EXPECT_THAT(text, Not(HasSubstr("hello")));
  EXPECT_THAT(text, Not(HasSubstr("seed 1")));
  EXPECT_THAT(ReadText(folder_.path() / "log.txt"), HasSubstr("hello"));
}

TEST_F(SeedBoardTest, ReadsHowARunStandsFromItsTable) {
  const std::string header =
      "step,episode,return,length,ending,epsilon,loss,q_mean,updates,target_syncs,step_us_p50,step_us_p99,"
      "step_us_max,rss_kib,replay_size,wall_s\n";
  EXPECT_EQ(ReadStatus(folder_.path(), 1000).step, 0);
  WriteText(folder_.path() / "episodes.csv", header);
  EXPECT_EQ(ReadStatus(folder_.path(), 1000).step, 0);
  std::string rows = header;
  for (int i = 1; i <= 2000; ++i) {  // more than is read, so the first rows are cut somewhere
    rows += std::to_string(10 * i) + "," + std::to_string(i) + "," + std::to_string(i) +
            ",10,terminated,0.25,,,77,1,1,1,1,2048,5," + std::to_string(0.5 * i) + "\n";
  }
  WriteText(folder_.path() / "episodes.csv", rows + "20010,2001,9999");
  const ProgressStatus status = ReadStatus(folder_.path(), 40'000);
  EXPECT_EQ(status.step, 20'000);
  EXPECT_EQ(status.total_steps, 40'000);
  EXPECT_EQ(status.episodes, 2000);
  EXPECT_EQ(status.updates, 77);
  EXPECT_EQ(status.epsilon, 0.25);
  EXPECT_EQ(status.resident_bytes, 2 << 20);
  EXPECT_EQ(status.phase, RunPhase::kLearning);
  EXPECT_DOUBLE_EQ(status.mean_return_100.value(), (1901 + 2000) / 2.0);
  EXPECT_DOUBLE_EQ(status.steps_per_second, 20.0);
}

}  // namespace
}  // namespace metronome
