#include "metronome/train/tensorboard.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>

#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/text.h"

namespace metronome {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the records are little-endian, and copied as they are");

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Castagnoli's, its bits reversed

constexpr std::array<std::uint32_t, 256> MakeCrcTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? kPolynomial : 0);
    }
    table[byte] = remainder;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kCrcTable = MakeCrcTable();

/// Kinds of a protobuf field, the low three bits of its key.
enum WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

/// Builds bytes in a fixed block. A message is built from its end to its start, so that the length that
/// stands before a part is known when it is written.
class BackwardBuffer {
 public:
  std::string_view bytes() const { return {block_.data() + start_, block_.size() - start_}; }

  void Bytes(std::string_view bytes) {
    METRONOME_CHECK_LE(bytes.size(), start_);
    start_ -= bytes.size();
    std::memcpy(block_.data() + start_, bytes.data(), bytes.size());
  }
  template <typename Number>
  void Fixed(Number value) {
    Bytes({reinterpret_cast<const char*>(&value), sizeof(value)});
  }
  /// Seven bits a byte, the lowest first, the highest bit set in all but the last.
  void Varint(std::uint64_t value) {
    char digits[10];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
      value >>= 7;
    } while (value != 0);
    Bytes({digits, count});
  }
  void Key(std::uint32_t field, WireType type) { Varint((field << 3) | type); }
  /// Makes all that is there so far a field, which names its length.
  void MakePart(std::uint32_t field) {
    Varint(bytes().size());
    Key(field, kLengthDelimited);
  }

 private:
  // The longest tag and some 60 bytes around it.
  std::array<char, TensorboardWriter::kMaxTagBytes + 128> block_;
  std::size_t start_ = block_.size();
};

void AppendRecord(AppendFile& file, BackwardBuffer& event) {
  const std::uint32_t checksum = MaskedCrc32c(event.bytes());
  const std::uint64_t length = event.bytes().size();
  BackwardBuffer record;
  record.Fixed(checksum);
  record.Bytes(event.bytes());
  record.Fixed(MaskedCrc32c({reinterpret_cast<const char*>(&length), sizeof(length)}));
  record.Fixed(length);
  file.Append(record.bytes());
}

std::filesystem::path FreeName(const std::filesystem::path& folder, double seconds) {
  char host[65] = {};
  if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0') std::strcpy(host, "localhost");
  const std::string start = "events.out.tfevents." + std::to_string(static_cast<std::int64_t>(seconds)) +
                            "." + host + "." + std::to_string(getpid()) + ".";
  for (int n = 0;; ++n) {
    std::filesystem::path path = folder / (start + std::to_string(n));
    std::error_code ignored;  // AppendFile tells what is wrong with the folder
    if (!std::filesystem::exists(path, ignored)) return path;
  }
}

}  // namespace

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::uint32_t Crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t MaskedCrc32c(std::string_view bytes) { return std::rotr(Crc32c(bytes), 15) + 0xa282ead8; }

TensorboardWriter::TensorboardWriter(const std::filesystem::path& folder, double (*clock)())
    : file_(FreeName(folder, clock())), clock_(clock) {
  BackwardBuffer event;
  event.Bytes("brain.Event:2");
  event.MakePart(3);
  event.Fixed(clock_());
  event.Key(1, kFixed64);
  AppendRecord(file_, event);
  Flush();
}

void TensorboardWriter::AddScalar(std::string_view tag, std::int64_t step, double value) {
  METRONOME_CHECK_GT(tag.size(), 0U);
  METRONOME_CHECK_LE(tag.size(), kMaxTagBytes);
  // Also what a float32 can't hold, before the conversion.
  if (!(std::abs(value) <= std::numeric_limits<float>::max())) {
    throw Error(ExitCode::kNonFinite, file_.path().string() + ": " + std::string(tag) + " at step " +
                                          std::to_string(step) + " is " + FormatDouble(value) +
                                          ", not a finite float32");
  }
  BackwardBuffer event;
  event.Fixed(static_cast<float>(value));
  event.Key(2, kFixed32);
  event.Bytes(tag);
  event.Varint(tag.size());
  event.Key(1, kLengthDelimited);
  event.MakePart(1);  // the only value of Summary
  event.MakePart(5);  // Event's summary
  event.Varint(static_cast<std::uint64_t>(step));
  event.Key(2, kVarint);
  event.Fixed(clock_());
  event.Key(1, kFixed64);
  AppendRecord(file_, event);
}

}  // namespace metronome
