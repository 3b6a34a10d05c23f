// What the five games share: sticky actions, the sets of actions, the parameters.
#include "games/minatar/minatar_game.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "games/minatar/breakout.h"
#include "games/minatar/dealt_game.h"

namespace metronome {
namespace {

using enum MinatarAction;

class StickyActionTest : public testing::Test {
 protected:
  StickyActionTest() : game_(GameParameters(BreakoutInfo().parameters)) {
    game_.set_script(&chance_);
    chance_.Deal({0});
    game_.BeginOriginal();
  }
  /// The action executed when `asked` is asked for and chance deals `outcome`.
  MinatarAction Executed(MinatarAction asked, double outcome) {
    chance_.Deal({outcome});
    game_.StepOriginal(asked);
    EXPECT_TRUE(chance_.all_used());
    return game_.last_action();
  }

  Breakout game_;
  DealtChance chance_;
};

TEST_F(StickyActionTest, RepeatsTheExecutedActionBelowTheProbabilityAlone) {
  EXPECT_EQ(Executed(kLeft, 0.05), kNone) << "nothing was executed before";
  EXPECT_EQ(Executed(kLeft, 0.1), kLeft) << "0.1 is not below 0.1";
  EXPECT_EQ(Executed(kRight, std::nextafter(0.1, 0.0)), kLeft);
  EXPECT_EQ(Executed(kFire, 0.0), kLeft) << "the executed one, not the one that was asked for";
  EXPECT_EQ(Executed(kFire, 0.9), kFire);
}

TEST_F(StickyActionTest, DrawsWhenTheProbabilityIsZeroToo) {
  game_.set_options({.sticky_action_probability = 0.0});
  EXPECT_EQ(Executed(kLeft, 0.9), kLeft);
  EXPECT_EQ(Executed(kRight, 0.0), kRight);
}

TEST_F(StickyActionTest, CarriesOverIntoTheNextEpisodeOfTheOriginalButNotOfOurs) {
  EXPECT_EQ(Executed(kLeft, 0.9), kLeft);
  chance_.Deal({1});
  game_.BeginOriginal();
  EXPECT_EQ(Executed(kRight, 0.0), kLeft);
  chance_.Deal({1});
  game_.Reset(5);
  EXPECT_EQ(Executed(kRight, 0.0), kNone);
}

TEST_F(StickyActionTest, AfterTheEndOnlyTheDrawIsMade) {
  for (int i = 0; i < 6; ++i)
    Executed(kNone, 0.9);  // the ball comes down in columns 5 and 6, the paddle is in 4
  chance_.Deal({0.9});
  ASSERT_TRUE(game_.StepOriginal(kRight).terminated);
  const int paddle = game_.state().paddle_column;
  chance_.Deal({0.9});
  const StepResult after = game_.StepOriginal(kLeft);
  EXPECT_TRUE(chance_.all_used());
  EXPECT_TRUE(after.terminated);
  EXPECT_EQ(after.reward, 0.0f);
  EXPECT_EQ(game_.state().paddle_column, paddle);
  EXPECT_EQ(game_.last_action(), kLeft);
}

TEST(MinatarParametersTest, AStickyProbabilityOfOneExecutesNothing) {
  GameParameters parameters(BreakoutInfo().parameters);
  parameters.Set("sticky_action_probability", 1.0);
  Breakout game(parameters);
  game.Reset(1);
  for (int i = 0; i < 4; ++i) game.Step(1);
  EXPECT_EQ(game.state().paddle_column, 4);
}

TEST(MinatarParametersTest, TheShareOfStickyActionsIsTheProbability) {
  Breakout game(GameParameters(BreakoutInfo().parameters));
  int steps = 0;
  int sticky = 0;
  for (std::uint64_t seed = 0; steps < 20'000; ++seed) {
    game.Reset(seed);
    // Alternating, so that a repeated action is never the one asked for.
    for (int asked = 0;; asked = (asked + 1) % 6) {
      const MinatarAction last = game.last_action();
      if (static_cast<int>(last) == asked) continue;
      ++steps;
      const bool ended = game.Step(asked).terminated;
      if (game.last_action() == last) ++sticky;
      if (ended) break;
    }
  }
  EXPECT_NEAR(static_cast<double>(sticky) / steps, 0.1, 0.01);  // four standard deviations
}

std::string ActionNames(const std::string& name, bool minimal) {
  GameParameters parameters(FindGame(name).parameters);
  parameters.Set("minimal_actions", minimal);
  const auto game = MakeGame(name, parameters);
  std::string names;
  for (const ActionSpec& action : game->spec().actions) names.append(action.name).append(" ");
  return names;
}

TEST(MinatarParametersTest, MinimalActionsAreThoseThatDoSomething) {
  EXPECT_EQ(ActionNames("asterix", true), "none left up right down ");
  EXPECT_EQ(ActionNames("breakout", true), "none left right ");
  EXPECT_EQ(ActionNames("freeway", true), "none up down ");
  EXPECT_EQ(ActionNames("seaquest", true), "none left up right down fire ");
  EXPECT_EQ(ActionNames("space_invaders", true), "none left right fire ");
  for (const std::string name : {"asterix", "breakout", "freeway", "seaquest", "space_invaders"}) {
    EXPECT_EQ(ActionNames(name, false), "none left up right down fire ") << name;
  }
}

TEST(MinatarParametersTest, AnActionOfTheMinimalSetIsTheOneOfItsName) {
  GameParameters parameters(BreakoutInfo().parameters);
  parameters.Set("minimal_actions", true);
  parameters.Set("sticky_action_probability", 0.0);
  Breakout game(parameters);
  game.Reset(1);
  game.Step(2);
  EXPECT_EQ(game.state().paddle_column, 5) << "right is action 2 of 3";
}

TEST(MinatarParametersTest, OnlyGamesThatRampCanBeToldNotTo) {
  for (const std::string name : {"asterix", "breakout", "freeway", "seaquest", "space_invaders"}) {
    bool declared = false;
    for (const ParameterSpec& spec : FindGame(name).parameters) declared |= spec.name == "difficulty_ramping";
    EXPECT_EQ(declared, name != "breakout" && name != "freeway") << name;
  }
}

TEST(MinatarPolicyTest, PlaysTheSameWithEitherSetOfActions) {
  for (const std::string name : {"asterix", "breakout", "freeway", "space_invaders"}) {
    const GameInfo& info = FindGame(name);
    GameParameters parameters(info.parameters);
    const double with_six = MeanScriptedReturn(info, parameters, 3);
    parameters.Set("minimal_actions", true);
    EXPECT_EQ(MeanScriptedReturn(info, parameters, 3), with_six) << name;
  }
}

// Random play earns 0.5, 0.5, 0.2, 0.1 and 2.9.
TEST(MinatarPolicyTest, EarnsFarMoreThanRandomPlay) {
  const std::vector<std::pair<std::string, double>> least = {
      {"asterix", 30.0}, {"breakout", 80.0}, {"freeway", 58.0}, {"seaquest", 50.0}, {"space_invaders", 35.0}};
  for (const auto& [name, wanted] : least) {
    const GameInfo& info = FindGame(name);
    EXPECT_GT(MeanScriptedReturn(info, GameParameters(info.parameters), 20), wanted) << name;
  }
}

}  // namespace
}  // namespace metronome
