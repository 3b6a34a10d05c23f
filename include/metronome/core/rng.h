#ifndef METRONOME_CORE_RNG_H_
#define METRONOME_CORE_RNG_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace metronome {

/// A stream of random numbers that is the same on every machine and with every standard library:
/// xoshiro256++ (Blackman and Vigna 2019, arXiv:1805.01407), its state filled by splitmix64, with
/// distributions of its own. 32 bytes, copyable; a copy goes on with the same numbers. Not thread-safe.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  /// The stream called `name` of a run: equal (seed, name) give equal streams, and any other seed or name
  /// an unrelated one.
  Rng(std::uint64_t seed, std::string_view name);

  /// 64 random bits.
  std::uint64_t NextBits() {
    const std::uint64_t result = RotateLeft(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = RotateLeft(state_[3], 45);
    return result;
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  double Uniform() { return static_cast<double>(NextBits() >> 11) * 0x1.0p-53; }

  /// Uniform in [low, high).  REQUIRES: low <= high; both and their
  /// difference finite.
  double Uniform(double low, double high);

  /// Uniform over 0 .. bound - 1, without bias (Lemire 2019, arXiv:1805.10941).  REQUIRES: bound > 0.
  std::int64_t UniformInt(std::int64_t bound);

  /// The whole state as text, "xoshiro256++ " and four hexadecimal words.
  std::string SaveState() const;

  /// The stream that SaveState() described.  Throws Error (kBadCheckpoint) on anything else.
  static Rng FromState(std::string_view text);

  friend bool operator==(const Rng&, const Rng&) = default;

 private:
  static std::uint64_t RotateLeft(std::uint64_t value, int bits) {
    return (value << bits) | (value >> (64 - bits));
  }

  std::array<std::uint64_t, 4> state_;
};

}  // namespace metronome

#endif  // METRONOME_CORE_RNG_H_
