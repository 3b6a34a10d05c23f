#include "metronome/core/hash.h"

#include <xxhash.h>

namespace metronome {

std::uint64_t Checksum(std::span<const std::byte> bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

std::uint64_t Checksum(std::string_view bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

StateHasher& StateHasher::Add(std::uint64_t value) {
  // The finaliser of splitmix64 (Steele, Lea and Flood 2014) over the running value and the next: every bit
  // of either reaches every bit of the result.
  std::uint64_t mixed = (value_ ^ value) + 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  value_ = mixed ^ (mixed >> 31);
  return *this;
}

}  // namespace metronome
