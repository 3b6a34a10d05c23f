#ifndef METRONOME_CORE_HISTOGRAM_H_
#define METRONOME_CORE_HISTOGRAM_H_

#include <array>
#include <cstdint>

namespace metronome {

/// Counts durations in buckets that are 1/64 of a power of two wide, so that a quantile is right within
/// 1.6 % whatever the scale (1 ns to 3 days) and the memory is fixed (24 KiB). Allocates nothing.
class DurationHistogram {
 public:
  void Add(std::int64_t nanoseconds);
  void Merge(const DurationHistogram& other);
  void Clear();

  std::int64_t count() const { return count_; }
  std::int64_t total_nanoseconds() const { return total_; }
  std::int64_t max_nanoseconds() const { return max_; }

  /// The duration that a share `q` of all stays below, interpolated inside its bucket; at most the largest
  /// one added.  REQUIRES: count() > 0, 0 <= q <= 1.
  double QuantileNanoseconds(double q) const;

 private:
  static constexpr int kBucketsPerOctave = 64;
  static constexpr int kOctaves = 48;
  static constexpr int kBuckets = kBucketsPerOctave * kOctaves;
  static int BucketOf(std::int64_t nanoseconds);
  static double LowerEdge(int bucket);

  std::array<std::int64_t, kBuckets> buckets_{};
  int lowest_ = kBuckets;  // the range of buckets in use, so that Clear() and quantiles touch no more
  int highest_ = -1;
  std::int64_t count_ = 0;
  std::int64_t total_ = 0;
  std::int64_t max_ = 0;
};

}  // namespace metronome

#endif  // METRONOME_CORE_HISTOGRAM_H_
