#include "metronome/core/hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace metronome {
namespace {

TEST(ChecksumTest, IsXxHash64WithSeedZero) {
  // Values that the algorithm's description and its other implementations give.
  EXPECT_EQ(Checksum(std::string_view("")), 0xef46db3751d8e999u);
  EXPECT_EQ(Checksum(std::string_view("a")), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(Checksum(std::string_view("abc")), 0x44bc2cf5ad770999u);
}

TEST(ChecksumTest, IsTheSameForTextAndBytes) {
  const std::string text("one\0two", 7);
  EXPECT_EQ(Checksum(text), Checksum(std::as_bytes(std::span(text))));
}

TEST(ChecksumTest, EveryFlippedBitChangesIt) {
  std::string bytes(100, 'x');
  std::set<std::uint64_t> seen = {Checksum(bytes)};
  for (char& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<char>(byte ^ (1 << bit));
      EXPECT_TRUE(seen.insert(Checksum(bytes)).second);
      byte = static_cast<char>(byte ^ (1 << bit));
    }
  }
}

TEST(StateHasherTest, EqualFieldsGiveEqualHashes) {
  const auto hash = [] { return StateHasher().Add(1.5).Add(7).Add(true).value(); };
  EXPECT_EQ(hash(), hash());
}

TEST(StateHasherTest, EachFieldAndTheirOrderMatter) {
  std::set<std::uint64_t> seen;
  EXPECT_TRUE(seen.insert(StateHasher().value()).second);
  EXPECT_TRUE(seen.insert(StateHasher().Add(0).value()).second);
  EXPECT_TRUE(seen.insert(StateHasher().Add(0).Add(0).value()).second);
  EXPECT_TRUE(seen.insert(StateHasher().Add(1).Add(2).value()).second);
  EXPECT_TRUE(seen.insert(StateHasher().Add(2).Add(1).value()).second);
  EXPECT_TRUE(seen.insert(StateHasher().Add(1.0).value()).second);
  EXPECT_TRUE(seen.insert(StateHasher().Add(-0.0).value()).second) << "by its bits";
  EXPECT_FALSE(seen.insert(StateHasher().Add(0.0).value()).second) << "all bits 0, as the integer's";
  EXPECT_EQ(StateHasher().Add(0.5f).value(), StateHasher().Add(0.5).value());
}

TEST(StateHasherTest, NeighbouringValuesDoNotCollide) {
  std::set<std::uint64_t> seen;
  for (int x = 0; x < 300; ++x) {
    for (int y = 0; y < 300; ++y) seen.insert(StateHasher().Add(x).Add(y).value());
  }
  EXPECT_EQ(seen.size(), 90'000u);
}

TEST(StateHasherTest, IsPinned) {
  // Golden traces hold such hashes. By an independent calculation of the finaliser of splitmix64.
  std::uint64_t mixed = (0x9e3779b97f4a7c15u ^ 42u) + 0x9e3779b97f4a7c15u;
  mixed ^= mixed >> 30;
  mixed *= 0xbf58476d1ce4e5b9u;
  mixed ^= mixed >> 27;
  mixed *= 0x94d049bb133111ebu;
  mixed ^= mixed >> 31;
  EXPECT_EQ(StateHasher().Add(42).value(), mixed);
}

}  // namespace
}  // namespace metronome
