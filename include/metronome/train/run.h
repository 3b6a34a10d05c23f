#ifndef METRONOME_TRAIN_RUN_H_
#define METRONOME_TRAIN_RUN_H_

#include <filesystem>
#include <string>
#include <vector>

#include "metronome/train/checkpoint.h"
#include "metronome/train/config.h"
#include "metronome/train/progress.h"
#include "metronome/train/tensorboard.h"

namespace metronome {

/// A run to make: `metronome train`.
struct RunRequest {
  RunConfig config;  ///< Complete and consistent.
  /// Empty takes the first free runs/<game>-<n>, n from 1.
  std::filesystem::path folder;
  std::string config_text;  ///< The effective configuration as TOML, for config.toml and the checkpoints.
  /// What decides how the run learns, but its seed: TensorBoard compares runs by it.
  std::vector<Hyperparameter> hyperparameters;
  LogLevel log_level = LogLevel::kInfo;  ///< Of the terminal; the live line belongs to kInfo.
};

/// Trains from the first step to the last, or until eval.stop_at_return or a stop signal. Creates the folder
/// once everything else is in place (memory, device); throws Error (kUsage) when it exists already. Returns
/// the exit code: 0, or 128 + n when signal n ended the run after a checkpoint. Throws Error for everything
/// else.
int RunTraining(const RunRequest& request);

/// Goes on with the run in `request.folder` from `checkpoint`, one of its own, as if it had never been
/// stopped: to the last bit on one processor. Rows of the tables that came after the checkpoint are dropped.
/// `notes` are told at the start. Throws Error (kBadCheckpoint) when the checkpoint doesn't fit, and
/// otherwise as RunTraining().
int ResumeTraining(const RunRequest& request, const Checkpoint& checkpoint,
                   const std::vector<std::string>& notes);

}  // namespace metronome

#endif  // METRONOME_TRAIN_RUN_H_
