#include "metronome/train/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "metronome/core/error.h"
#include "metronome/core/stop_signal.h"
#include "train/probe_games.h"

namespace metronome {
namespace {

/// A learner whose Q-values are given; it can't be trained.
class FixedLearner : public Learner {
 public:
  explicit FixedLearner(std::vector<float> q) : q_(std::move(q)) {}
  void QValues(std::span<const float>, std::span<float> q_values) override {
    std::copy(q_.begin(), q_.end(), q_values.begin());
  }
  const BatchView& batch() override { return batch_; }
  UpdateResult Update() override { return {}; }
  std::span<const NamedTensor> tensors() const override { return {}; }
  std::span<const float> online() override { return {}; }
  std::span<const float> target() override { return {}; }
  std::span<const float> first_moment() override { return {}; }
  std::span<const float> second_moment() override { return {}; }
  void Restore(std::span<const float>, std::span<const float>, std::span<const float>, std::span<const float>,
               std::int64_t, std::int64_t) override {}
  std::string description() const override { return "fixed"; }
  int threads() const override { return 1; }

 private:
  std::vector<float> q_;
  BatchView batch_;
};

TEST(EvaluateTest, CountsTheLastRewardAndCarriesNothingOver) {
  TimeLimit environment(std::make_unique<ProbeGame>(2,
                                                    [](std::int64_t step, int) {
                                                      return StepResult{step == 3 ? 10.0f : 1.0f, step == 3};
                                                    }),
                        0);
  const auto policy = MakeRandomPolicy(2, Rng(1));
  Rng seeds(1);
  const auto result = Evaluate(environment, *policy, 2, seeds);
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->episodes.size(), 2u);
  for (const EpisodeOutcome& episode : result->episodes) {
    EXPECT_EQ(episode.episode_return, 12.0);
    EXPECT_EQ(episode.length, 3);
    EXPECT_TRUE(episode.terminated);
  }
}

TEST(EvaluateTest, ListsEveryEpisodeWithHowItEnded) {
  // Episodes 2 and 4 never terminate, so the limit of 6 steps cuts them.
  int episode = 0;
  TimeLimit environment(std::make_unique<ProbeGame>(1,
                                                    [&](std::int64_t step, int) {
                                                      if (step == 1) ++episode;
                                                      return StepResult{1.0f, episode % 2 == 1 && step == 2};
                                                    }),
                        6);
  const auto policy = MakeRandomPolicy(1, Rng(1));
  Rng seeds(1);
  const auto result = Evaluate(environment, *policy, 5, seeds);
  ASSERT_TRUE(result.has_value());
  std::vector<std::int64_t> lengths;
  for (const EpisodeOutcome& outcome : result->episodes) {
    lengths.push_back(outcome.length);
    EXPECT_EQ(outcome.terminated, outcome.length == 2);
  }
  EXPECT_THAT(lengths, testing::ElementsAre(2, 6, 2, 6, 2));
  // Returns 2, 6, 2, 6, 2: mean 3.6, squares (1.6^2 * 3 + 2.4^2 * 2) / 5 = 3.84.
  EXPECT_DOUBLE_EQ(result->mean, 3.6);
  EXPECT_NEAR(result->std, std::sqrt(3.84), 1e-12);
  EXPECT_EQ(result->min, 2.0);
  EXPECT_EQ(result->max, 6.0);
}

TEST(EvaluateTest, GreedyPolicyTakesTheLargestQValueAlways) {
  FixedLearner learner({0.1f, 0.5f, -3.0f, 0.5f});
  const auto policy = MakeGreedyPolicy(learner, 4, 0.0, Rng(1));
  const std::vector<float> observation(2);
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(policy->Act(observation), 1) << "the first of the two largest";
}

TEST(EvaluateTest, GreedyPolicyExploresInTheShareOfStepsAskedFor) {
  FixedLearner learner({0.0f, 1.0f});
  const auto policy = MakeGreedyPolicy(learner, 2, 0.2, Rng(1));
  const std::vector<float> observation(2);
  int other = 0;
  for (int i = 0; i < 10'000; ++i) other += policy->Act(observation) == 0 ? 1 : 0;
  EXPECT_NEAR(other, 1000, 150);  // half of a fifth; standard deviation 30
}

TEST(EvaluateTest, EqualStreamsPlayEqualEpisodes) {
  GameConfig game;
  game.name = "cartpole";
  game.parameters = GameParameters(FindGame("cartpole").parameters);
  FixedLearner learner({0.0f, 1.0f});
  std::vector<std::vector<std::int64_t>> lengths;
  for (int run = 0; run < 2; ++run) {
    const auto policy = MakeRandomPolicy(2, Rng(3));
    Rng seeds(4);
    const auto result = Evaluate(game, *policy, 20, seeds);
    ASSERT_TRUE(result.has_value());
    lengths.emplace_back();
    for (const EpisodeOutcome& outcome : result->episodes) lengths.back().push_back(outcome.length);
  }
  EXPECT_EQ(lengths[0], lengths[1]);
}

TEST(EvaluateTest, NonFiniteRewardIsRefusedWithItsPlace) {
  TimeLimit environment(
      std::make_unique<ProbeGame>(
          1,
          [](std::int64_t step, int) {
            return StepResult{step == 4 ? std::numeric_limits<float>::quiet_NaN() : 1.0f, false};
          }),
      10);
  const auto policy = MakeRandomPolicy(1, Rng(1));
  Rng seeds(1);
  try {
    Evaluate(environment, *policy, 2, seeds);
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNonFinite);
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("episode 1"), testing::HasSubstr("step 4")));
  }
}

TEST(EvaluateTest, StopSignalEndsAnEpisodeThatWouldGoOnForever) {
  int steps = 0;
  TimeLimit environment(std::make_unique<ProbeGame>(1,
                                                    [&](std::int64_t, int) {
                                                      if (++steps == 100) std::raise(SIGTERM);
                                                      return StepResult{1.0f, false};
                                                    }),
                        0);
  StopSignal::Install();
  StopSignal::Clear();
  const auto policy = MakeRandomPolicy(1, Rng(1));
  Rng seeds(1);
  EXPECT_FALSE(Evaluate(environment, *policy, 1, seeds).has_value());
  EXPECT_EQ(steps, 100);
  StopSignal::Clear();
}

TEST(EvaluateTest, ScriptedPlayersComeFromTheRegistry) {
  GameConfig game;
  game.name = "cartpole";
  game.parameters = GameParameters(FindGame("cartpole").parameters);
  const auto policy = MakeScriptedPolicy(game);
  Rng seeds(1);
  const auto result = Evaluate(game, *policy, 10, seeds);
  ASSERT_TRUE(result.has_value());
  EXPECT_GT(result->mean, 400.0);
}

}  // namespace
}  // namespace metronome
