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
#include "metronome/train/config.h"

namespace metronome {

/// A checkpoint is a folder, whole or absent under its name, of these parts:
///   weights.safetensors  float32 tensors online.*, target.*, adam.first_moment.*, adam.second_moment.*, and
///   in
///                        the metadata the network's description; loads in Python by itself
///   config.toml          the run's effective configuration
///   state.json           counters, streams of randomness, the best evaluation so far
///   manifest.json        format name and version; name, size and checksum (xxHash64) of every other part
/// manifest.json is written last; no file of the folder is outside it.
inline constexpr int kCheckpointFormatVersion = 1;

/// Where a run stands, beside its weights.
struct CheckpointState {
  std::int64_t step = 0;      ///< Environment steps done.
  std::int64_t episodes = 0;  ///< Episodes ended.
  std::int64_t updates = 0;
  std::int64_t target_syncs = 0;
  std::optional<double> best_mean;             ///< Of the evaluations so far.
  std::map<std::string, std::string> streams;  ///< Rng::SaveState() by name.
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
};

/// Writes `folder` whole or not at all, in the place of one that stands there. Throws Error (kInputOutput),
/// and Error (kNonFinite) rather than save a weight that is not finite. Returns the bytes written.
std::int64_t WriteCheckpoint(const std::filesystem::path& folder, Learner& learner, const GameSpec& game,
                             const NetworkSpec& network, const std::string& config_text,
                             const CheckpointState& state);

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

/// The numbered checkpoints in `<run>/checkpoints`, oldest first.
std::vector<std::filesystem::path> NumberedCheckpoints(const std::filesystem::path& run);

}  // namespace metronome

#endif  // METRONOME_TRAIN_CHECKPOINT_H_
