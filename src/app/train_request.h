#ifndef METRONOME_APP_TRAIN_REQUEST_H_
#define METRONOME_APP_TRAIN_REQUEST_H_

#include <filesystem>

#include "app/commands.h"
#include "metronome/train/progress.h"

namespace metronome {

/// What `train` checks before it creates anything, of one run and of many; in train.cc.

/// The configuration of a new run. Throws Error (kUsage) for a mistake, or when what every run needs is
/// missing.
EffectiveConfig LoadNewConfig(const TrainOptions& options);

/// Refuses what the machine's memory, disk or devices don't allow.
void CheckMachine(const EffectiveConfig& effective, const std::filesystem::path& folder);

/// --log-level and --quiet.
LogLevel ParseLogLevel(const TrainOptions& options);

}  // namespace metronome

#endif  // METRONOME_APP_TRAIN_REQUEST_H_
