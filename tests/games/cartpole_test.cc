// Cartpole by hand: what the rules say about single steps. See cartpole_trace_test.cc for whole episodes.
#include "games/cartpole.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>

#include "metronome/core/rng.h"
#include "metronome/games/time_limit.h"

namespace metronome {
namespace {

constexpr double kPositionLimit = 2.4;
constexpr double kAngleLimit = 0.20943951023931953;  // 12 degrees

Cartpole MakeCartpole(bool sutton_barto_reward = false) {
  GameParameters parameters(CartpoleInfo().parameters);
  parameters.Set("sutton_barto_reward", sutton_barto_reward);
  return Cartpole(parameters);
}

TEST(CartpoleTest, StartsWithFourDrawsWithinAFewCentimetresOfUpright) {
  Cartpole game = MakeCartpole();
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    game.Reset(seed);
    Rng draws(seed);
    for (const double part :
         {game.state().position, game.state().velocity, game.state().angle, game.state().angular_velocity}) {
      ASSERT_GE(part, -0.05);
      ASSERT_LT(part, 0.05);
      ASSERT_EQ(part, draws.Uniform(-0.05, 0.05));
    }
  }
}

// At rest and upright, by hand: t = 10 / 1.1 = 100/11, alpha = -t / (0.5 * (4/3 - 0.1/1.1)) = -600/41,
// a = t - 0.05 * alpha / 1.1 = 400/41; the velocities change by a fiftieth of a and alpha, the positions not
// yet.
TEST(CartpoleTest, PushFromRestChangesTheVelocitiesAsOnPaper) {
  Cartpole game = MakeCartpole();
  for (const int action : {0, 1}) {
    game.SetState({});
    game.Step(action);
    const double sign = action == 1 ? 1.0 : -1.0;
    EXPECT_EQ(game.state().position, 0.0);
    EXPECT_NEAR(game.state().velocity, sign * 8.0 / 41.0, 1e-15);
    EXPECT_EQ(game.state().angle, 0.0);
    EXPECT_NEAR(game.state().angular_velocity, -sign * 12.0 / 41.0, 1e-15);
  }
}

TEST(CartpoleTest, PositionsMoveWithTheOldVelocities) {
  Cartpole game = MakeCartpole();
  game.SetState({.position = 1.0, .velocity = 2.0, .angle = 0.1, .angular_velocity = -1.5});
  game.Step(1);
  EXPECT_DOUBLE_EQ(game.state().position, 1.0 + 0.02 * 2.0);
  EXPECT_DOUBLE_EQ(game.state().angle, 0.1 + 0.02 * -1.5);
}

// Worked out in another language with the formulas of the rules; at such speeds every other order of
// operations changes a last digit, which the traces of ordinary play do not show.
TEST(CartpoleTest, FastPolesFollowTheFormulasOrderOfOperations) {
  struct Case {
    Cartpole::State before;
    int action;
    Cartpole::State after;
  };
  const Case kCases[] = {
      {{-1.91, 0.02, -0.174, 23.7}, 1, {-1.9096, 0.12247268214664092, 0.3, 23.497713701955078}},
      {{0.99, -0.05, -0.146, 16.4}, 1, {0.989, 0.10876586172327503, 0.18199999999999997, 16.121613223995244}},
      {{-0.36, -0.17, 0.155, -23.9},
       1,
       {-0.3634, 0.10848145600580852, -0.32299999999999995, -24.26732658526921}},
      {{0.24, -0.82, 0.115, -24.9}, 1, {0.2236, -0.5573569787182115, -0.383, -25.257626784829046}},
      {{-1.74, 1.77, -0.083, -14.2}, 1, {-1.7046, 1.9499071738121638, -0.367, -14.493305750922268}},
      {{0.65, -1.5, -0.147, 22.1}, 1, {0.62, -1.3727929280432893, 0.29500000000000004, 21.868184777043282}},
  };
  for (const Case& c : kCases) {
    Cartpole game = MakeCartpole();
    game.SetState(c.before);
    game.Step(c.action);
    EXPECT_EQ(game.state().position, c.after.position);
    EXPECT_EQ(game.state().angle, c.after.angle);
#ifdef __GLIBC__
    EXPECT_EQ(game.state().velocity, c.after.velocity);
    EXPECT_EQ(game.state().angular_velocity, c.after.angular_velocity);
#else
    EXPECT_DOUBLE_EQ(game.state().velocity, c.after.velocity);
    EXPECT_DOUBLE_EQ(game.state().angular_velocity, c.after.angular_velocity);
#endif
  }
}

TEST(CartpoleTest, MirroredStateAndActionGiveTheMirroredState) {
  Cartpole game = MakeCartpole();
  Cartpole mirror = MakeCartpole();
  game.SetState({.position = 0.3, .velocity = -0.2, .angle = 0.1, .angular_velocity = 0.4});
  mirror.SetState({.position = -0.3, .velocity = 0.2, .angle = -0.1, .angular_velocity = -0.4});
  game.Step(0);
  mirror.Step(1);
  EXPECT_DOUBLE_EQ(game.state().position, -mirror.state().position);
  EXPECT_DOUBLE_EQ(game.state().velocity, -mirror.state().velocity);
  EXPECT_DOUBLE_EQ(game.state().angle, -mirror.state().angle);
  EXPECT_DOUBLE_EQ(game.state().angular_velocity, -mirror.state().angular_velocity);
}

// Without velocity the position and angle after the step are those before it.
TEST(CartpoleTest, TerminatesStrictlyBeyondTheLimits) {
  Cartpole game = MakeCartpole();
  for (const double side : {-1.0, 1.0}) {
    game.SetState({.position = side * kPositionLimit});
    EXPECT_FALSE(game.Step(0).terminated);
    game.SetState({.position = side * std::nextafter(kPositionLimit, 3.0)});
    EXPECT_TRUE(game.Step(0).terminated);
    game.SetState({.angle = side * kAngleLimit});
    EXPECT_FALSE(game.Step(0).terminated);
    game.SetState({.angle = side * std::nextafter(kAngleLimit, 3.0)});
    EXPECT_TRUE(game.Step(0).terminated);
  }
}

TEST(CartpoleTest, EachStepEarnsOneTheLastIncluded) {
  Cartpole game = MakeCartpole();
  game.SetState({.angle = 0.2, .angular_velocity = 0.3});
  const StepResult still_up = game.Step(1);
  EXPECT_EQ(still_up.reward, 1.0f);
  EXPECT_FALSE(still_up.terminated);
  game.SetState({.angle = 0.2, .angular_velocity = 0.6});
  const StepResult fallen = game.Step(1);
  EXPECT_EQ(fallen.reward, 1.0f);
  EXPECT_TRUE(fallen.terminated);
}

TEST(CartpoleTest, TheArticlesRewardIsZeroAndAtTheEndMinusOne) {
  Cartpole game = MakeCartpole(/*sutton_barto_reward=*/true);
  game.SetState({.angle = 0.2, .angular_velocity = 0.3});
  EXPECT_EQ(game.Step(1).reward, 0.0f);
  game.SetState({.angle = 0.2, .angular_velocity = 0.6});
  EXPECT_EQ(game.Step(1).reward, -1.0f);
}

TEST(CartpoleTest, ObservationIsTheStateInSinglePrecision) {
  Cartpole game = MakeCartpole();
  game.SetState({.position = 0.1, .velocity = -0.2, .angle = 0.03, .angular_velocity = -1.0 / 3.0});
  std::array<float, 4> observation{};
  game.WriteObservation(observation);
  EXPECT_EQ(observation, (std::array<float, 4>{0.1f, -0.2f, 0.03f, -1.0f / 3.0f}));
}

TEST(CartpoleTest, HashTellsEachPartOfTheStateApart) {
  Cartpole game = MakeCartpole();
  game.SetState({});
  const std::uint64_t upright = game.StateHash();
  game.SetState({.position = 1e-300});
  EXPECT_NE(game.StateHash(), upright);
  game.SetState({.velocity = 1e-300});
  EXPECT_NE(game.StateHash(), upright);
  game.SetState({.angle = 1e-300});
  EXPECT_NE(game.StateHash(), upright);
  game.SetState({.angular_velocity = 1e-300});
  EXPECT_NE(game.StateHash(), upright);
}

/// Steps that a policy lasts.
template <typename Policy>
int LengthOf(TimeLimit& game, std::uint64_t seed, Policy policy) {
  game.Reset(seed);
  std::array<float, 4> observation{};
  for (;;) {
    game.game().WriteObservation(observation);
    if (game.Step(policy(observation)).ended()) return static_cast<int>(game.steps());
  }
}

TEST(CartpoleTest, ScriptedPolicyBalancesEveryEpisodeToTheLimit) {
  TimeLimit game(MakeGameConfig("cartpole"));
  ASSERT_EQ(game.max_steps(), 500);
  const auto policy = FindGame("cartpole").make_scripted_policy(GameParameters(CartpoleInfo().parameters));
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    policy->Reset();
    ASSERT_EQ(
        LengthOf(game, seed, [&](std::span<const float> observation) { return policy->Act(observation); }),
        500)
        << "seed " << seed;
  }
}

// The random policy's mean length is known from everyone's first experiment: a little above 22.
TEST(CartpoleTest, RandomPolicyLastsSome22Steps) {
  TimeLimit game(MakeGameConfig("cartpole"));
  Rng actions(5);
  double total = 0.0;
  constexpr int kEpisodes = 2000;
  for (std::uint64_t seed = 0; seed < kEpisodes; ++seed) {
    total +=
        LengthOf(game, seed, [&](std::span<const float>) { return static_cast<int>(actions.UniformInt(2)); });
  }
  EXPECT_NEAR(total / kEpisodes, 22.2, 1.0);
}

}  // namespace
}  // namespace metronome
