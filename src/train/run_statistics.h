#ifndef METRONOME_TRAIN_RUN_STATISTICS_H_
#define METRONOME_TRAIN_RUN_STATISTICS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "metronome/core/histogram.h"
#include "train/trainer.h"

namespace metronome {

/// Mean of the last 100 returns, in fixed memory.
class RecentReturns {
 public:
  void Add(double value) {
    const std::size_t slot = static_cast<std::size_t>(count_++) % values_.size();
    values_[slot] = value;
  }
  std::optional<double> mean() const {
    const std::size_t held = std::min(static_cast<std::size_t>(count_), values_.size());
    if (held == 0) return std::nullopt;
    double sum = 0.0;
    for (std::size_t i = 0; i < held; ++i) sum += values_[i];
    return sum / static_cast<double>(held);
  }

 private:
  std::array<double, 100> values_{};
  std::int64_t count_ = 0;
};

/// How long the steps of one kind took, in all and by part.
struct StepStatistics {
  DurationHistogram game, act, replay, update, total;

  void Add(const PhaseTimes& times) {
    game.Add(times.game);
    act.Add(times.act);
    replay.Add(times.replay);
    update.Add(times.update);
    total.Add(times.total);
  }
  void Clear() {
    for (DurationHistogram* times : {&game, &act, &replay, &update, &total}) times->Clear();
  }
};

/// Steps and the time they took.
struct StepRate {
  std::int64_t steps = 0;
  std::int64_t nanoseconds = 0;

  void Add(std::int64_t step_nanoseconds) {
    ++steps;
    nanoseconds += step_nanoseconds;
  }
  double MeanNanoseconds() const {
    return steps == 0 ? 0.0 : static_cast<double>(nanoseconds) / static_cast<double>(steps);
  }
  double PerSecond() const { return steps == 0 ? 0.0 : 1e9 / MeanNanoseconds(); }
};

}  // namespace metronome

#endif  // METRONOME_TRAIN_RUN_STATISTICS_H_
