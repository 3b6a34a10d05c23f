#include "metronome/games/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "metronome/core/error.h"

namespace metronome {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::vector<ParameterSpec> Specs() {
  return {
      {.name = "gravity", .default_value = 9.8, .low = 0.0, .high = 20.0, .unit = "m/s^2", .meaning = "pull"},
      {.name = "lives",
       .default_value = std::int64_t{3},
       .low = 1,
       .high = 9,
       .unit = "",
       .meaning = "lives"},
      {.name = "walls", .default_value = true, .low = 0, .high = 1, .unit = "", .meaning = "walls kill"}};
}

/// The message of the Error (kUsage) that Set() must throw.
std::string Refusal(std::string_view name, ParameterValue value) {
  GameParameters parameters(Specs());
  const GameParameters before = parameters;
  try {
    parameters.Set(name, value);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    EXPECT_TRUE(parameters == before) << "a refused value must change nothing";
    return error.what();
  }
  ADD_FAILURE() << "game." << name << " = " << FormatParameterValue(value) << " was taken";
  return "";
}

TEST(GameParametersTest, StartAtTheirDefaults) {
  const GameParameters parameters(Specs());
  EXPECT_EQ(parameters.GetDouble("gravity"), 9.8);
  EXPECT_EQ(parameters.GetInt("lives"), 3);
  EXPECT_TRUE(parameters.GetBool("walls"));
}

TEST(GameParametersTest, TakeValuesUpToBothEndsOfTheRange) {
  GameParameters parameters(Specs());
  for (const std::int64_t lives : {1, 9}) {
    parameters.Set("lives", lives);
    EXPECT_EQ(parameters.GetInt("lives"), lives);
  }
  for (const double gravity : {0.0, 20.0}) {
    parameters.Set("gravity", gravity);
    EXPECT_EQ(parameters.GetDouble("gravity"), gravity);
  }
  parameters.Set("walls", false);
  EXPECT_FALSE(parameters.GetBool("walls"));
}

TEST(GameParametersTest, TakeAnIntegerForADouble) {
  GameParameters parameters(Specs());
  parameters.Set("gravity", std::int64_t{5});
  EXPECT_EQ(parameters.GetDouble("gravity"), 5.0);
}

TEST(GameParametersTest, RefuseAnUnknownNameWithTheNearest) {
  const std::string message = Refusal("gravty", 1.0);
  EXPECT_THAT(message, StartsWith("game.gravty"));
  EXPECT_THAT(message, HasSubstr("\"gravity\""));
}

TEST(GameParametersTest, RefuseEverythingWhereThereAreNone) {
  GameParameters none;
  EXPECT_THROW(none.Set("gravity", 1.0), Error);
}

TEST(GameParametersTest, RefuseAnotherType) {
  EXPECT_THAT(Refusal("lives", 3.0), StartsWith("game.lives = 3.0: must be an integer"));
  EXPECT_THAT(Refusal("lives", true), StartsWith("game.lives = true: must be an integer"));
  EXPECT_THAT(Refusal("gravity", false), StartsWith("game.gravity = false: must be a number"));
  EXPECT_THAT(Refusal("walls", std::int64_t{1}), StartsWith("game.walls = 1: must be true or false"));
  EXPECT_THAT(Refusal("walls", 1.0), StartsWith("game.walls = 1.0: must be true or false"));
}

TEST(GameParametersTest, RefuseWhatIsOutOfRangeAndNameIt) {
  EXPECT_EQ(Refusal("gravity", 20.5), "game.gravity = 20.5: must be 0 to 20 m/s^2");
  EXPECT_EQ(Refusal("gravity", -1e-300), "game.gravity = -1e-300: must be 0 to 20 m/s^2");
  EXPECT_EQ(Refusal("lives", std::int64_t{0}), "game.lives = 0: must be 1 to 9");
  EXPECT_EQ(Refusal("lives", std::int64_t{10}), "game.lives = 10: must be 1 to 9");
  EXPECT_EQ(Refusal("gravity", std::int64_t{21}), "game.gravity = 21.0: must be 0 to 20 m/s^2");
  Refusal("lives", std::numeric_limits<std::int64_t>::max());
  Refusal("lives", std::numeric_limits<std::int64_t>::min());
  Refusal("gravity", std::numeric_limits<std::int64_t>::max());
}

TEST(GameParametersTest, RefuseWhatIsNotFinite) {
  Refusal("gravity", std::numeric_limits<double>::quiet_NaN());
  Refusal("gravity", std::numeric_limits<double>::infinity());
  Refusal("gravity", -std::numeric_limits<double>::infinity());
}

TEST(GameParametersTest, RefuseWhatIsNotFiniteEvenWithoutBounds) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<ParameterSpec> specs = Specs();
  specs[0].low = -kInfinity;
  specs[0].high = kInfinity;
  GameParameters parameters(specs);
  EXPECT_THROW(parameters.Set("gravity", kInfinity), Error);
  EXPECT_THROW(parameters.Set("gravity", std::numeric_limits<double>::quiet_NaN()), Error);
  parameters.Set("gravity", 1e300);
  EXPECT_EQ(parameters.GetDouble("gravity"), 1e300);
}

TEST(GameParametersTest, AreEqualWithTheSameNamesAndValues) {
  GameParameters left(Specs());
  GameParameters right(Specs());
  EXPECT_TRUE(left == right);
  right.Set("lives", std::int64_t{4});
  EXPECT_FALSE(left == right);
  left.Set("lives", std::int64_t{4});
  EXPECT_TRUE(left == right);
  std::vector<ParameterSpec> renamed = Specs();
  renamed[1].name = "tries";
  EXPECT_FALSE(GameParameters(Specs()) == GameParameters(renamed));
  EXPECT_FALSE(GameParameters(Specs()) == GameParameters());
}

TEST(GameParametersTest, KeepTheOrderOfTheirDeclaration) {
  const GameParameters parameters(Specs());
  ASSERT_EQ(parameters.specs().size(), 3u);
  ASSERT_EQ(parameters.values().size(), 3u);
  EXPECT_EQ(parameters.specs()[1].name, "lives");
  EXPECT_EQ(parameters.values()[1], ParameterValue(std::int64_t{3}));
}

TEST(GameParametersTest, AreWrittenAsTomlWritesThem) {
  EXPECT_EQ(FormatParameterValue(true), "true");
  EXPECT_EQ(FormatParameterValue(false), "false");
  EXPECT_EQ(FormatParameterValue(std::int64_t{-3}), "-3");
  EXPECT_EQ(FormatParameterValue(0.1), "0.1");
  EXPECT_EQ(FormatParameterValue(1.0), "1.0") << "a double stays a double";
  EXPECT_EQ(FormatParameterValue(-2.0), "-2.0");
  EXPECT_EQ(std::stod(FormatParameterValue(1e300)), 1e300);
}

TEST(GameParametersDeathTest, WrongUseByAGameAborts) {
  const GameParameters parameters(Specs());
  EXPECT_DEATH(parameters.GetDouble("gravty"), "gravty");
  EXPECT_DEATH(parameters.GetDouble("lives"), "check failed");
  EXPECT_DEATH(parameters.GetInt("walls"), "check failed");
  EXPECT_DEATH(parameters.GetBool("gravity"), "check failed");
}

TEST(GameParametersDeathTest, WrongDeclarationsAbort) {
  const auto declare = [](auto change) {
    std::vector<ParameterSpec> specs = Specs();
    change(specs);
    const GameParameters parameters(specs);
  };
  EXPECT_DEATH(declare([](auto& specs) { specs[0].name = "lives"; }), "check failed") << "declared twice";
  EXPECT_DEATH(declare([](auto& specs) { specs[0].name = ""; }), "check failed");
  EXPECT_DEATH(declare([](auto& specs) { specs[0].name = "name"; }), "check failed") << "a key of [game]";
  EXPECT_DEATH(declare([](auto& specs) { specs[0].name = "max_episode_steps"; }), "check failed");
  EXPECT_DEATH(declare([](auto& specs) { specs[0].default_value = 21.0; }), "check failed") << "out of range";
}

}  // namespace
}  // namespace metronome
