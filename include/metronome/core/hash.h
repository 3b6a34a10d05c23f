#ifndef METRONOME_CORE_HASH_H_
#define METRONOME_CORE_HASH_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace metronome {

/// xxHash64 of `bytes`, the checksum of every file of ours; equal on every machine.
std::uint64_t Checksum(std::span<const std::byte> bytes);
std::uint64_t Checksum(std::string_view bytes);

/// Mixes a game's fields, one after the other, into one 64-bit number. Allocates nothing.
///   return StateHasher().Add(x_).Add(speed_).Add(steps_).value();
class StateHasher {
 public:
  StateHasher& Add(std::uint64_t value);
  StateHasher& Add(std::int64_t value) { return Add(static_cast<std::uint64_t>(value)); }
  StateHasher& Add(int value) { return Add(static_cast<std::int64_t>(value)); }
  StateHasher& Add(bool value) { return Add(static_cast<std::int64_t>(value ? 1 : 0)); }
  /// By its bits, so 0.0 and -0.0 differ.
  StateHasher& Add(double value) { return Add(std::bit_cast<std::uint64_t>(value)); }
  StateHasher& Add(float value) { return Add(static_cast<double>(value)); }

  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x9e3779b97f4a7c15;  // the golden ratio's bits: any odd start does
};

}  // namespace metronome

#endif  // METRONOME_CORE_HASH_H_
