#ifndef METRONOME_TESTS_TRAIN_EVENT_READER_H_
#define METRONOME_TESTS_TRAIN_EVENT_READER_H_

// A strict reader of TensorBoard's event files, written from the format and not from the writer: every
// checksum is checked, and whatever we don't write is refused.

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace metronome {

/// CRC-32C once more, bit by bit, as polynomial division.
inline std::uint32_t NaiveCrc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const std::uint32_t in = (static_cast<unsigned char>(byte) >> bit) & 1u;
      const bool divides = ((crc & 1u) ^ in) != 0;
      crc >>= 1;
      if (divides) crc ^= 0x82f63b78u;
    }
  }
  return crc ^ 0xffffffffu;
}

inline std::uint32_t NaiveMasked(std::string_view bytes) {
  const std::uint64_t crc = NaiveCrc32c(bytes);
  return static_cast<std::uint32_t>(((crc >> 15) + (crc << 17) + 0xa282ead8u) & 0xffffffffu);
}

/// Reads what must be there, and throws where it isn't.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return bytes_.empty(); }
  std::string_view Take(std::uint64_t count) {
    if (count > bytes_.size()) throw std::runtime_error("cut short");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  template <typename Number>
  Number Fixed() {
    Number value;
    std::memcpy(&value, Take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const auto digit = static_cast<unsigned char>(Take(1)[0]);
      value |= static_cast<std::uint64_t>(digit & 0x7f) << shift;
      if ((digit & 0x80) == 0) return value;
    }
    throw std::runtime_error("a number without an end");
  }
  std::string_view Part() { return Take(Varint()); }

 private:
  std::string_view bytes_;
};

struct Histogram {
  double min = 0.0, max = 0.0, num = 0.0, sum = 0.0, sum_squares = 0.0;
  std::vector<double> limits, counts;
};

/// A value of a summary: one of the three.
struct Value {
  std::string tag;
  std::optional<float> scalar;
  std::optional<Histogram> histogram;
  std::optional<std::string> text;     // of a tensor
  std::string plugin, plugin_content;  // whose tensor it is
};

struct Event {
  double wall_time = 0.0;
  std::int64_t step = 0;
  std::optional<std::string> file_version;
  std::vector<Value> values;
  bool starts_session = false;
};

constexpr std::uint64_t Key(int field, int wire_type) {
  return static_cast<std::uint64_t>(field << 3 | wire_type);
}

[[noreturn]] inline void RefuseField(const char* where) {
  throw std::runtime_error(std::string("unknown field in ") + where);
}

/// What must be there and is `expected`.
inline void Demand(std::uint64_t found, std::uint64_t expected, const char* where) {
  if (found != expected) RefuseField(where);
}

inline Histogram ParseHistogram(std::string_view bytes) {
  Histogram histogram;
  Reader reader(bytes);
  const auto doubles = [&reader] {
    std::vector<double> values;
    Reader packed(reader.Part());
    while (!packed.done()) values.push_back(packed.Fixed<double>());
    return values;
  };
  const std::array<double*, 5> numbers = {&histogram.min, &histogram.max, &histogram.num, &histogram.sum,
                                          &histogram.sum_squares};
  for (int field = 1; field <= 5; ++field) {
    Demand(reader.Varint(), Key(field, 1), "a histogram");
    *numbers[static_cast<std::size_t>(field - 1)] = reader.Fixed<double>();
  }
  Demand(reader.Varint(), Key(6, 2), "a histogram");
  histogram.limits = doubles();
  Demand(reader.Varint(), Key(7, 2), "a histogram");
  histogram.counts = doubles();
  if (!reader.done()) RefuseField("a histogram");
  return histogram;
}

/// The text of a tensor of one text; empty for a tensor of no floats.
inline std::optional<std::string> ParseTensor(std::string_view bytes) {
  Reader reader(bytes);
  Demand(reader.Varint(), Key(1, 0), "a tensor");
  const std::uint64_t type = reader.Varint();
  Demand(reader.Varint(), Key(2, 2), "a tensor");
  Reader shape(reader.Part());
  Demand(shape.Varint(), Key(2, 2), "a shape");
  Reader dimension(shape.Part());
  Demand(dimension.Varint(), Key(1, 0), "a dimension");
  const std::uint64_t size = dimension.Varint();
  if (!dimension.done() || !shape.done()) RefuseField("a shape");
  if (type == 1 && size == 0 && reader.done()) return std::nullopt;
  if (type != 7 || size != 1) throw std::runtime_error("a tensor of another kind");
  Demand(reader.Varint(), Key(8, 2), "a tensor");
  const std::string text(reader.Part());
  if (!reader.done()) RefuseField("a tensor");
  return text;
}

inline void ParseMetadata(std::string_view bytes, Value& value) {
  Reader reader(bytes);
  Demand(reader.Varint(), Key(1, 2), "a metadata");
  Reader data(reader.Part());
  Demand(data.Varint(), Key(1, 2), "plugin data");
  value.plugin = data.Part();
  if (!data.done()) {
    Demand(data.Varint(), Key(2, 2), "plugin data");
    value.plugin_content = data.Part();
  }
  Demand(reader.Varint(), Key(4, 0), "a metadata");
  Demand(reader.Varint(), 2, "a metadata");  // a tensor
  if (!reader.done() || !data.done()) RefuseField("a metadata");
}

inline Value ParseValue(std::string_view bytes) {
  Value value;
  Reader reader(bytes);
  int kinds = 0;
  while (!reader.done()) {
    switch (reader.Varint()) {
      case Key(1, 2):
        value.tag = reader.Part();
        break;
      case Key(2, 5):
        value.scalar = reader.Fixed<float>();
        ++kinds;
        break;
      case Key(5, 2):
        value.histogram = ParseHistogram(reader.Part());
        ++kinds;
        break;
      case Key(8, 2):
        value.text = ParseTensor(reader.Part());
        ++kinds;
        break;
      case Key(9, 2):
        ParseMetadata(reader.Part(), value);
        break;
      default:
        RefuseField("a value");
    }
  }
  if (kinds != 1) throw std::runtime_error("a value of no kind, or of two");
  return value;
}

inline Event ParseEvent(std::string_view bytes) {
  Event event;
  Reader reader(bytes);
  while (!reader.done()) {
    switch (reader.Varint()) {
      case Key(1, 1):
        event.wall_time = reader.Fixed<double>();
        break;
      case Key(2, 0):
        event.step = static_cast<std::int64_t>(reader.Varint());
        break;
      case Key(3, 2):
        event.file_version = reader.Part();
        break;
      case Key(5, 2): {
        Reader summary(reader.Part());
        while (!summary.done()) {
          Demand(summary.Varint(), Key(1, 2), "a summary");
          event.values.push_back(ParseValue(summary.Part()));
        }
        break;
      }
      case Key(7, 2): {
        Reader log(reader.Part());
        Demand(log.Varint(), Key(1, 0), "a session log");
        event.starts_session = log.Varint() == 1 && log.done();
        break;
      }
      default:
        RefuseField("an event");
    }
  }
  return event;
}

/// Every record of a file, each checksum checked.
inline std::vector<Event> ParseEventFile(std::string_view bytes) {
  std::vector<Event> events;
  Reader reader(bytes);
  while (!reader.done()) {
    const std::string_view length = reader.Take(8);
    if (reader.Fixed<std::uint32_t>() != NaiveMasked(length)) throw std::runtime_error("length's checksum");
    std::uint64_t size = 0;
    std::memcpy(&size, length.data(), 8);
    const std::string_view payload = reader.Take(size);
    if (reader.Fixed<std::uint32_t>() != NaiveMasked(payload)) throw std::runtime_error("payload's checksum");
    events.push_back(ParseEvent(payload));
  }
  return events;
}

}  // namespace metronome

#endif  // METRONOME_TESTS_TRAIN_EVENT_READER_H_
