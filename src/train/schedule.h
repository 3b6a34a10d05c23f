#ifndef METRONOME_TRAIN_SCHEDULE_H_
#define METRONOME_TRAIN_SCHEDULE_H_

#include <algorithm>
#include <cstdint>

#include "metronome/train/config.h"

namespace metronome {

/// Epsilon of the environment step number `step`, counted from 0: linear from epsilon_start at 0 to
/// epsilon_end at epsilon_decay_steps, and epsilon_end ever after; with a length of 0 always epsilon_end.
inline double EpsilonAt(const ExplorationConfig& config, std::int64_t step) {
  if (step >= config.epsilon_decay_steps) return config.epsilon_end;
  const double done =
      static_cast<double>(std::max<std::int64_t>(step, 0)) / static_cast<double>(config.epsilon_decay_steps);
  return config.epsilon_start + done * (config.epsilon_end - config.epsilon_start);
}

}  // namespace metronome

#endif  // METRONOME_TRAIN_SCHEDULE_H_
