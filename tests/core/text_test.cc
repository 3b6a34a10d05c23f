#include "metronome/core/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "metronome/core/rng.h"

namespace metronome {
namespace {

TEST(NearestNameTest, FindsWhatATypoMeant) {
  const std::vector<std::string> keys = {"batch_size",   "discount",   "learning_rate",
                                         "adam_epsilon", "adam_beta1", "target_update_period",
                                         "capacity",     "seed"};
  EXPECT_EQ(NearestName("batch_sise", keys), "batch_size");        // one replaced
  EXPECT_EQ(NearestName("batchsize", keys), "batch_size");         // one left out
  EXPECT_EQ(NearestName("ddiscount", keys), "discount");           // one too many
  EXPECT_EQ(NearestName("leanring_rate", keys), "learning_rate");  // two swapped
  EXPECT_EQ(NearestName("target-update-period", keys), "target_update_period");
  EXPECT_EQ(NearestName("capacity", keys), "capacity");
  EXPECT_EQ(NearestName("sed", keys), "seed");
}

TEST(NearestNameTest, ASwapIsOneEditAndADashIsNone) {
  // "ab" to "ba" is one swap but two replacements; "xa" would be one replacement as well, and comes later.
  EXPECT_EQ(NearestName("ab", std::vector<std::string>{"cd", "ba", "xb"}), "ba");
  EXPECT_EQ(NearestName("a-b", std::vector<std::string>{"axb", "a_b"}), "a_b");
}

TEST(NearestNameTest, TheFirstOfEquallyNearOnesWins) {
  EXPECT_EQ(NearestName("adam_beta", std::vector<std::string>{"adam_beta2", "adam_beta1"}), "adam_beta2");
  EXPECT_EQ(NearestName("", std::vector<std::string>{"ab", "a", "b"}), "a");
}

TEST(NearestNameTest, EveryChangeOfOneLetterFindsTheWordAgain) {
  const std::vector<std::string> words = {"checkpoint", "exploration", "learner", "network", "replay"};
  for (const std::string& word : words) {
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::string changed = word;
      changed[i] = '#';
      EXPECT_EQ(NearestName(changed, words), word);
      EXPECT_EQ(NearestName(word.substr(0, i) + word.substr(i + 1), words), word);
      EXPECT_EQ(NearestName(word.substr(0, i) + "#" + word.substr(i), words), word);
      if (i + 1 < word.size()) {
        std::swap(changed[i], changed[i + 1]);
        EXPECT_EQ(NearestName(changed, words), word);
      }
    }
  }
}

TEST(NearestNameDeathTest, WithoutCandidatesAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(NearestName("x", {}), "check failed");
}

TEST(JoinTest, PutsTheSeparatorBetween) {
  EXPECT_EQ(Join(std::vector<std::string>{}), "");
  EXPECT_EQ(Join(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(Join(std::vector<std::string>{"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(Join(std::vector<std::string>{"a", "", "c"}, "|"), "a||c");
}

TEST(FormatDoubleTest, IsTheShortestText) {
  EXPECT_EQ(FormatDouble(0.1), "0.1");
  EXPECT_EQ(FormatDouble(5e-4), "5e-04");
  EXPECT_EQ(FormatDouble(1.0), "1");
  EXPECT_EQ(FormatDouble(-2.5), "-2.5");
  EXPECT_EQ(FormatDouble(0.0), "0");
  EXPECT_EQ(FormatDouble(-0.0), "-0");
  EXPECT_EQ(FormatDouble(1e300), "1e+300");
  EXPECT_EQ(FormatDouble(std::nan("")), "nan");
  EXPECT_EQ(FormatDouble(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(FormatDouble(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(FormatDoubleTest, ReadsBackToTheSameBits) {
  std::vector<double> values = {std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::min(),
                                std::numeric_limits<double>::denorm_min(),
                                std::numeric_limits<double>::epsilon(),
                                1.0 / 3.0,
                                0x1.fffffffffffffp+52};
  Rng rng(1);
  while (values.size() < 20'000) {
    const auto value = std::bit_cast<double>(rng.NextBits());  // of every size
    if (std::isfinite(value)) values.push_back(value);
  }
  for (const double value : values) {
    const double back = std::strtod(FormatDouble(value).c_str(), nullptr);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(value)) << FormatDouble(value);
  }
}

TEST(FormatFixedTest, RoundsToTheDigitsAskedFor) {
  EXPECT_EQ(FormatFixed(17.254, 2), "17.25");
  EXPECT_EQ(FormatFixed(-0.05, 0), "-0");
  EXPECT_EQ(FormatFixed(2.0, 3), "2.000");
  EXPECT_EQ(FormatFixed(1e300, 1).size(), 303u) << "301 digits, a point and one more";
}

TEST(FormatHexadecimalTest, HasAlways16Digits) {
  EXPECT_EQ(FormatHexadecimal(0), "0000000000000000");
  EXPECT_EQ(FormatHexadecimal(0xfedcba9876543210), "fedcba9876543210");
}

TEST(FormatCountTest, OneIsSingular) {
  EXPECT_EQ(FormatCount(0, "thread"), "0 threads");
  EXPECT_EQ(FormatCount(1, "thread"), "1 thread");
  EXPECT_EQ(FormatCount(2, "thread"), "2 threads");
}

}  // namespace
}  // namespace metronome
