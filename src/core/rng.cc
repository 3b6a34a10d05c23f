#include "metronome/core/rng.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "metronome/core/check.h"
#include "metronome/core/error.h"

namespace metronome {
namespace {

constexpr std::string_view kStatePrefix = "xoshiro256++";
constexpr std::size_t kWordDigits = 16;

/// Steele, Lea and Flood 2014: a full-period counter, well mixed, which fills xoshiro's state.
std::uint64_t SplitMix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

/// FNV-1a, 64 bits: turns a stream's name into a number.
std::uint64_t HashName(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char character : name) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  }
  return hash;
}

/// Mixes the seed before the name is joined to it, so that neighbouring seeds share no stream.
std::uint64_t StreamSeed(std::uint64_t seed, std::string_view name) {
  std::uint64_t mixer = seed;
  return SplitMix64(mixer) ^ HashName(name);
}

}  // namespace

Rng::Rng(std::uint64_t seed) : state_() {
  for (std::uint64_t& word : state_) word = SplitMix64(seed);
}

Rng::Rng(std::uint64_t seed, std::string_view name) : Rng(StreamSeed(seed, name)) {}

double Rng::Uniform(double low, double high) {
  METRONOME_DCHECK(low <= high);
  const double value = low + Uniform() * (high - low);
  // Rounding can reach `high` itself, which is outside the half-open range.
  return value < high || low == high ? value : std::nextafter(high, low);
}

std::int64_t Rng::UniformInt(std::int64_t bound) {
  METRONOME_DCHECK(bound > 0);
  __extension__ using Wide = unsigned __int128;
  const auto range = static_cast<std::uint64_t>(bound);
  Wide product = static_cast<Wide>(NextBits()) * range;
  auto low = static_cast<std::uint64_t>(product);
  if (low < range) {
    // The few values that would make some results more likely than others are drawn again.
    const std::uint64_t threshold = (0 - range) % range;
    while (low < threshold) {
      product = static_cast<Wide>(NextBits()) * range;
      low = static_cast<std::uint64_t>(product);
    }
  }
  return static_cast<std::int64_t>(product >> 64);
}

std::string Rng::SaveState() const {
  std::string text(kStatePrefix);
  for (const std::uint64_t word : state_) {
    char digits[kWordDigits + 2];
    std::snprintf(digits, sizeof(digits), " %016llx", static_cast<unsigned long long>(word));
    text += digits;
  }
  return text;
}

Rng Rng::FromState(std::string_view text) {
  const auto fail = [&]() -> Error {
    return Error(ExitCode::kBadCheckpoint, "not the state of a random stream: \"" +
                                               std::string(text.substr(0, 100)) +
                                               "\" (expected \"xoshiro256++\" and four words of 16 digits)");
  };
  Rng rng(0);
  if (text.size() != kStatePrefix.size() + rng.state_.size() * (kWordDigits + 1)) throw fail();
  if (!text.starts_with(kStatePrefix)) throw fail();
  const char* at = text.data() + kStatePrefix.size();
  for (std::uint64_t& word : rng.state_) {
    if (*at != ' ') throw fail();
    const auto [end, error] = std::from_chars(at + 1, at + 1 + kWordDigits, word, 16);
    if (error != std::errc() || end != at + 1 + kWordDigits) throw fail();
    at = end;
  }
  // All zero is the one state that the generator never leaves.
  if (rng.state_ == std::array<std::uint64_t, 4>{}) throw fail();
  return rng;
}

}  // namespace metronome
