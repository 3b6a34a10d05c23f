#ifndef METRONOME_TRAIN_REPLAY_ARCHIVE_H_
#define METRONOME_TRAIN_REPLAY_ARCHIVE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metronome/replay/replay_buffer.h"
#include "metronome/train/checkpoint_part.h"

namespace metronome {

/// Keeps a replay buffer in files at a cost that follows what is new. The transitions, numbered from the
/// first ever added, are cut into segments of a fixed number; a segment that is full never changes again. A
/// checkpoint's folder holds every segment of which the ring still has a transition: a full one that the
/// checkpoint before has too is linked from there (a hard link, or a copy where the file system has none), so
/// only the last, unfinished one and what came since is written. Each folder is whole by itself, and a
/// segment leaves the disk with the last folder that needs it.
///
/// A segment file "replay-<first>.segment", little-endian:
///   "metronome-replay 1\n" and 5 zero bytes                        24 bytes
///   first transition, transitions, elements of an observation, bytes of an element   4 x int64
///   per transition: action int32, reward float32, ending uint8, follows uint8, has_next uint8, 0    12 bytes
///   per transition: its observation, and after it, where has_next is 1, its next observation
/// follows: its observation is the next one of the transition before. has_next: the next transition of this
/// file does not follow it, so its next observation stands nowhere else.
class ReplayArchive {
 public:
  /// Bytes of observations that a segment holds at about.
  static constexpr std::int64_t kSegmentBytes = std::int64_t{4} << 20;

  explicit ReplayArchive(const ReplayBuffer& replay);

  /// Puts every segment into `folder` and returns them as parts of the checkpoint. `final_folder` is where
  /// they'll stand once the folder has its name; the next call links from there.
  std::vector<CheckpointPart> Write(const std::filesystem::path& folder,
                                    const std::filesystem::path& final_folder);

  /// After a resume: the segments of the checkpoint that was read, for the next Write() to link.
  void Adopt(const std::filesystem::path& folder, std::span<const CheckpointPart> parts);

  static bool IsSegmentName(std::string_view name);
  /// How many transitions, with observations of so many bytes, are in a full segment.
  static std::int64_t TransitionsPerSegment(std::int64_t observation_bytes);

 private:
  const ReplayBuffer& replay_;
  const std::int64_t transitions_per_segment_;
  std::filesystem::path last_folder_;
  std::map<std::string, CheckpointPart> full_segments_;  // in last_folder_, by name
};

/// Fills `replay`, which must be empty, with the transitions [added - size, added) from the segment files of
/// `folder`. Throws Error (kBadCheckpoint) for segments that don't hold them or don't fit the buffer.
void RestoreReplay(const std::filesystem::path& folder, std::span<const CheckpointPart> parts,
                   std::int64_t added, std::int64_t size, std::int64_t num_actions, ReplayBuffer& replay);

}  // namespace metronome

#endif  // METRONOME_TRAIN_REPLAY_ARCHIVE_H_
