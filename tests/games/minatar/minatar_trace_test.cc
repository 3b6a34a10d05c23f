// The five MinAtar games against episodes that the originals played, with the recorded outcomes of chance fed
// in: observation, reward and end are equal at every step, and so are the action executed and each draw.
#include "games/minatar/minatar_trace.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "games/trace_records.h"
#include "metronome/core/file.h"

namespace metronome {
namespace {

/// Hands out recorded draws and notes the first one that was asked for otherwise.
class RecordedChance final : public ChanceScript {
 public:
  void Load(const std::vector<MinatarTrace::Draw>& draws) {
    draws_ = &draws;
    used_ = 0;
    mistake_.clear();
  }

  double Uniform() override {
    const MinatarTrace::Draw* const draw = Next("a uniform number", /*is_integer=*/false);
    return draw != nullptr ? draw->uniform : 0.0;
  }

  int UniformInt(int low, int high) override {
    const std::string range = std::to_string(low) + " .. " + std::to_string(high - 1);
    const MinatarTrace::Draw* const draw = Next("an integer of " + range, /*is_integer=*/true);
    if (draw == nullptr) return low;
    if (draw->low != low || draw->high != high) {
      Note("draw " + std::to_string(used_ - 1) + " is an integer of " + range + ", the trace has " +
           std::to_string(draw->low) + " .. " + std::to_string(draw->high - 1));
      return low;
    }
    return draw->value;
  }

  /// What was asked for otherwise than recorded; empty where nothing was.
  std::string Mistake() const {
    if (mistake_.empty() && used_ < draws_->size()) {
      return "made " + std::to_string(used_) + " draws, the trace has " + std::to_string(draws_->size());
    }
    return mistake_;
  }

 private:
  const MinatarTrace::Draw* Next(const std::string& what, bool is_integer) {
    if (used_ == draws_->size()) {
      Note("drew " + what + " after the " + std::to_string(used_) + " draws of the trace");
      return nullptr;
    }
    const MinatarTrace::Draw& draw = (*draws_)[used_++];
    if (draw.is_integer == is_integer) return &draw;
    Note("draw " + std::to_string(used_ - 1) + " is " + what + ", the trace has another kind there");
    return nullptr;
  }

  void Note(const std::string& mistake) {
    if (mistake_.empty()) mistake_ = mistake;
  }

  const std::vector<MinatarTrace::Draw>* draws_ = nullptr;
  std::size_t used_ = 0;
  std::string mistake_;
};

/// The first cell in which a game's observation is not the recorded one; empty where all are equal.
std::string FirstDifference(const MinatarGame& game, const std::vector<std::uint8_t>& want) {
  std::vector<float> got(static_cast<std::size_t>(game.spec().observation.size()));
  if (got.size() != want.size()) return "another number of channels";
  game.WriteObservation(got);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == static_cast<float>(want[i])) continue;
    const std::size_t cell = i % CellSet::kCells;
    return "row " + std::to_string(cell / CellSet::kSide) + ", column " +
           std::to_string(cell % CellSet::kSide) + ", channel \"" +
           game.spec().observation.features[i / CellSet::kCells].name + "\" is " + std::to_string(got[i]) +
           ", the trace says " + std::to_string(want[i]);
  }
  return "";
}

class MinatarTraceTest : public testing::TestWithParam<std::string> {
 protected:
  static MinatarTrace ReadTrace() {
    return ParseMinatarTrace(ReadFile(TraceFolder() / (GetParam() + ".txt")));
  }
};

TEST_P(MinatarTraceTest, EveryStepIsThatOfTheOriginal) {
  const MinatarTrace trace = ReadTrace();
  ASSERT_EQ(trace.game, GetParam());
  RecordedChance chance;
  std::unique_ptr<Game> environment;
  int compared = 0;
  for (const MinatarTrace::Episode& episode : trace.episodes) {
    if (episode.is_new) environment = MakeGame(GetParam());
    auto& game = static_cast<MinatarGame&>(*environment);
    SCOPED_TRACE(episode.label);
    game.set_script(&chance);
    game.set_options(episode.options);
    chance.Load(episode.start.draws);
    game.BeginOriginal();
    ASSERT_EQ(chance.Mistake(), "") << "reset, line " << episode.start.line;
    ASSERT_EQ(FirstDifference(game, episode.start.observation), "") << "reset, line " << episode.start.line;
    for (std::size_t i = 0; i < episode.steps.size(); ++i) {
      const MinatarTrace::Step& want = episode.steps[i];
      SCOPED_TRACE("step " + std::to_string(i + 1) + ", line " + std::to_string(want.after.line));
      chance.Load(want.after.draws);
      const StepResult got = game.StepOriginal(want.requested);
      ASSERT_EQ(chance.Mistake(), "");
      ASSERT_EQ(static_cast<int>(game.last_action()), static_cast<int>(want.executed));
      ASSERT_EQ(FirstDifference(game, want.after.observation), "");
      ASSERT_EQ(got.reward, static_cast<float>(want.reward));
      ASSERT_EQ(got.terminated, want.terminated);
      ++compared;
    }
  }
  RecordProperty("steps_compared", compared);
  EXPECT_GT(compared, 0);
}

// The traces mean something only where they hold what they are compared in.
TEST_P(MinatarTraceTest, HasRewardsEndsAndStickyActions) {
  int rewards = 0;
  int ends = 0;
  int sticky = 0;
  for (const MinatarTrace::Episode& episode : ReadTrace().episodes) {
    for (const MinatarTrace::Step& step : episode.steps) {
      rewards += step.reward;
      ends += step.terminated ? 1 : 0;
      sticky += step.executed != step.requested ? 1 : 0;
    }
  }
  EXPECT_GT(rewards, 0);
  EXPECT_GT(ends, 0);
  EXPECT_GT(sticky, 0);
}

std::string NameOfGame(const testing::TestParamInfo<std::string>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(Games, MinatarTraceTest,
                         testing::Values("asterix", "breakout", "freeway", "seaquest", "space_invaders"),
                         NameOfGame);

TEST(MinatarTraceReaderTest, ReadsASmallFile) {
  // One channel: bit 0 is row 0, column 0; bit 13 is row 1, column 3; bit 99 is row 9, column 9.
  const std::string nothing(25, '0');
  const std::string three_cells = "8004" + std::string(20, '0') + "1";
  const MinatarTrace trace = ParseMinatarTrace(
      "# comment\nT 1 breakout 1 2 1\nE 0 new 1 0.1 first\nR 2 u 0.5 i 1 6 5 " + three_cells +
      "\n# comment\nS 1 3 2 1 0 " + nothing + "\nE 1 same 0 2e-05 second\nR 0 " + nothing + "\nZ\n");
  EXPECT_EQ(trace.game, "breakout");
  EXPECT_EQ(trace.channels, 1);
  ASSERT_EQ(trace.episodes.size(), 2u);
  const MinatarTrace::Episode& first = trace.episodes[0];
  EXPECT_TRUE(first.is_new);
  EXPECT_TRUE(first.options.difficulty_ramping);
  EXPECT_EQ(first.options.sticky_action_probability, 0.1);
  EXPECT_EQ(first.label, "first");
  EXPECT_EQ(first.start.line, 4);
  ASSERT_EQ(first.start.draws.size(), 2u);
  EXPECT_FALSE(first.start.draws[0].is_integer);
  EXPECT_EQ(first.start.draws[0].uniform, 0.5);
  EXPECT_TRUE(first.start.draws[1].is_integer);
  EXPECT_EQ(first.start.draws[1].low, 1);
  EXPECT_EQ(first.start.draws[1].high, 6);
  EXPECT_EQ(first.start.draws[1].value, 5);
  std::vector<std::uint8_t> cells(100, 0);
  cells[0] = cells[13] = cells[99] = 1;
  EXPECT_EQ(first.start.observation, cells);
  ASSERT_EQ(first.steps.size(), 1u);
  EXPECT_EQ(first.steps[0].requested, MinatarAction::kLeft);
  EXPECT_EQ(first.steps[0].executed, MinatarAction::kRight);
  EXPECT_EQ(first.steps[0].reward, 2);
  EXPECT_TRUE(first.steps[0].terminated);
  EXPECT_EQ(first.steps[0].after.line, 6);
  const MinatarTrace::Episode& second = trace.episodes[1];
  EXPECT_FALSE(second.is_new);
  EXPECT_FALSE(second.options.difficulty_ramping);
  EXPECT_EQ(second.options.sticky_action_probability, 2e-5);
}

// Bits run through the channels of a cell before the next cell.
TEST(MinatarTraceReaderTest, TakesObservationsApartByChannel) {
  // Two channels: cell 0 has both, cell 1 the second one alone.
  const MinatarTrace trace =
      ParseMinatarTrace("T 1 x 2 1 0\nE 0 new 1 0 a\nR 0 d" + std::string(49, '0') + "\nZ\n");
  std::vector<std::uint8_t> cells(200, 0);
  cells[0] = cells[100] = cells[101] = 1;
  EXPECT_EQ(trace.episodes[0].start.observation, cells);
}

TEST(MinatarTraceReaderTest, RefusesWhatIsNotATrace) {
  const std::string o(25, '0');
  const std::string e = "E 0 new 1 0.1 a\n";
  const std::string r = "R 0 " + o + "\n";
  const std::string bad[] = {
      "",                                                      // nothing
      "Z\n",                                                   // no T
      "T 1 x 1 0 0\n",                                         // no Z
      "T 1 x 1 0 0\nZ\n\n",                                    // something after Z
      "T 2 x 1 0 0\nZ\n",                                      // other version
      "T 1 x 0 0 0\nZ\n",                                      // no channel
      "T 1 x 1 2 0\n" + e + r + "Z\n",                         // an episode too few
      "T 1 x 1 0 0\n" + e + r + "Z\n",                         // an episode too many
      "T 1 x 1 1 1\n" + e + r + "Z\n",                         // a step too few
      "T 1 x 1 1 0\n" + e + r + "S 0 0 0 0 0 " + o + "\nZ\n",  // a step too many
      "T 1 x 1 1 0\nE 1 new 1 0.1 a\n" + r + "Z\n",            // numbers start from 0
      "T 1 x 1 1 0\nE 0 same 1 0.1 a\n" + r + "Z\n",           // nothing to go on from
      "T 1 x 1 1 0\nE 0 old 1 0.1 a\n" + r + "Z\n",            // neither new nor same
      "T 1 x 1 1 0\n" + e + "Z\n",                             // no R
      "T 1 x 1 1 0\n" + r + "Z\n",                             // R without E
      "T 1 x 1 1 0\n" + e + "R 0 " + o + "0\nZ\n",             // a digit too many
      "T 1 x 1 1 0\n" + e + "R 0 A" + o.substr(1) + "\nZ\n",   // not a digit
      "T 1 x 1 1 0\n" + e + "R 1 " + o + "\nZ\n",              // a draw too few
      "T 1 x 1 1 0\n" + e + "R 0 u 0.5 " + o + "\nZ\n",        // a draw too many
      "T 1 x 1 1 0\n" + e + "R 1 u 1.0 " + o + "\nZ\n",        // a draw outside its range
      "T 1 x 1 1 0\n" + e + "R 1 i 0 2 2 " + o + "\nZ\n",      // likewise
      "T 1 x 1 1 0\n" + e + "R 1 b 0 2 1 " + o + "\nZ\n",      // no such draw
      "T 1 x 1 1 1\n" + e + r + "S 6 0 0 0 0 " + o + "\nZ\n",  // no such action
      "T 1 x 1 1 1\n" + e + r + "S 0 0 0 2 0 " + o + "\nZ\n",  // neither 0 nor 1
      "T 1 x 1 1 1\n" + e + r + "S 0 0 0 0 " + o + "\nZ\n",    // a field too few
  };
  for (const std::string& text : bad) {
    EXPECT_THROW(ParseMinatarTrace(text), std::runtime_error) << text;
  }
}

}  // namespace
}  // namespace metronome
