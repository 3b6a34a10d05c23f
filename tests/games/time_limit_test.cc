#include "metronome/games/time_limit.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "metronome/games/recording.h"

namespace metronome {
namespace {

/// Hands out the given rewards, one a step, and terminates with the last one; with none it goes on for ever
/// at reward 1. The observation is the number of steps.
class ProbeGame final : public Game {
 public:
  explicit ProbeGame(std::vector<float> rewards) : rewards_(std::move(rewards)) {
    spec_.name = "probe";
    spec_.actions = {{"wait", {}}, {"go", {"Space"}}};
    spec_.observation.shape = {1};
    spec_.observation.features = {{"steps", 0.0, 1e9}};
  }
  const GameSpec& spec() const override { return spec_; }
  void Reset(std::uint64_t) override { step_ = 0; }
  StepResult Step(int) override {
    ++step_;
    if (rewards_.empty()) return {.reward = 1.0f, .terminated = false};
    return {.reward = rewards_.at(step_ - 1), .terminated = step_ == rewards_.size()};
  }
  void WriteObservation(std::span<float> out) const override { out[0] = static_cast<float>(step_); }
  std::uint64_t StateHash() const override { return step_; }
  void Draw(DrawList& out) const override { out.Circle({}, 1.0f, {}); }

 private:
  GameSpec spec_;
  std::vector<float> rewards_;
  std::size_t step_ = 0;
};

TimeLimit Limited(std::vector<float> rewards, std::int64_t max_steps) {
  return TimeLimit(std::make_unique<ProbeGame>(std::move(rewards)), max_steps);
}

TEST(TimeLimitTest, TruncatesAtTheLimitWithoutTermination) {
  TimeLimit game = Limited({}, 3);
  game.Reset(1);
  for (int i = 0; i < 2; ++i) {
    const EpisodeStep step = game.Step(0);
    EXPECT_FALSE(step.terminated);
    EXPECT_FALSE(step.truncated);
    EXPECT_FALSE(step.ended());
  }
  const EpisodeStep last = game.Step(0);
  EXPECT_FALSE(last.terminated);
  EXPECT_TRUE(last.truncated);
  EXPECT_TRUE(last.ended());
  EXPECT_EQ(last.reward, 1.0f);
  EXPECT_EQ(game.steps(), 3);
}

TEST(TimeLimitTest, TerminationBeforeTheLimitIsNotTruncation) {
  TimeLimit game = Limited({1, 1}, 3);
  game.Reset(1);
  EXPECT_FALSE(game.Step(0).ended());
  const EpisodeStep last = game.Step(0);
  EXPECT_TRUE(last.terminated);
  EXPECT_FALSE(last.truncated);
}

TEST(TimeLimitTest, BothFlagsAreUpWhenTheGameEndsInTheLastStep) {
  TimeLimit game = Limited({1, 1, 1}, 3);
  game.Reset(1);
  game.Step(0);
  game.Step(0);
  const EpisodeStep last = game.Step(0);
  EXPECT_TRUE(last.terminated);
  EXPECT_TRUE(last.truncated);
}

TEST(TimeLimitTest, ZeroSetsNoLimit) {
  TimeLimit game = Limited({}, 0);
  game.Reset(1);
  for (int i = 0; i < 100'000; ++i) ASSERT_FALSE(game.Step(0).ended()) << "step " << i;
  EXPECT_EQ(game.steps(), 100'000);
}

TEST(TimeLimitTest, LimitOfOneEndsEveryEpisodeAtItsFirstStep) {
  TimeLimit game = Limited({}, 1);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    game.Reset(seed);
    EXPECT_TRUE(game.Step(0).truncated);
  }
}

TEST(TimeLimitTest, ResetStartsCountingAnew) {
  TimeLimit game = Limited({}, 3);
  game.Reset(1);
  game.Step(0);
  game.Step(0);
  game.Reset(1);
  EXPECT_EQ(game.steps(), 0);
  EXPECT_FALSE(game.Step(0).truncated);
  EXPECT_FALSE(game.Step(0).truncated);
  EXPECT_TRUE(game.Step(0).truncated);
}

// The last reward belongs to its own episode: 12 both times, not 2 and 22.
TEST(TimeLimitTest, EveryRewardIsCountedOnceInItsOwnEpisode) {
  for (const std::int64_t limit : {0, 3, 10}) {
    TimeLimit game = Limited({1, 1, 10}, limit);
    for (int episode = 0; episode < 2; ++episode) {
      game.Reset(1);
      double total = 0.0;
      EpisodeStep step;
      while (!step.ended()) {
        step = game.Step(0);
        total += static_cast<double>(step.reward);
      }
      EXPECT_EQ(total, 12.0) << "limit " << limit << " episode " << episode;
      EXPECT_EQ(game.steps(), 3) << "limit " << limit << " episode " << episode;
    }
  }
}

TEST(TimeLimitTest, ConfigWithoutALimitTakesTheGamesOwn) {
  GameConfig config = MakeGameConfig("cartpole");
  EXPECT_EQ(TimeLimit(config).max_steps(), 500);
  config.max_episode_steps = 20;
  EXPECT_EQ(TimeLimit(config).max_steps(), 20);
  config.max_episode_steps = 0;
  EXPECT_EQ(TimeLimit(config).max_steps(), 0);
}

TEST(TimeLimitDeathTest, SteppingOutsideAnEpisodeAborts) {
  TimeLimit game = Limited({}, 2);
  EXPECT_DEATH(game.Step(0), "check failed") << "before Reset";
  game.Reset(1);
  game.Step(0);
  game.Step(0);
  EXPECT_DEATH(game.Step(0), "check failed") << "after truncation";
  TimeLimit terminated = Limited({1}, 5);
  terminated.Reset(1);
  terminated.Step(0);
  EXPECT_DEATH(terminated.Step(0), "check failed") << "after termination";
  EXPECT_DEATH(Limited({}, -1), "check failed") << "negative limit";
}

}  // namespace
}  // namespace metronome
