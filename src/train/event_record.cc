#include "train/event_record.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace metronome {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the records are little-endian, and copied as they are");

constexpr std::uint32_t kPolynomial = 0x82F63B78;    // Castagnoli's, its bits reversed
constexpr std::size_t kFirstBlockBytes = 16 * 1024;  // more than any record of scalars has
constexpr std::size_t kHeadBytes = 12;               // length and its checksum

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

/// Takes a varint from `bytes`; empty where there is none.
std::optional<std::uint64_t> TakeVarint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 10 && i < bytes.size(); ++i) {
    const auto digit = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<std::uint64_t>(digit & 0x7f) << (7 * i);
    if ((digit & 0x80) == 0) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

template <typename Number>
Number ReadFixed(std::string_view bytes) {
  Number value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

}  // namespace

std::uint32_t Crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t MaskedCrc32c(std::string_view bytes) { return std::rotr(Crc32c(bytes), 15) + 0xa282ead8; }

EventRecord::EventRecord() : block_(kFirstBlockBytes) { Begin(); }

void EventRecord::Begin() { start_ = block_.size() - kChecksumBytes; }

void EventRecord::Bytes(std::string_view bytes) {
  if (bytes.size() > start_) {
    std::vector<char> larger(2 * block_.size() + bytes.size());
    const std::size_t used = block_.size() - start_;
    std::memcpy(larger.data() + larger.size() - used, block_.data() + start_, used);
    block_.swap(larger);
    start_ = block_.size() - used;
  }
  start_ -= bytes.size();
  std::copy(bytes.begin(), bytes.end(), block_.begin() + static_cast<std::ptrdiff_t>(start_));
}

template <typename Number>
void EventRecord::Fixed(Number value) {
  Bytes({reinterpret_cast<const char*>(&value), sizeof(value)});
}

/// Seven bits a byte, the lowest first, the highest bit set in all but the last.
void EventRecord::Varint(std::uint64_t value) {
  char digits[10];
  std::size_t count = 0;
  do {
    digits[count++] = static_cast<char>((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>= 7;
  } while (value != 0);
  Bytes({digits, count});
}

void EventRecord::Integer(std::uint32_t field, std::uint64_t value) {
  Varint(value);
  Varint((field << 3) | kVarint);
}

void EventRecord::Float(std::uint32_t field, float value) {
  Fixed(value);
  Varint((field << 3) | kFixed32);
}

void EventRecord::Double(std::uint32_t field, double value) {
  Fixed(value);
  Varint((field << 3) | kFixed64);
}

void EventRecord::String(std::uint32_t field, std::string_view bytes) {
  Bytes(bytes);
  Varint(bytes.size());
  Varint((field << 3) | kLengthDelimited);
}

void EventRecord::Doubles(std::uint32_t field, std::span<const double> values) {
  String(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

void EventRecord::MakePart(std::uint32_t field, std::size_t before) {
  Varint(size() - before);
  Varint((field << 3) | kLengthDelimited);
}

std::string_view EventRecord::Finish() {
  const std::uint64_t length = size();
  const std::uint32_t checksum = MaskedCrc32c(message());
  std::memcpy(block_.data() + block_.size() - kChecksumBytes, &checksum, kChecksumBytes);
  Fixed(MaskedCrc32c({reinterpret_cast<const char*>(&length), sizeof(length)}));
  Fixed(length);
  return {block_.data() + start_, block_.size() - start_};
}

std::optional<std::string_view> TakeEventRecord(std::string_view& bytes) {
  constexpr std::size_t kFootBytes = 4;
  if (bytes.size() < kHeadBytes + kFootBytes) return std::nullopt;
  const auto length = ReadFixed<std::uint64_t>(bytes);
  if (ReadFixed<std::uint32_t>(bytes.substr(8)) != MaskedCrc32c(bytes.substr(0, 8))) return std::nullopt;
  if (length > bytes.size() - kHeadBytes - kFootBytes) return std::nullopt;
  const std::string_view message = bytes.substr(kHeadBytes, length);
  if (ReadFixed<std::uint32_t>(bytes.substr(kHeadBytes + length)) != MaskedCrc32c(message)) {
    return std::nullopt;
  }
  bytes.remove_prefix(kHeadBytes + length + kFootBytes);
  return message;
}

std::optional<std::int64_t> EventStep(std::string_view event) {
  constexpr std::uint32_t kStepField = 2;
  std::int64_t step = 0;
  while (!event.empty()) {
    const std::optional<std::uint64_t> key = TakeVarint(event);
    if (!key) return std::nullopt;
    std::uint64_t skipped = 0;
    switch (*key & 7) {
      case kVarint: {
        const std::optional<std::uint64_t> value = TakeVarint(event);
        if (!value) return std::nullopt;
        if (*key >> 3 == kStepField) step = static_cast<std::int64_t>(*value);
        break;
      }
      case kFixed64:
        skipped = 8;
        break;
      case kFixed32:
        skipped = 4;
        break;
      case kLengthDelimited: {
        const std::optional<std::uint64_t> length = TakeVarint(event);
        if (!length) return std::nullopt;
        skipped = *length;
        break;
      }
      default:
        return std::nullopt;
    }
    if (skipped > event.size()) return std::nullopt;
    event.remove_prefix(skipped);
  }
  return step;
}

}  // namespace metronome
