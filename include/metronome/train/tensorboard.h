#ifndef METRONOME_TRAIN_TENSORBOARD_H_
#define METRONOME_TRAIN_TENSORBOARD_H_

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "metronome/core/file.h"

namespace metronome {

/// Seconds since 1970 on the system's clock.
double WallSeconds();

/// Writes scalars into an event file for TensorBoard (github.com/tensorflow/tensorboard), which shows one
/// curve a tag and one run a folder. A file is a sequence of records:
///   8 bytes  length of the payload, little-endian
///   4 bytes  masked CRC-32C of these 8 bytes
///   payload  a protobuf message Event: wall_time = 1 (double), step = 2 (int64), file_version = 3 (string)
///   or
///            summary = 5 {value = 1 {tag = 1 (string), simple_value = 2 (float)}}
///   4 bytes  masked CRC-32C of the payload
/// The first record says file_version "brain.Event:2". Encoded here by hand: protobuf itself would clash with
/// the one inside libtorch.
///
/// Only whole records are handed to the system, so a TensorBoard that reads along never sees one half
/// written. AddScalar() and Flush() allocate nothing.
class TensorboardWriter {
 public:
  static constexpr std::size_t kMaxTagBytes = 200;

  /// Creates `events.out.tfevents.<seconds>.<host>.<pid>.<n>` in `folder`, n the first that is free.
  /// `clock` gives the wall time of each record. Throws Error (kInputOutput).
  explicit TensorboardWriter(const std::filesystem::path& folder, double (*clock)() = WallSeconds);

  /// Adds a point to the curve `tag`. Throws Error (kNonFinite) for a value that is not finite in float32.
  /// REQUIRES (checked): 1 to kMaxTagBytes bytes of tag. UTF-8.
  void AddScalar(std::string_view tag, std::int64_t step, double value);

  /// Hands the records to the system. Throws Error (kInputOutput).
  void Flush() { file_.Flush(); }

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  AppendFile file_;
  double (*clock_)();
};

/// CRC-32C (Castagnoli), bit-reflected, as in iSCSI (RFC 3720).
std::uint32_t Crc32c(std::string_view bytes);

/// What a record holds: the checksum turned and shifted, since a checksum of bytes that hold their own
/// checksum would be weak.
std::uint32_t MaskedCrc32c(std::string_view bytes);

}  // namespace metronome

#endif  // METRONOME_TRAIN_TENSORBOARD_H_
