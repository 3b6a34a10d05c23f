#include "metronome/core/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "metronome/core/check.h"

namespace metronome {

int DurationHistogram::BucketOf(std::int64_t nanoseconds) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(nanoseconds, 1));
  const auto octave = static_cast<int>(std::bit_width(value)) - 1;
  if (octave >= kOctaves) return kBuckets - 1;
  // The bits below the leading one, brought to kBucketsPerOctave's width.
  constexpr int kBits = 6;
  static_assert(1 << kBits == kBucketsPerOctave);
  const std::uint64_t fraction = octave >= kBits ? (value >> (octave - kBits)) : (value << (kBits - octave));
  return octave * kBucketsPerOctave + static_cast<int>(fraction & (kBucketsPerOctave - 1));
}

double DurationHistogram::LowerEdge(int bucket) {
  const int octave = bucket / kBucketsPerOctave;
  const double fraction = static_cast<double>(bucket % kBucketsPerOctave) / kBucketsPerOctave;
  return std::ldexp(1.0 + fraction, octave);
}

void DurationHistogram::Add(std::int64_t nanoseconds) {
  const int bucket = BucketOf(nanoseconds);
  ++buckets_[static_cast<std::size_t>(bucket)];
  lowest_ = std::min(lowest_, bucket);
  highest_ = std::max(highest_, bucket);
  ++count_;
  total_ += nanoseconds;
  max_ = std::max(max_, nanoseconds);
}

void DurationHistogram::Merge(const DurationHistogram& other) {
  for (int bucket = other.lowest_; bucket <= other.highest_; ++bucket) {
    buckets_[static_cast<std::size_t>(bucket)] += other.buckets_[static_cast<std::size_t>(bucket)];
  }
  lowest_ = std::min(lowest_, other.lowest_);
  highest_ = std::max(highest_, other.highest_);
  count_ += other.count_;
  total_ += other.total_;
  max_ = std::max(max_, other.max_);
}

void DurationHistogram::Clear() {
  if (highest_ >= 0) std::fill(buckets_.begin() + lowest_, buckets_.begin() + highest_ + 1, 0);
  lowest_ = kBuckets;
  highest_ = -1;
  count_ = total_ = max_ = 0;
}

double DurationHistogram::QuantileNanoseconds(double q) const {
  METRONOME_CHECK_GT(count_, 0);
  METRONOME_CHECK(q >= 0.0 && q <= 1.0);
  const double wanted = q * static_cast<double>(count_);
  double below = 0.0;
  for (int bucket = lowest_; bucket <= highest_; ++bucket) {
    const auto inside = static_cast<double>(buckets_[static_cast<std::size_t>(bucket)]);
    if (inside > 0.0 && below + inside >= wanted) {
      const double share = (wanted - below) / inside;
      const double low = LowerEdge(bucket);
      const double high = bucket + 1 < kBuckets ? LowerEdge(bucket + 1) : static_cast<double>(max_);
      return std::min(low + share * (high - low), static_cast<double>(max_));
    }
    below += inside;
  }
  return static_cast<double>(max_);
}

}  // namespace metronome
