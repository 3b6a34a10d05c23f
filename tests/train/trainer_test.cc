#include "train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "metronome/core/error.h"
#include "support/allocation_counter.h"
#include "train/probe_games.h"
#include "train/schedule.h"

namespace metronome {
namespace {

RunConfig SmallConfig() {
  RunConfig config;
  config.network.hidden = {16};
  config.learner.batch_size = 16;
  config.replay.capacity = 1000;
  config.replay.warmup = 50;
  config.train.steps = 1'000'000;
  config.device.threads = 1;
  return config;
}

ProbeGame::Rules EndsAfter(std::int64_t length, float reward = 1.0f) {
  return [=](std::int64_t step, int) { return StepResult{reward, step == length}; };
}

TEST(ScheduleTest, EpsilonIsLinearClampedAndDefinedForEveryLength) {
  ExplorationConfig config;
  config.epsilon_start = 1.0;
  config.epsilon_end = 0.1;
  config.epsilon_decay_steps = 1000;
  EXPECT_DOUBLE_EQ(EpsilonAt(config, 0), 1.0);
  EXPECT_DOUBLE_EQ(EpsilonAt(config, 500), 0.55);
  EXPECT_DOUBLE_EQ(EpsilonAt(config, 1000), 0.1);
  EXPECT_DOUBLE_EQ(EpsilonAt(config, 1'000'000'000'000), 0.1);
  config.epsilon_decay_steps = 0;
  EXPECT_DOUBLE_EQ(EpsilonAt(config, 0), 0.1);
}

TEST(TrainerTest, UpdatesBeginWithTheWarmupAndFollowThePeriod) {
  RunConfig config = SmallConfig();
  config.replay.warmup = 40;
  config.train.update_period = 4;
  config.train.updates_per_period = 3;
  config.learner.target_update_period = 10;
  Trainer trainer(config, std::make_unique<ProbeGame>(2, EndsAfter(7)));
  for (int step = 1; step <= 100; ++step) {
    const bool due = step >= 40 && step % 4 == 0;
    ASSERT_EQ(trainer.Step().updated, due) << step;
    const std::int64_t updates = step < 40 ? 0 : 3 * ((step - 40) / 4 + 1);
    ASSERT_EQ(trainer.learner().updates(), updates) << step;
    ASSERT_EQ(trainer.learner().target_syncs(), updates / 10) << step;
    ASSERT_EQ(trainer.replay().size(), step);
  }
}

TEST(TrainerTest, CountsEveryRewardOnceInTheEpisodeItBelongsTo) {
  RunConfig config = SmallConfig();
  Trainer trainer(config, std::make_unique<ProbeGame>(2, [](std::int64_t step, int) {
                    return StepResult{step == 3 ? 10.0f : 1.0f, step == 3};
                  }));
  for (int episode = 1; episode <= 5; ++episode) {
    ASSERT_EQ(trainer.Step().finished, nullptr);
    ASSERT_EQ(trainer.Step().finished, nullptr);
    const FinishedEpisode* finished = trainer.Step().finished;
    ASSERT_NE(finished, nullptr);
    EXPECT_EQ(finished->number, episode);
    EXPECT_EQ(finished->episode_return, 12.0);
    EXPECT_EQ(finished->length, 3);
    EXPECT_TRUE(finished->terminated);
    EXPECT_FALSE(finished->loss.has_value()) << "no update has been made";
  }
}

TEST(TrainerTest, SaysThatAnEpisodeWasTruncatedUnlessItTerminatedInThatVeryStep) {
  RunConfig config = SmallConfig();
  config.game.max_episode_steps = 5;
  for (const std::int64_t rules_end : {100, 5}) {
    Trainer trainer(config, std::make_unique<ProbeGame>(2, EndsAfter(rules_end)));
    const FinishedEpisode* finished = nullptr;
    for (int step = 0; step < 5; ++step) finished = trainer.Step().finished;
    ASSERT_NE(finished, nullptr);
    EXPECT_EQ(finished->terminated, rules_end == 5);
    EXPECT_EQ(trainer.replay().Transition(4).ending,
              rules_end == 5 ? Ending::kTerminated : Ending::kTruncated);
  }
}

TEST(TrainerTest, StoresTheTransitionsThatTheGamePlayed) {
  RunConfig config = SmallConfig();
  auto owned = std::make_unique<ProbeGame>(3, EndsAfter(10, 2.5f));
  const ProbeGame& game = *owned;
  Trainer trainer(config, std::move(owned));
  for (int step = 0; step < 100; ++step) trainer.Step();
  for (std::int64_t i = 0; i < 100; ++i) {
    const TransitionView transition = trainer.replay().Transition(i);
    float observation[2], next[2];
    std::memcpy(observation, transition.observation.data(), sizeof(observation));
    std::memcpy(next, transition.next_observation.data(), sizeof(next));
    ASSERT_EQ(observation[0], static_cast<float>(i % 10)) << i;
    ASSERT_EQ(next[0], static_cast<float>(i % 10 + 1)) << i;
    ASSERT_EQ(observation[1], static_cast<float>(game.seeds[static_cast<std::size_t>(i / 10)] % 1000)) << i;
    ASSERT_EQ(transition.action, game.actions[static_cast<std::size_t>(i)]) << i;
    ASSERT_EQ(transition.reward, 2.5f) << i;
    ASSERT_EQ(transition.discount, i % 10 == 9 ? 0.0f : 0.99f) << i;
  }
}

TEST(TrainerTest, ExploresInTheShareOfStepsThatEpsilonSays) {
  // The only action that a greedy policy would not take is the second: the network prefers what it likes, so
  // count both against a run that is all greedy.
  RunConfig config = SmallConfig();
  config.exploration = {0.1, 0.1, 0};
  config.replay.warmup = 1000;  // no learning on the way
  config.replay.capacity = 1000;
  config.train.update_period = 1'000'000'000;
  auto owned = std::make_unique<ProbeGame>(2, EndsAfter(1'000'000));
  owned->shows_steps = owned->shows_seed = false;  // always the same observation, so one greedy action
  const ProbeGame& game = *owned;
  Trainer trainer(config, std::move(owned));
  for (int step = 0; step < 20'000; ++step) trainer.Step();
  const auto ones = std::count(game.actions.begin(), game.actions.end(), 1);
  const auto rare = std::min<std::int64_t>(ones, 20'000 - ones);
  // A tenth explores, and half of that takes the other action: 1000 of 20,000, standard deviation 31.
  EXPECT_NEAR(static_cast<double>(rare), 1000.0, 150.0);
  EXPECT_EQ(trainer.epsilon(), 0.1);
}

TEST(TrainerTest, ValueGoesOnThroughATruncationAndEndsAtATermination) {
  // One state, reward 1, discount 0.9, episodes of 10 steps. Cut off, the value is 1 / (1 - 0.9) = 10. Where
  // the tenth step terminates, the one observation stands for ten positions, each as likely: Q = 1 + 0.9 *
  // 0.9 * Q, 5.26.
  for (const bool terminates : {false, true}) {
    RunConfig config = SmallConfig();
    config.game.max_episode_steps = 10;
    config.learner.discount = 0.9;
    config.learner.learning_rate = 2e-3;
    config.learner.loss = Loss::kMse;
    config.learner.batch_size = 64;
    config.learner.target_update_period = 20;
    auto owned = std::make_unique<ProbeGame>(1, EndsAfter(terminates ? 10 : 1'000'000));
    owned->shows_steps = owned->shows_seed = false;
    Trainer trainer(config, std::move(owned));
    for (int step = 0; step < 6000; ++step) trainer.Step();
    std::vector<float> q(1);
    const std::vector<float> observation(2);
    trainer.learner().QValues(observation, q);
    EXPECT_NEAR(q[0], terminates ? 5.26f : 10.0f, 0.2f);
  }
}

TEST(TrainerTest, NonFiniteRewardStopsTheRunAtThatStepAndNamesIt) {
  for (const float poison :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    RunConfig config = SmallConfig();
    std::int64_t played = 0;
    Trainer trainer(config, std::make_unique<ProbeGame>(2, [&](std::int64_t step, int) {
                      return StepResult{++played == 5000 ? poison : 1.0f, step == 7};
                    }));
    for (int step = 1; step < 5000; ++step) trainer.Step();
    try {
      trainer.Step();
      FAIL() << "went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kNonFinite);
      EXPECT_THAT(error.what(),
                  testing::AllOf(testing::HasSubstr("step 5000"), testing::HasSubstr("episode 715"),
                                 testing::HasSubstr("reward")));
    }
    for (const float weight : trainer.learner().online()) ASSERT_TRUE(std::isfinite(weight));
  }
}

TEST(TrainerTest, NonFiniteObservationStopsTheRunAndNamesTheFeature) {
  RunConfig config = SmallConfig();
  auto owned = std::make_unique<ProbeGame>(2, EndsAfter(7));
  owned->poison = [](std::int64_t step, std::span<float> out) {
    if (step == 4) out[1] = std::numeric_limits<float>::quiet_NaN();
  };
  Trainer trainer(config, std::move(owned));
  for (int step = 1; step < 4; ++step) trainer.Step();
  try {
    trainer.Step();
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNonFinite);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("step 4"), testing::HasSubstr("element 1 (seed)")));
  }
  EXPECT_EQ(trainer.replay().size(), 3) << "it must not reach the replay";
}

TEST(TrainerTest, NonFiniteWeightStopsTheRunAtThatStepAndNamesIt) {
  RunConfig config = SmallConfig();
  Trainer trained(config, std::make_unique<ProbeGame>(2, EndsAfter(7)));
  while (trained.learner().updates() < 3) trained.Step();
  // A unit that is never on, whose bias Adam pushes far below: Q-values, loss and gradient stay finite.
  Learner& learner = trained.learner();
  std::vector<float> online(learner.online().begin(), learner.online().end());
  std::vector<float> first(learner.first_moment().begin(), learner.first_moment().end());
  std::vector<float> second(learner.second_moment().begin(), learner.second_moment().end());
  const std::vector<float> target(learner.target().begin(), learner.target().end());
  for (const NamedTensor& tensor : learner.tensors()) {
    if (tensor.name != "hidden.0.bias") continue;
    const auto bias = static_cast<std::size_t>(tensor.offset);
    online[bias] = -3.3e38f;
    first[bias] = 1e36f;
    second[bias] = 0.0f;
  }
  Trainer restored(config, std::make_unique<ProbeGame>(2, EndsAfter(7)));
  restored.learner().Restore(online, target, first, second, 3, 0);
  try {
    for (int step = 0; step < 100; ++step) restored.Step();
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNonFinite);
    EXPECT_EQ(restored.learner().updates(), 4) << "the first update after";
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("step "), testing::HasSubstr("episode "),
                                             testing::HasSubstr("the weight hidden.0.bias is -inf")));
  }
}

TEST(TrainerTest, EpisodeThatLedToANonFiniteNumberCanBePlayedAgain) {
  for (const bool in_reward : {true, false}) {
    RunConfig config = SmallConfig();
    auto owned = std::make_unique<ProbeGame>(2, [=](std::int64_t step, int) {
      return StepResult{in_reward && step == 5 ? std::numeric_limits<float>::quiet_NaN() : 1.0f, false};
    });
    owned->poison = [=](std::int64_t step, std::span<float> out) {
      if (!in_reward && step == 5) out[0] = std::numeric_limits<float>::infinity();
    };
    const ProbeGame& game = *owned;
    Trainer trainer(config, std::move(owned));
    EXPECT_THROW(for (int step = 0; step < 5; ++step) trainer.Step(), Error);
    const Recording& recording = trainer.episode_recording();
    // A reward that is no number has no place in a return: the recording ends before it.
    EXPECT_EQ(recording.actions.size(), in_reward ? 4u : 5u);
    EXPECT_TRUE(std::equal(recording.actions.begin(), recording.actions.end(), game.actions.begin()));
    EXPECT_EQ(recording.episode_return, in_reward ? 4.0 : 5.0);
    EXPECT_NO_THROW(SerializeRecording(recording));
  }
}

TEST(TrainerTest, HugeButFiniteObservationsAreTaken) {
  RunConfig config = SmallConfig();
  auto owned = std::make_unique<ProbeGame>(2, EndsAfter(7));
  owned->poison = [](std::int64_t, std::span<float> out) { out[0] = out[1] = 3e38f; };  // their sum overflows
  Trainer trainer(config, std::move(owned));
  for (int step = 0; step < 20; ++step) trainer.Step();
  EXPECT_EQ(trainer.steps(), 20);
}

TEST(TrainerTest, DivergingLearningRateStopsAtTheFirstNonFiniteLossWithFiniteWeights) {
  RunConfig config = SmallConfig();
  config.learner.learning_rate = 1e30;
  config.learner.max_gradient_norm = 0.0;
  Trainer trainer(config, std::make_unique<ProbeGame>(2, EndsAfter(7)));
  try {
    for (int step = 0; step < 2000; ++step) trainer.Step();
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNonFinite);
  }
  for (const float weight : trainer.learner().online()) ASSERT_TRUE(std::isfinite(weight));
}

struct Trace {
  std::vector<std::uint64_t> seeds;
  std::vector<int> actions;
  std::vector<float> weights;
  std::vector<float> first_weights;
  std::vector<double> losses;
};

Trace Play(std::int64_t seed, Engine engine) {
  RunConfig config = SmallConfig();
  config.train.seed = seed;
  config.learner.engine = engine;
  config.exploration = {1.0, 0.1, 300};
  auto owned = std::make_unique<ProbeGame>(4, EndsAfter(9));
  const ProbeGame& game = *owned;
  Trainer trainer(config, std::move(owned));
  Trace trace;
  trace.first_weights.assign(trainer.learner().online().begin(), trainer.learner().online().end());
  for (int step = 0; step < 600; ++step) {
    const FinishedEpisode* finished = trainer.Step().finished;
    if (finished != nullptr && finished->loss) trace.losses.push_back(*finished->loss);
  }
  trace.seeds = game.seeds;
  trace.actions = game.actions;
  trace.weights.assign(trainer.learner().online().begin(), trainer.learner().online().end());
  return trace;
}

TEST(TrainerTest, SameSeedIsTheSameRunAndAnotherSeedChangesEveryStream) {
  for (const Engine engine : {Engine::kStatic, Engine::kAutograd}) {
    const Trace one = Play(1, engine);
    const Trace again = Play(1, engine);
    EXPECT_EQ(one.seeds, again.seeds);
    EXPECT_EQ(one.actions, again.actions);
    EXPECT_EQ(one.losses, again.losses);
    EXPECT_EQ(one.weights, again.weights);
    const Trace other = Play(2, engine);
    EXPECT_NE(one.seeds.front(), other.seeds.front()) << "game";
    EXPECT_NE(std::vector<int>(one.actions.begin(), one.actions.begin() + 40),
              std::vector<int>(other.actions.begin(), other.actions.begin() + 40))
        << "exploration";
    EXPECT_NE(one.first_weights, other.first_weights) << "weights";
  }
  // Another engine changes nothing of what comes before its first update.
  const Trace hand = Play(1, Engine::kStatic);
  const Trace oracle = Play(1, Engine::kAutograd);
  EXPECT_EQ(hand.first_weights, oracle.first_weights);
  EXPECT_EQ(std::vector<int>(hand.actions.begin(), hand.actions.begin() + 50),
            std::vector<int>(oracle.actions.begin(), oracle.actions.begin() + 50));
}

TEST(TrainerTest, SamplingStreamIsItsOwn) {
  // More updates draw more samples, and must not move the game's or the explorer's numbers.
  RunConfig config = SmallConfig();
  config.exploration = {1.0, 1.0, 0};
  std::vector<std::vector<int>> actions;
  std::vector<std::vector<std::uint64_t>> seeds;
  for (const std::int64_t updates : {1, 5}) {
    config.train.updates_per_period = updates;
    auto owned = std::make_unique<ProbeGame>(4, EndsAfter(9));
    const ProbeGame& game = *owned;
    Trainer trainer(config, std::move(owned));
    for (int step = 0; step < 300; ++step) trainer.Step();
    actions.push_back(game.actions);
    seeds.push_back(game.seeds);
  }
  EXPECT_EQ(actions[0], actions[1]);
  EXPECT_EQ(seeds[0], seeds[1]);
}

TEST(TrainerTest, StepAllocatesNothingOverManyEpisodes) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  RunConfig config = SmallConfig();
  config.game.name = "cartpole";
  config.game.parameters = GameParameters(FindGame("cartpole").parameters);
  config.device.threads = 2;
  config.learner.target_update_period = 100;
  Trainer trainer(config);
  for (int step = 0; step < 200; ++step) trainer.Step();
  const std::int64_t episodes_before = trainer.episodes();
  const AllocationScope scope;
  for (int step = 0; step < 20'000; ++step) trainer.Step();
  const std::int64_t count = scope.count();
  EXPECT_EQ(count, 0);
  EXPECT_GT(trainer.episodes(), episodes_before + 50);
  EXPECT_EQ(trainer.replay().size(), 1000) << "the ring has wrapped";
}

TEST(TrainerTest, GenericOpsTakeOneTripAStepAndOneMoreWhereAnEpisodeBegins) {
  // The first observation of an episode is not known when the update before it is made, and nothing else is.
  RunConfig config = SmallConfig();
  config.learner.ops = Ops::kGeneric;
  config.learner.target_update_period = 7;
  config.exploration.epsilon_start = config.exploration.epsilon_end = 0.0;
  Trainer trainer(config, std::make_unique<ProbeGame>(2, EndsAfter(7)));
  while (trainer.learner().updates() == 0) trainer.Step();
  bool begins = trainer.steps() % 7 == 0;
  for (int step = 0; step < 100; ++step) {
    const TransferCounts before = trainer.learner().transfers();
    const Trainer::StepReport report = trainer.Step();
    const TransferCounts after = trainer.learner().transfers();
    ASSERT_TRUE(report.updated);
    const std::int64_t trips = begins ? 2 : 1;
    ASSERT_EQ(after.uploads - before.uploads, trips) << step;
    ASSERT_EQ(after.read_backs - before.read_backs, trips) << step;
    ASSERT_EQ(after.waits - before.waits, trips) << step;
    begins = report.finished != nullptr;
  }
}

TEST(TrainerTest, StepsWithoutAnUpdateTakeOneTripOrNoneWhenTheyExplore) {
  RunConfig config = SmallConfig();
  config.learner.ops = Ops::kGeneric;
  config.train.update_period = 5;
  config.exploration.epsilon_start = config.exploration.epsilon_end = 0.5;
  Trainer trainer(config, std::make_unique<ProbeGame>(2, EndsAfter(1000)));
  while (trainer.learner().updates() == 0) trainer.Step();
  for (int step = 1; step <= 100; ++step) {
    const std::int64_t before = trainer.learner().transfers().uploads;
    const Trainer::StepReport report = trainer.Step();
    // The action that follows an update was computed with it.
    const std::int64_t trips = step % 5 == 1 ? 0 : (report.explored ? 0 : 1);
    ASSERT_EQ(trainer.learner().transfers().uploads - before, trips + (report.updated ? 1 : 0)) << step;
  }
}

TEST(TrainerTest, GenericOpsActOnTheLatestWeightsAndObservation) {
  // The same run with updates of which none is followed by an act in the same trip: two updates a period, of
  // which only the last is. Instead of trusting that, every action is held against the learner's own answer.
  RunConfig config = SmallConfig();
  config.learner.ops = Ops::kGeneric;
  config.learner.learning_rate = 0.05;  // so that old weights would choose otherwise
  config.exploration.epsilon_start = config.exploration.epsilon_end = 0.0;
  auto owned = std::make_unique<ProbeGame>(4, [](std::int64_t step, int action) {
    return StepResult{static_cast<float>((step * 7 + action * 5) % 11) - 5.0f, step == 9};
  });
  const ProbeGame& game = *owned;
  Trainer trainer(config, std::move(owned));
  std::vector<float> observation(2), q(4);
  std::set<int> seen;
  for (int step = 0; step < 400; ++step) {
    // The first observation of an episode comes from a reset within the step.
    const bool begins = step % 9 == 0;
    if (!begins) {
      game.WriteObservation(observation);
      trainer.learner().QValues(observation, q);
    }
    trainer.Step();
    if (begins) continue;
    const auto best = std::max_element(q.begin(), q.end()) - q.begin();
    ASSERT_EQ(game.actions.back(), best) << step;
    seen.insert(game.actions.back());
  }
  EXPECT_GT(seen.size(), 1u) << "the weights have to change what is chosen, or nothing was tested";
}

}  // namespace
}  // namespace metronome
