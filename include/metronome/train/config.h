#ifndef METRONOME_TRAIN_CONFIG_H_
#define METRONOME_TRAIN_CONFIG_H_

#include <cstdint>
#include <optional>

#include "metronome/games/registry.h"
#include "metronome/learner/config.h"
#include "metronome/replay/replay_buffer.h"

namespace metronome {

/// [exploration] in the config: epsilon falls linearly in environment steps.
struct ExplorationConfig {
  double epsilon_start = 1.0;
  double epsilon_end = 0.05;
  std::int64_t epsilon_decay_steps = 20'000;
};

/// [train] in the config.
struct TrainConfig {
  std::int64_t steps = 0;               ///< Environment steps of the whole run; required.
  std::int64_t update_period = 1;       ///< Environment steps per update.
  std::int64_t updates_per_period = 1;  ///< Updates at each.
  std::int64_t seed = 1;                ///< The run's one seed, >= 0.
};

/// [eval] in the config.
struct EvalConfig {
  std::int64_t period = 10'000;  ///< Environment steps; 0 means never.
  std::int64_t episodes = 20;
  std::optional<double> stop_at_return;  ///< Ends the run when an evaluation's mean reaches it.
};

/// [checkpoint] in the config.
struct CheckpointConfig {
  std::int64_t period = 50'000;  ///< Environment steps; 0 means only at the end and when stopped.
  std::int64_t keep = 2;         ///< Newest ones kept, beside the best.
};

/// What a run does when its log, a table or the event file can't be written.
enum class OnLogError { kContinue, kStop };

/// [log] in the config.
struct LogConfig {
  bool tensorboard = true;  ///< Event files in the run folder.
  OnLogError on_error = OnLogError::kContinue;
};

/// Everything that a run is made of.
struct RunConfig {
  GameConfig game;
  NetworkConfig network;
  LearnerConfig learner;
  ReplayConfig replay;
  ExplorationConfig exploration;
  TrainConfig train;
  EvalConfig eval;
  CheckpointConfig checkpoint;
  DeviceConfig device;
  LogConfig log;
};

}  // namespace metronome

#endif  // METRONOME_TRAIN_CONFIG_H_
