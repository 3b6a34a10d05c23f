#include "metronome/games/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "metronome/core/error.h"

namespace metronome {
namespace {

TEST(RegistryTest, NamesAreUniqueAndSorted) {
  ASSERT_FALSE(Games().empty());
  for (std::size_t i = 1; i < Games().size(); ++i) EXPECT_LT(Games()[i - 1].name, Games()[i].name);
}

TEST(RegistryTest, FindsAndMakesEveryGameByItsName) {
  for (const GameInfo& info : Games()) {
    EXPECT_EQ(&FindGame(info.name), &info);
    EXPECT_EQ(MakeGame(info.name)->spec().name, info.name);
    EXPECT_EQ(MakeGameConfig(info.name).name, info.name);
    EXPECT_FALSE(MakeGameConfig(info.name).max_episode_steps.has_value());
  }
}

TEST(RegistryTest, UnknownNameIsRefusedWithTheNearestAndAll) {
  try {
    FindGame("cartpoel");
    FAIL() << "a game that does not exist was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_THAT(error.what(), testing::HasSubstr("\"cartpoel\""));
    EXPECT_THAT(error.what(), testing::HasSubstr("nearest is \"cartpole\""));
    for (const GameInfo& info : Games()) EXPECT_THAT(error.what(), testing::HasSubstr(info.name));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(RegistryTest, ParametersReachTheGame) {
  GameParameters parameters(FindGame("cartpole").parameters);
  parameters.Set("sutton_barto_reward", true);
  const auto game = MakeGame("cartpole", parameters);
  game->Reset(1);
  EXPECT_EQ(game->Step(0).reward, 0.0f);
}

TEST(RegistryDeathTest, ParametersOfAnotherGameAbort) {
  EXPECT_DEATH(MakeGame("cartpole", GameParameters()), "check failed");
}

}  // namespace
}  // namespace metronome
