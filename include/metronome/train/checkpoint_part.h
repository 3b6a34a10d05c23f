#ifndef METRONOME_TRAIN_CHECKPOINT_PART_H_
#define METRONOME_TRAIN_CHECKPOINT_PART_H_

#include <cstdint>
#include <string>

namespace metronome {

/// One file of a checkpoint, as its manifest lists it.
struct CheckpointPart {
  std::string name;
  std::int64_t bytes = 0;
  std::uint64_t checksum = 0;  ///< Checksum() of the whole file.
};

}  // namespace metronome

#endif  // METRONOME_TRAIN_CHECKPOINT_PART_H_
