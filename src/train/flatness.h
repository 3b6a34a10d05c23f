#ifndef METRONOME_TRAIN_FLATNESS_H_
#define METRONOME_TRAIN_FLATNESS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "metronome/core/histogram.h"

namespace metronome {

/// Watches whether a run of unknown length stays as fast and as small as it began. The steps seen so far are
/// cut into 40 to 80 slices of equal length, each with its own histogram of step times and its largest
/// resident memory; when there are 80, neighbours are joined. So the first and the last tenth of a run can be
/// told apart whenever it ends, in fixed memory (1 MiB, taken at construction). Allocates nothing after.
class FlatnessMonitor {
 public:
  FlatnessMonitor();

  void AddStep(std::int64_t nanoseconds);
  void AddMemory(std::int64_t resident_bytes);

  struct Tenth {
    double median_step_us = 0.0;
    std::int64_t resident_bytes = 0;  ///< The largest seen.
  };
  struct Report {
    Tenth first;
    Tenth last;
    double step_ratio = 1.0;    ///< last over first
    double memory_ratio = 1.0;  ///< last over first
    /// How much more memory the last tenth holds, negative when less.
    std::int64_t memory_growth_bytes = 0;
  };
  /// Empty before there are ten steps.
  std::optional<Report> report() const;

 private:
  struct Slice {
    DurationHistogram steps;
    std::int64_t resident_bytes = 0;
  };
  static constexpr std::size_t kMostSlices = 80;
  /// Joins each two neighbours, which leaves half as many slices, twice as long.
  void Join();
  Tenth Describe(std::size_t first, std::size_t last) const;

  std::vector<Slice> slices_;  // kMostSlices of them, the first used_ in use
  std::size_t used_ = 1;
  std::int64_t steps_per_slice_ = 1;
  std::int64_t last_resident_bytes_ = 0;
};

}  // namespace metronome

#endif  // METRONOME_TRAIN_FLATNESS_H_
