#ifndef METRONOME_TRAIN_EVENT_RECORD_H_
#define METRONOME_TRAIN_EVENT_RECORD_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metronome {

/// CRC-32C (Castagnoli), bit-reflected, as in iSCSI (RFC 3720).
std::uint32_t Crc32c(std::string_view bytes);

/// What a record holds: the checksum turned and shifted, since a checksum of bytes that hold their own
/// checksum would be weak.
std::uint32_t MaskedCrc32c(std::string_view bytes);

/// Builds a protobuf message, and around it a record of TensorBoard's event files (see tensorboard.h). Built
/// from its end to its start: a part's length stands before the part and is known once that is there. So the
/// calls come in the opposite order of the bytes, the fields of a part before the part itself. The memory
/// grows with the largest record and is used again; up to 16 KiB nothing is allocated after construction.
class EventRecord {
 public:
  EventRecord();

  /// Begins the next one.
  void Begin();

  void Integer(std::uint32_t field, std::uint64_t value);  ///< int32, int64, enum, bool
  void Float(std::uint32_t field, float value);
  void Double(std::uint32_t field, double value);
  void String(std::uint32_t field, std::string_view bytes);  ///< string, bytes
  void Doubles(std::uint32_t field, std::span<const double> values);
  /// Makes what has been built since the message had `size` bytes a message of its own, in `field`.
  void MakePart(std::uint32_t field, std::size_t size = 0);

  std::size_t size() const { return block_.size() - kChecksumBytes - start_; }
  std::string_view message() const { return {block_.data() + start_, size()}; }

  /// The message in its frame. Valid until the next Begin(), which must come next.
  std::string_view Finish();

 private:
  static constexpr std::size_t kChecksumBytes = 4;

  void Bytes(std::string_view bytes);
  template <typename Number>
  void Fixed(Number value);
  void Varint(std::uint64_t value);

  std::vector<char> block_;  // the message lies at its end, before the place of its checksum
  std::size_t start_ = 0;
};

/// Takes the first record from `bytes` and returns its message; empty, and nothing taken, where there is no
/// whole record with good checksums.
std::optional<std::string_view> TakeEventRecord(std::string_view& bytes);

/// The step of an Event, 0 where it says none; empty for what is no message.
std::optional<std::int64_t> EventStep(std::string_view event);

}  // namespace metronome

#endif  // METRONOME_TRAIN_EVENT_RECORD_H_
