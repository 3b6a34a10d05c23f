#include "metronome/core/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "metronome/core/error.h"

namespace metronome {
namespace {

/// splitmix64 and xoshiro256++ once more, written from the papers, step by step.
std::uint64_t NaiveSplitMix64(std::uint64_t& state) {
  state = state + 0x9e3779b97f4a7c15u;
  std::uint64_t z = state;
  z = z ^ (z >> 30);
  z = z * 0xbf58476d1ce4e5b9u;
  z = z ^ (z >> 27);
  z = z * 0x94d049bb133111ebu;
  z = z ^ (z >> 31);
  return z;
}

class NaiveXoshiro {
 public:
  explicit NaiveXoshiro(std::array<std::uint64_t, 4> state) : s_(state) {}

  std::uint64_t Next() {
    const std::uint64_t sum = s_[0] + s_[3];
    const std::uint64_t result = Turned(sum, 23) + s_[0];
    const std::uint64_t t = s_[1] << 17;
    s_[2] = s_[2] ^ s_[0];
    s_[3] = s_[3] ^ s_[1];
    s_[1] = s_[1] ^ s_[2];
    s_[0] = s_[0] ^ s_[3];
    s_[2] = s_[2] ^ t;
    s_[3] = Turned(s_[3], 45);
    return result;
  }

 private:
  static std::uint64_t Turned(std::uint64_t value, std::size_t places) {
    const std::bitset<64> bits(value);
    return ((bits << places) | (bits >> (64 - places))).to_ullong();
  }

  std::array<std::uint64_t, 4> s_;
};

constexpr const char* kOneToFour =
    "xoshiro256++ 0000000000000001 0000000000000002 0000000000000003 0000000000000004";

TEST(RngTest, GivesThePublishedNumbersOfXoshiro256PlusPlus) {
  // From the state 1, 2, 3, 4; the values that other implementations of the generator publish for it.
  Rng rng = Rng::FromState(kOneToFour);
  NaiveXoshiro naive({1, 2, 3, 4});
  const std::array<std::uint64_t, 10> published = {41943041u,
                                                   58720359u,
                                                   3588806011781223u,
                                                   3591011842654386u,
                                                   9228616714210784205u,
                                                   9973669472204895162u,
                                                   14011001112246962877u,
                                                   12406186145184390807u,
                                                   15849039046786891736u,
                                                   10450023813501588000u};
  for (const std::uint64_t expected : published) {
    EXPECT_EQ(rng.NextBits(), expected);
    EXPECT_EQ(naive.Next(), expected);
  }
}

TEST(RngTest, SeedsByThePublishedNumbersOfSplitMix64) {
  // From the seed 1234567.
  const std::array<std::uint64_t, 4> published = {6457827717110365317u, 3203168211198807973u,
                                                  9817491932198370423u, 4593380528125082431u};
  std::uint64_t counter = 1234567;
  for (const std::uint64_t expected : published) EXPECT_EQ(NaiveSplitMix64(counter), expected);
  Rng rng(1234567);
  NaiveXoshiro naive(published);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(rng.NextBits(), naive.Next()) << i;
}

TEST(RngTest, EverySeedMatchesTheNaiveGenerators) {
  for (const std::uint64_t seed :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    std::uint64_t counter = seed;
    std::array<std::uint64_t, 4> state;
    for (std::uint64_t& word : state) word = NaiveSplitMix64(counter);
    NaiveXoshiro naive(state);
    Rng rng(seed);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(rng.NextBits(), naive.Next()) << "seed " << seed << ", " << i;
  }
}

TEST(RngTest, UniformIsTheHighBitsAsAShareOfOne) {
  Rng rng(3);
  Rng bits(3);
  for (int i = 0; i < 10'000; ++i) {
    const double value = rng.Uniform();
    ASSERT_EQ(value, std::ldexp(static_cast<double>(bits.NextBits() >> 11), -53));
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
  }
}

TEST(RngTest, UniformOverARangeRoundsItsProductAndItsSum) {
  // A fused multiply-add would round once, and so give other numbers on the machines that have it.
  Rng rng(14);
  Rng shares(14);
  for (int i = 0; i < 10'000; ++i) {
    volatile double product = shares.Uniform() * (1.1 - -0.3);
    ASSERT_EQ(rng.Uniform(-0.3, 1.1), -0.3 + product) << i;
  }
}

TEST(RngTest, UniformCoversItsRangeEvenly) {
  Rng rng(4);
  constexpr int kBins = 100;
  constexpr int kDraws = 1'000'000;
  std::array<int, kBins> bins{};
  for (int i = 0; i < kDraws; ++i) {
    const double value = rng.Uniform(-3.0, 7.0);
    ASSERT_GE(value, -3.0);
    ASSERT_LT(value, 7.0);
    ++bins[static_cast<std::size_t>((value + 3.0) / 10.0 * kBins)];
  }
  double chi_square = 0.0;
  for (const int count : bins) chi_square += (count - 1e4) * (count - 1e4) / 1e4;
  EXPECT_NEAR(chi_square, 99.0, 4.0 * std::sqrt(2.0 * 99.0));
}

TEST(RngTest, UniformNeverReachesItsUpperEnd) {
  // Between 1 and the next double there is nothing, so rounding would reach the end half of the time.
  Rng rng(5);
  const double next = std::nextafter(1.0, 2.0);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(rng.Uniform(1.0, next), 1.0);
  EXPECT_EQ(rng.Uniform(2.5, 2.5), 2.5);
}

TEST(RngTest, UniformIntIsUnbiasedForSmallBounds) {
  for (const std::int64_t bound : {1, 2, 3, 7, 10, 97}) {
    Rng rng(6);
    std::vector<double> drawn(static_cast<std::size_t>(bound));
    for (std::int64_t i = 0; i < bound * 1000; ++i) {
      const std::int64_t value = rng.UniformInt(bound);
      ASSERT_GE(value, 0);
      ASSERT_LT(value, bound);
      ++drawn[static_cast<std::size_t>(value)];
    }
    double chi_square = 0.0;
    for (const double count : drawn) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
    const auto freedom = static_cast<double>(bound - 1);
    EXPECT_LE(chi_square, freedom + 4.0 * std::sqrt(2.0 * freedom)) << "bound " << bound;
  }
}

TEST(RngTest, UniformIntIsUnbiasedWhereTheBoundIsALargeShareOfAllNumbers) {
  // 2^64 holds 3 * 2^61 two and two thirds times: without drawing again, of any three neighbouring results
  // two would come up three times while the third comes up twice.
  constexpr std::int64_t kBound = 3 * (std::int64_t{1} << 61);
  Rng rng(7);
  std::array<int, 3> by_remainder{};
  std::array<int, 3> by_third{};
  for (int i = 0; i < 300'000; ++i) {
    const std::int64_t value = rng.UniformInt(kBound);
    ASSERT_GE(value, 0);
    ASSERT_LT(value, kBound);
    ++by_remainder[static_cast<std::size_t>(value % 3)];
    ++by_third[static_cast<std::size_t>(value / (std::int64_t{1} << 61))];
  }
  for (const auto& counts : {by_remainder, by_third}) {
    for (const int count : counts) EXPECT_NEAR(count, 100'000, 4 * 260);
  }
}

TEST(RngTest, UniformIntReachesBothEndsOfTheLargestRange) {
  constexpr std::int64_t kBound = std::numeric_limits<std::int64_t>::max();
  Rng rng(8);
  std::int64_t least = kBound;
  std::int64_t most = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t value = rng.UniformInt(kBound);
    ASSERT_GE(value, 0);
    ASSERT_LT(value, kBound);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  EXPECT_LT(least, kBound / 10'000);
  EXPECT_GT(most, kBound - kBound / 10'000);
}

TEST(RngTest, UniformIntOfOneIsZero) {
  Rng rng(9);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(rng.UniformInt(1), 0);
}

TEST(RngTest, UniformIntIsPinned) {
  // Other machines must draw the same; these are the high 64 bits of bits * bound.
  Rng rng(10);
  Rng bits(10);
  for (int i = 0; i < 1000; ++i) {
    __extension__ using Wide = unsigned __int128;
    const auto expected = static_cast<std::int64_t>((static_cast<Wide>(bits.NextBits()) * 1000) >> 64);
    ASSERT_EQ(rng.UniformInt(1000), expected) << i;
  }
}

TEST(RngTest, NamedStreamsDiffer) {
  std::set<std::uint64_t> first_numbers;
  int streams = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const char* name :
         {"", "game", "exploration", "sampling", "weights", "evaluation", "gamf", "eamg"}) {
      first_numbers.insert(Rng(seed, name).NextBits());
      ++streams;
    }
    first_numbers.insert(Rng(seed).NextBits());
    ++streams;
  }
  EXPECT_EQ(first_numbers.size(), static_cast<std::size_t>(streams));
}

TEST(RngTest, NamedStreamsOfNeighbouringSeedsAreUnrelated) {
  // Each bit of the first numbers differs in about half of the pairs.
  std::array<int, 64> differing{};
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const std::bitset<64> changed(Rng(seed, "game").NextBits() ^ Rng(seed + 1, "game").NextBits());
    for (std::size_t bit = 0; bit < 64; ++bit) differing[bit] += changed[bit];
  }
  EXPECT_THAT(differing, testing::Each(testing::AllOf(testing::Gt(420), testing::Lt(580))));
}

TEST(RngTest, EqualSeedAndNameGiveEqualStreams) {
  Rng first(11, "sampling");
  Rng second(11, std::string("sampling"));
  EXPECT_EQ(first, second);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(first.NextBits(), second.NextBits());
}

TEST(RngTest, ACopyGoesOnWithTheSameNumbers) {
  Rng rng(12);
  rng.NextBits();
  Rng copy = rng;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(copy.NextBits(), rng.NextBits());
}

TEST(RngTest, ASavedStateGoesOnWithTheSameNumbers) {
  Rng rng(13, "game");
  for (int i = 0; i < 1000; ++i) {
    Rng restored = Rng::FromState(rng.SaveState());
    ASSERT_EQ(restored, rng);
    ASSERT_EQ(restored.NextBits(), rng.NextBits());
  }
}

TEST(RngTest, TheStateAsTextIsPinned) { EXPECT_EQ(Rng::FromState(kOneToFour).SaveState(), kOneToFour); }

TEST(RngTest, AnythingElseIsNoState) {
  const std::string good = kOneToFour;
  std::vector<std::string> bad = {
      "",
      "xoshiro256++",
      good + " ",
      good + "0",
      good.substr(0, good.size() - 1),
      "xoshiro256** " + good.substr(13),
      "xoshiro256++ 0000000000000000 0000000000000000 0000000000000000 0000000000000000",
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = '?';
    bad.push_back(changed);
    changed[i] = '\n';
    bad.push_back(changed);
    bad.push_back(good.substr(0, i));
  }
  for (const std::string& text : bad) {
    try {
      Rng::FromState(text);
      ADD_FAILURE() << "accepted \"" << text << "\"";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadCheckpoint);
    }
  }
}

}  // namespace
}  // namespace metronome
