#ifndef METRONOME_TRAIN_TRAINER_STATE_H_
#define METRONOME_TRAIN_TRAINER_STATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "metronome/games/recording.h"

namespace metronome {

/// Everything beside the learner and the replay that the steps to come depend on.
struct TrainerState {
  std::int64_t steps = 0;
  std::int64_t episodes = 0;
  std::map<std::string, std::string> streams;  ///< Rng::SaveState() by name.
  /// The episode in progress, which comes back by being played again; empty between two episodes.
  std::optional<Recording> episode;
  // Of that episode.
  std::int64_t episode_updates = 0;
  double loss_sum = 0.0;
  double q_sum = 0.0;
  double gradient_norm_sum = 0.0;
};

}  // namespace metronome

#endif  // METRONOME_TRAIN_TRAINER_STATE_H_
