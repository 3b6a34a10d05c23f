// Cartpole against episodes that the original played.
#include "games/cartpole_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "games/trace_records.h"
#include "metronome/core/file.h"
#include "metronome/games/time_limit.h"

namespace metronome {
namespace {

constexpr std::int64_t kStepLimit = 500;
// After the first flag three more steps were recorded; stepping on is outside the contract of a game.
constexpr std::size_t kStepsAfterTheEnd = 3;

CartpoleTrace ReadTrace() { return ParseCartpoleTrace(ReadFile(TraceFolder() / "cartpole.txt")); }

TimeLimit MakeLimitedCartpole() {
  return TimeLimit(std::make_unique<Cartpole>(GameParameters(CartpoleInfo().parameters)), kStepLimit);
}

Cartpole& CartpoleOf(TimeLimit& limited) { return static_cast<Cartpole&>(limited.game()); }

std::array<double, 4> Parts(const Cartpole::State& state) {
  return {state.position, state.velocity, state.angle, state.angular_velocity};
}

/// Steps of an episode up to and including the one that ends it; all where none does.
std::size_t StepsToTheEnd(const CartpoleTrace::Episode& episode) {
  const auto end =
      std::find_if(episode.steps.begin(), episode.steps.end(),
                   [](const CartpoleTrace::Step& step) { return step.terminated || step.truncated; });
  if (end == episode.steps.end()) return episode.steps.size();
  return static_cast<std::size_t>(end - episode.steps.begin()) + 1;
}

TEST(CartpoleTraceTest, EachStepFromTheRecordedStateGivesTheRecordedOne) {
  const CartpoleTrace trace = ReadTrace();
  std::size_t compared = 0;
  std::size_t after_the_end = 0;
  for (const CartpoleTrace::Episode& episode : trace.episodes) {
    TimeLimit game = MakeLimitedCartpole();
    game.Reset(1);
    Cartpole::State state = episode.start;
    const std::size_t steps = StepsToTheEnd(episode);
    for (std::size_t i = 0; i < steps; ++i) {
      const CartpoleTrace::Step& want = episode.steps[i];
      SCOPED_TRACE(episode.label + ", line " + std::to_string(want.line));
      CartpoleOf(game).SetState(state);  // the step counter is the limit's and runs on
      const EpisodeStep got = game.Step(want.action);
      const auto got_parts = Parts(CartpoleOf(game).state());
      const auto want_parts = Parts(want.state);
      std::array<float, 4> observation{};
      game.game().WriteObservation(observation);
      for (std::size_t part = 0; part < want_parts.size(); ++part) {
        const double tolerance = 1e-12 * std::max(1.0, std::abs(want_parts[part]));
        ASSERT_NEAR(got_parts[part], want_parts[part], tolerance) << "part " << part;
        ASSERT_EQ(observation[part], static_cast<float>(got_parts[part])) << "part " << part;
      }
      ASSERT_EQ(static_cast<double>(got.reward), want.reward);
      ASSERT_EQ(got.terminated, want.terminated);
      ASSERT_EQ(got.truncated, want.truncated);
      state = want.state;
      ++compared;
    }
    ASSERT_LE(episode.steps.size() - steps, kStepsAfterTheEnd) << episode.label;
    after_the_end += episode.steps.size() - steps;
  }
  RecordProperty("steps_compared", static_cast<int>(compared));
  RecordProperty("steps_after_the_end_skipped", static_cast<int>(after_the_end));
  EXPECT_GT(compared, 0u);
}

TEST(CartpoleTraceTest, WholeEpisodesRunFreelyToTheSameBits) {
#ifndef __GLIBC__
  GTEST_SKIP() << "the traces were made with glibc's sin and cos; another C library rounds a few differently";
#else
  for (const CartpoleTrace::Episode& episode : ReadTrace().episodes) {
    TimeLimit game = MakeLimitedCartpole();
    game.Reset(1);
    CartpoleOf(game).SetState(episode.start);
    const std::size_t steps = StepsToTheEnd(episode);
    for (std::size_t i = 0; i < steps; ++i) {
      const CartpoleTrace::Step& want = episode.steps[i];
      game.Step(want.action);
      ASSERT_EQ(Parts(CartpoleOf(game).state()), Parts(want.state))
          << episode.label << ", step " << i << ", line " << want.line;
    }
  }
#endif
}

// The trace that ships with the source has every kind of end, so that the comparison above means something.
TEST(CartpoleTraceTest, HasTerminatedTruncatedAndBoth) {
  int terminated = 0;
  int truncated = 0;
  int both = 0;
  for (const CartpoleTrace::Episode& episode : ReadTrace().episodes) {
    const CartpoleTrace::Step& end = episode.steps[StepsToTheEnd(episode) - 1];
    terminated += end.terminated && !end.truncated ? 1 : 0;
    truncated += end.truncated && !end.terminated ? 1 : 0;
    both += end.terminated && end.truncated ? 1 : 0;
  }
  EXPECT_GT(terminated, 0);
  EXPECT_GT(truncated, 0);
  EXPECT_GT(both, 0);
}

TEST(CartpoleTraceReaderTest, ReadsASmallFile) {
  const CartpoleTrace trace = ParseCartpoleTrace(
      "# comment\nT 1 cartpole 2 1\nE 0 first\nR 0 0.5 -1e-05 2\n# comment\nS 1 1 2 3 4 1.0 1 0\n"
      "E 1 second\nR 1 1 1 1\nZ\n");
  ASSERT_EQ(trace.episodes.size(), 2u);
  EXPECT_EQ(trace.episodes[0].label, "first");
  EXPECT_EQ(Parts(trace.episodes[0].start), (std::array<double, 4>{0, 0.5, -1e-5, 2}));
  ASSERT_EQ(trace.episodes[0].steps.size(), 1u);
  EXPECT_EQ(trace.episodes[0].steps[0].action, 1);
  EXPECT_EQ(trace.episodes[0].steps[0].line, 6);
  EXPECT_EQ(Parts(trace.episodes[0].steps[0].state), (std::array<double, 4>{1, 2, 3, 4}));
  EXPECT_EQ(trace.episodes[0].steps[0].reward, 1.0);
  EXPECT_TRUE(trace.episodes[0].steps[0].terminated);
  EXPECT_FALSE(trace.episodes[0].steps[0].truncated);
  EXPECT_TRUE(trace.episodes[1].steps.empty());
}

TEST(CartpoleTraceReaderTest, RefusesWhatIsNotATrace) {
  const std::string_view kBad[] = {
      "",                                                              // nothing
      "Z\n",                                                           // no T
      "T 1 cartpole 0 0\n",                                            // no Z
      "T 1 cartpole 0 0\nZ",                                           // cut before the end of line
      "T 1 cartpole 0 0\nZ\n\n",                                       // something after Z
      "T 2 cartpole 0 0\nZ\n",                                         // other version
      "T 1 breakout 0 0\nZ\n",                                         // other game
      "T 1 cartpole 1 0\nZ\n",                                         // an episode too few
      "T 1 cartpole 0 0\nE 0 a\nR 0 0 0 0\nZ\n",                       // an episode too many
      "T 1 cartpole 1 1\nE 0 a\nR 0 0 0 0\nZ\n",                       // a step too few
      "T 1 cartpole 1 0\nE 0 a\nR 0 0 0 0\nS 0 0 0 0 0 1.0 0 0\nZ\n",  // a step too many
      "T 1 cartpole 1 0\nE 1 a\nR 0 0 0 0\nZ\n",                       // numbers start from 0
      "T 1 cartpole 1 0\nE 0 a\nZ\n",                                  // no R
      "T 1 cartpole 1 0\nR 0 0 0 0\nZ\n",                              // R without E
      "T 1 cartpole 1 1\nS 0 0 0 0 0 1.0 0 0\nE 0 a\nR 0 0 0 0\nZ\n",  // S without R
      "T 1 cartpole 1 0\nE 0 a\nR 0 0 0\nZ\n",                         // a number too few
      "T 1 cartpole 1 0\nE 0 a\nR 0 0 0 x\nZ\n",                       // text for a number
      "T 1 cartpole 1 0\nE 0 a\nR 0 0 0 nan\nZ\n",                     // not finite
      "T 1 cartpole 1 0\nE 0 a\nR 0 0  0 0\nZ\n",                      // two spaces
      "T 1 cartpole 1 1\nE 0 a\nR 0 0 0 0\nS 2 0 0 0 0 1.0 0 0\nZ\n",  // no such action
      "T 1 cartpole 1 1\nE 0 a\nR 0 0 0 0\nS 0 0 0 0 0 1.0 0\nZ\n",    // a flag too few
      "T 1 cartpole 1 0\nE 0 a\nR 0 0 0 0\nQ\nZ\n",                    // no such record
  };
  for (const std::string_view text : kBad) {
    EXPECT_THROW(ParseCartpoleTrace(text), std::runtime_error) << text;
  }
}

}  // namespace
}  // namespace metronome
