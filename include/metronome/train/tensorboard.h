#ifndef METRONOME_TRAIN_TENSORBOARD_H_
#define METRONOME_TRAIN_TENSORBOARD_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "metronome/core/file.h"

namespace metronome {

class EventRecord;

/// Seconds since 1970 on the system's clock.
double WallSeconds();

/// A point of the curve `tag`.
struct ScalarPoint {
  std::string_view tag;  ///< 1 to TensorboardWriter::kMaxTagBytes bytes, UTF-8.
  double value = 0.0;
};

/// A setting of the run, for TensorBoard's table that compares runs by their settings.
struct Hyperparameter {
  std::string name;  ///< "learner.batch_size"
  std::variant<bool, double, std::string> value;
};

/// Writes an event file for TensorBoard (github.com/tensorflow/tensorboard), which shows one curve a tag and
/// one run a folder. A file is a sequence of records:
///   8 bytes  length of the payload, little-endian
///   4 bytes  masked CRC-32C of these 8 bytes
///   payload  a protobuf message Event: wall_time = 1 (double), step = 2 (int64), and one of
///     file_version = 3 (string)
///     summary = 5 {value = 1, repeated: {tag = 1 (string), and one of
///       simple_value = 2 (float)
///       histo = 5 {min = 1, max = 2, num = 3, sum = 4, sum_squares = 5, bucket_limit = 6, bucket = 7:
///       doubles} tensor = 8, which the plugin named in metadata = 9 shows}}
///     session_log = 7 {status = 1 (enum)}
///   4 bytes  masked CRC-32C of the payload
/// The first record says file_version "brain.Event:2". Encoded here by hand: protobuf itself would clash with
/// the one inside libtorch.
///
/// Only whole records are handed to the system, so a TensorBoard that reads along never sees one half
/// written. AddScalars() and Flush() allocate nothing. Everything that adds throws Error (kInputOutput) when
/// the file can't be written.
class TensorboardWriter {
 public:
  static constexpr std::size_t kMaxTagBytes = 200;
  static constexpr std::size_t kMaxScalars = 32;  ///< In one record.
  static constexpr int kHistogramBuckets = 30;

  /// Creates `events.out.tfevents.<seconds>.<host>.<pid>.<n>` in `folder`, n the first that is free.
  /// `clock` gives the wall time of each record. Throws Error (kInputOutput).
  explicit TensorboardWriter(const std::filesystem::path& folder, double (*clock)() = WallSeconds);
  ~TensorboardWriter();

  /// Adds a point at `step` to each of these curves: one record, of at most 40 bytes and for each point its
  /// tag and 9 bytes (11 where the tag has more than 120).  Throws Error (kNonFinite) that names the first
  /// value that is not finite in float32, and adds none then. REQUIRES (checked): 1 to kMaxScalars points.
  void AddScalars(std::int64_t step, std::span<const ScalarPoint> points);
  void AddScalar(std::string_view tag, std::int64_t step, double value) {
    const ScalarPoint point{tag, value};
    AddScalars(step, {&point, 1});
  }

  /// Adds how `values` are spread: how many lie in each of kHistogramBuckets equal parts of their range (in
  /// one, when all are equal). Some 560 bytes and the tag. Throws Error (kNonFinite) likewise.
  /// REQUIRES (checked): not empty.
  void AddHistogram(std::string_view tag, std::int64_t step, std::span<const float> values);

  /// Adds a text (Markdown, UTF-8).
  void AddText(std::string_view tag, std::int64_t step, std::string_view text);

  /// Says with which settings the run began, and by which curves runs are to be compared. Runs with equal
  /// settings are one row of the table.
  void AddHyperparameters(std::span<const Hyperparameter> settings,
                          std::span<const std::string_view> metrics);
  /// Says that the run has done what it was to do.
  void AddEnd();

  /// Says that the run goes on after `step`: a TensorBoard that had read further forgets what came after.
  void AddRestart(std::int64_t step);

  /// Hands the records to the system. Throws Error (kInputOutput).
  void Flush() { file_.Flush(); }

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void AddEvent(std::int64_t step);
  void AddValue(std::string_view tag, std::int64_t step);
  void AddHparamsValue(std::string_view tag, std::string_view content);
  void CheckFinite(std::string_view tag, std::int64_t step, double value) const;

  AppendFile file_;
  double (*clock_)();
  const std::unique_ptr<EventRecord> record_;
};

/// Takes from the event files in `folder` the records that came after `step` and a last one that was cut, and
/// removes a file that then holds nothing. Files that don't begin as ours do are left alone. Throws Error
/// (kInputOutput).
void DropEventsAfter(const std::filesystem::path& folder, std::int64_t step);

}  // namespace metronome

#endif  // METRONOME_TRAIN_TENSORBOARD_H_
