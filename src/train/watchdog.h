#ifndef METRONOME_TRAIN_WATCHDOG_H_
#define METRONOME_TRAIN_WATCHDOG_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "metronome/core/histogram.h"

namespace metronome {

/// The parts of a step that are watched apart.
enum class Phase { kGame, kAct, kReplay, kUpdate };
inline constexpr std::array kPhases = {Phase::kGame, Phase::kAct, Phase::kReplay, Phase::kUpdate};
/// "game", "act", "replay", "update".
const char* PhaseName(Phase phase);

/// Tells once when a phase of the loop has become slow, or the process large.
///
/// A phase's times are gathered into windows. The first whole window is the baseline. A window is slow when
/// its median is at least twice the baseline's and the difference is a tenth of a whole step or more (a phase
/// of a microsecond that takes two harms nobody). When windows have been slow, one after the other, for
/// `seconds` on the clock, that is told, once a phase. Evaluations and checkpoints are no phases and so never
/// count. In fixed memory; Add() allocates nothing.
class Watchdog {
 public:
  struct Options {
    double seconds = 20.0;                ///< How long a phase must be slow.
    std::int64_t steps_per_window = 500;  ///< Times of one phase in a window.
    double window_seconds = 1.0;          ///< And the least time that a window lasts.
    std::int64_t memory_bytes = 8 << 20;  ///< How much more memory than at first is told.
  };

  explicit Watchdog(const Options& options);

  /// One phase of one step, at `now` (MonotonicNanoseconds()).  Returns a message when there is something to
  /// tell.
  std::optional<std::string> Add(Phase phase, std::int64_t nanoseconds, std::int64_t step, std::int64_t now);

  /// The process's memory, whenever it is measured. The first value is what later ones are held against.
  std::optional<std::string> AddMemory(std::int64_t resident_bytes, std::int64_t step);

 private:
  struct Watched {
    DurationHistogram window;
    std::int64_t window_start = 0;
    double baseline = 0.0;        // median of the first window, nanoseconds; 0 before
    std::int64_t slow_since = 0;  // when the first of the slow windows began; 0 when the last was not slow
    bool told = false;
  };

  std::optional<std::string> CloseWindow(Phase phase, Watched& watched, std::int64_t step, std::int64_t now);
  /// The sum of the baselines: about a whole step.
  double StepBaseline() const;

  const Options options_;
  std::array<Watched, kPhases.size()> watched_;
  std::int64_t first_resident_bytes_ = 0;
  bool memory_told_ = false;
};

}  // namespace metronome

#endif  // METRONOME_TRAIN_WATCHDOG_H_
