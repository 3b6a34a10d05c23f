#ifndef METRONOME_TRAIN_CHECKPOINT_H_
#define METRONOME_TRAIN_CHECKPOINT_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metronome/learner/learner.h"
#include "metronome/train/checkpoint_part.h"
#include "metronome/train/config.h"
#include "metronome/train/trainer_state.h"

namespace metronome {

class ReplayArchive;

/// A checkpoint is a folder, whole or absent under its name, of these parts:
///   weights.safetensors  float32 tensors online.*, target.*, adam.first_moment.*, adam.second_moment.*, and
///   in
///                        the metadata the network's description; loads in Python by itself
///   config.toml          the run's effective configuration
///   state.json           counters, streams of randomness, the best evaluation so far
///   episode.recording    the episode in progress, where there is one
///   replay-*.segment     the replay, in a checkpoint that a run can go on from; see
///   src/train/replay_archive.h manifest.json        format name and version; name, size and checksum
///   (xxHash64) of every other part
/// manifest.json is written last; no file of the folder is outside it.
inline constexpr int kCheckpointFormatVersion = 1;

/// How much of the replay a checkpoint holds.
struct ReplayState {
  std::int64_t added = 0;  ///< Transitions ever added.
  std::int64_t size = 0;   ///< The newest of them, which are held.
};

/// Where a run stands, beside its weights.
struct CheckpointState {
  TrainerState trainer;
  std::int64_t updates = 0;
  std::int64_t target_syncs = 0;
  std::optional<double> best_mean;  ///< Of the evaluations so far.
  std::int64_t best_step = 0;
  bool evaluation_due = false;        ///< The evaluation of this step was cut short, and comes first.
  double wall_seconds = 0.0;          ///< Spent on the run so far.
  std::string device;                 ///< Where the network computed; empty in checkpoints of older versions.
  std::optional<ReplayState> replay;  ///< Empty in a checkpoint that holds weights alone, such as the best.
};

/// A checkpoint, read and checked.
struct Checkpoint {
  std::filesystem::path path;
  std::string config_text;  ///< TOML.
  CheckpointState state;
  std::string game;
  std::vector<std::int64_t> observation_shape;
  std::int64_t num_actions = 0;
  std::vector<std::int64_t> hidden;
  std::vector<NamedTensor> tensors;  ///< Layout of the flat vectors below.
  std::vector<float> online, target, first_moment, second_moment;
  std::vector<CheckpointPart> parts;  ///< As the manifest lists them.
};

/// Writes `folder` whole or not at all, in the place of one that stands there. Throws Error (kInputOutput),
/// and Error (kNonFinite) rather than save a weight that is not finite. Returns the bytes written.
std::int64_t WriteCheckpoint(const std::filesystem::path& folder, Learner& learner, const GameSpec& game,
                             const NetworkSpec& network, const std::string& config_text,
                             const CheckpointState& state, ReplayArchive* replay = nullptr);

/// Bytes of disk that a run's checkpoints take at the most: the kept ones, the best, and one more while it is
/// written. Kept checkpoints share the segments of the replay that they have in common.
std::int64_t MostCheckpointBytes(const RunConfig& config, const GameSpec& game);

/// Throws Error (kBadCheckpoint), one line that names the file and what is wrong with it: a part that is
/// missing, cut, changed or foreign, another format or version, weights that don't fit their description.
Checkpoint ReadCheckpoint(const std::filesystem::path& folder);

/// Puts a checkpoint's weights, Adam's moments and counters into `learner`. Throws Error (kBadCheckpoint)
/// that names both shapes when `game` or `network` are others than the checkpoint's.
void RestoreLearner(const Checkpoint& checkpoint, const std::string& game, const NetworkSpec& network,
                    Learner& learner);

/// The checkpoint that PATH means to `eval` and `watch`: PATH itself when it is a checkpoint, else of a run
/// folder the best one, else the newest. Throws Error: kInputOutput when there is no such path,
/// kBadCheckpoint when it holds no checkpoint.
std::filesystem::path FindCheckpoint(const std::filesystem::path& path);

/// What a run goes on from: of its numbered checkpoints the newest that is good. For each newer one that is
/// not, its fault is added to `faults`, one line each.  Throws Error (kBadCheckpoint) when there is none.
Checkpoint ReadNewestCheckpoint(const std::filesystem::path& run, std::vector<std::string>& faults);

/// The numbered checkpoints in `<run>/checkpoints`, oldest first.
std::vector<std::filesystem::path> NumberedCheckpoints(const std::filesystem::path& run);

}  // namespace metronome

#endif  // METRONOME_TRAIN_CHECKPOINT_H_
