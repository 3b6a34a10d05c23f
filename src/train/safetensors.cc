#include "metronome/train/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "metronome/core/check.h"
#include "metronome/core/error.h"

namespace metronome {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian, and copied as it is");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // as the format's own library has it
constexpr std::size_t kDataAlignment = 64;
constexpr const char* kMetadataKey = "__metadata__";

/// A name from a file, for a message: in quotes, on one line, not too long.
std::string Quoted(const std::string& name) {
  constexpr std::size_t kLongest = 100;
  std::string text = nlohmann::json(name).dump(-1, ' ', true);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

/// The number of elements of a tensor, or false where 64 bits can't hold its bytes.
bool CountBytes(const std::vector<std::int64_t>& shape, std::int64_t& bytes) {
  bytes = sizeof(float);
  // A 0 anywhere makes it empty, also where the other sizes alone would overflow.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    bytes = 0;
    return true;
  }
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return false;
  }
  return true;
}

/// What the header says of one tensor.
struct Entry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> offsets;
  std::set<std::string> fields;  // that were given
};

/// Receives the header's parts in their order, so that what a tree of values would hide is seen (a key that
/// comes twice), and so that nothing is built that doesn't belong there. Each member returns whether to go
/// on; their names are the JSON library's.
class HeaderReader {
 public:
  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;
  std::string problem;

  // NOLINTBEGIN(readability-identifier-naming)
  bool null() { return Misplaced("null"); }
  bool boolean(bool) { return Misplaced("true or false"); }
  bool number_integer(std::int64_t) { return Misplaced("a negative number"); }
  bool number_float(double, const std::string&) {
    return Misplaced("a number that isn't whole or too large");
  }
  bool binary(std::vector<std::uint8_t>&) { return Misplaced("binary data"); }

  bool number_unsigned(std::uint64_t value) {
    if (place_ != Place::kShape && place_ != Place::kOffsets) return Misplaced("a number");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Misplaced("a number that is too large");
    }
    auto& numbers = place_ == Place::kShape ? entries.back().shape : entries.back().offsets;
    numbers.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::kMetadataValue) {
      metadata[key_] = value;
      place_ = Place::kMetadata;
      return true;
    }
    if (place_ == Place::kDtypeValue) {
      entries.back().dtype = value;
      place_ = Place::kTensor;
      return true;
    }
    return Misplaced("a text");
  }

  bool start_object(std::size_t) {
    switch (place_) {
      case Place::kStart:
        place_ = Place::kTop;
        return true;
      case Place::kMetadataStart:
        place_ = Place::kMetadata;
        return true;
      case Place::kTensorStart:
        place_ = Place::kTensor;
        return true;
      default:
        return Misplaced("an object");
    }
  }

  bool key(std::string& name) {
    if (place_ == Place::kTop) {
      if (!names_.insert(name).second) return Problem("the key " + Quoted(name) + " comes twice");
      if (name == kMetadataKey) {
        place_ = Place::kMetadataStart;
      } else {
        entries.push_back({.name = name, .dtype = {}, .shape = {}, .offsets = {}, .fields = {}});
        place_ = Place::kTensorStart;
      }
      return true;
    }
    if (place_ == Place::kMetadata) {
      if (metadata.contains(name)) return Problem("the metadata's key " + Quoted(name) + " comes twice");
      key_ = name;
      place_ = Place::kMetadataValue;
      return true;
    }
    // Within a tensor: the state machine lets no other place have keys.
    if (!entries.back().fields.insert(name).second) return Problem(Tensor() + " has " + name + " twice");
    if (name == "dtype") {
      place_ = Place::kDtypeValue;
    } else if (name == "shape") {
      place_ = Place::kShapeStart;
    } else if (name == "data_offsets") {
      place_ = Place::kOffsetsStart;
    } else {
      return Problem(Tensor() + " has the unknown key " + Quoted(name));
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::kTensor && entries.back().fields.size() != 3) {
      return Problem(Tensor() + " lacks one of dtype, shape and data_offsets");
    }
    place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ == Place::kShapeStart) {
      place_ = Place::kShape;
    } else if (place_ == Place::kOffsetsStart) {
      place_ = Place::kOffsets;
    } else {
      return Misplaced("a list");
    }
    return true;
  }

  bool end_array() {
    if (place_ == Place::kOffsets && entries.back().offsets.size() != 2) {
      return Problem(Tensor() + " has " + std::to_string(entries.back().offsets.size()) +
                     " data_offsets instead of 2");
    }
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    return Problem("the header isn't JSON, at its byte " + std::to_string(position));
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  /// What may come next.
  enum class Place {
    kStart,          // the object that is the header
    kTop,            // a tensor's name, or the metadata's
    kMetadataStart,  // its object
    kMetadata,       // a key of it
    kMetadataValue,  // and its text
    kTensorStart,    // a tensor's object
    kTensor,         // one of its three keys
    kDtypeValue,
    kShapeStart,
    kShape,  // a number or the end of the list
    kOffsetsStart,
    kOffsets,
    kEnd,
  };

  bool Problem(const std::string& what) {
    problem = what;
    return false;
  }
  bool Misplaced(const std::string& what) {
    const bool in_metadata = place_ == Place::kMetadataStart || place_ == Place::kMetadataValue;
    return Problem(what + " stands where it doesn't belong" +
                   (in_metadata       ? " in the metadata"
                    : entries.empty() ? ""
                                      : " in " + Tensor()));
  }
  std::string Tensor() const { return "tensor " + Quoted(entries.back().name); }

  Place place_ = Place::kStart;
  std::set<std::string> names_;
  std::string key_;
};

}  // namespace

std::string SerializeSafetensors(std::span<const TensorRecord> tensors,
                                 const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::size_t data_bytes = 0;
  for (const TensorRecord& tensor : tensors) {
    METRONOME_CHECK_NE(tensor.name, kMetadataKey);
    METRONOME_CHECK(!header.contains(tensor.name));
    for (const std::int64_t size : tensor.shape) METRONOME_CHECK_GE(size, 0);
    std::int64_t bytes = 0;
    METRONOME_CHECK(CountBytes(tensor.shape, bytes));
    METRONOME_CHECK_EQ(static_cast<std::size_t>(bytes), tensor.values.size_bytes());
    header[tensor.name] = {{"dtype", "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", {data_bytes, data_bytes + tensor.values.size_bytes()}}};
    data_bytes += tensor.values.size_bytes();
  }
  std::string text = header.dump();
  const std::size_t unpadded = kLengthBytes + text.size();
  text.append((kDataAlignment - unpadded % kDataAlignment) % kDataAlignment, ' ');

  const std::uint64_t header_bytes = text.size();
  METRONOME_CHECK_LE(header_bytes, kMaxHeaderBytes);
  std::string file;
  file.reserve(kLengthBytes + text.size() + data_bytes);
  file.append(reinterpret_cast<const char*>(&header_bytes), kLengthBytes);
  file += text;
  for (const TensorRecord& tensor : tensors) {
    file.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size_bytes());
  }
  return file;
}

SafetensorsContent ParseSafetensors(std::string_view bytes, std::string_view file_name) {
  const auto fail = [&](const std::string& what) {
    return Error(ExitCode::kBadCheckpoint,
                 std::string(file_name) + ": not a whole safetensors file: " + what);
  };
  if (bytes.size() < kLengthBytes) {
    throw fail(std::to_string(bytes.size()) + " bytes are too few for the header's length");
  }
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), kLengthBytes);
  if (header_bytes > kMaxHeaderBytes) {
    throw fail("a header of " + std::to_string(header_bytes) + " bytes, allowed are " +
               std::to_string(kMaxHeaderBytes));
  }
  if (header_bytes > bytes.size() - kLengthBytes) {
    throw fail("a header of " + std::to_string(header_bytes) + " bytes in a file of " +
               std::to_string(bytes.size()));
  }
  std::string_view header = bytes.substr(kLengthBytes, header_bytes);
  const std::string_view data = bytes.substr(kLengthBytes + header_bytes);
  if (!header.starts_with('{')) throw fail("the header doesn't start with {");
  // What the JSON library would take for the end of the text.
  if (header.find('\0') != std::string_view::npos) throw fail("a byte 0 in the header");
  header = header.substr(0, header.find_last_not_of(' ') + 1);
  if (!header.ends_with('}')) throw fail("the header doesn't end with } and spaces");

  HeaderReader reader;
  if (!nlohmann::json::sax_parse(header.begin(), header.end(), &reader)) throw fail(reader.problem);

  std::vector<Entry>& entries = reader.entries;
  for (const Entry& entry : entries) {
    const std::string tensor = "tensor " + Quoted(entry.name);
    if (entry.dtype != "F32") {
      throw fail(tensor + " has the dtype " + Quoted(entry.dtype) + ", readable is \"F32\"");
    }
    std::int64_t wanted = 0;
    const bool counted = CountBytes(entry.shape, wanted);
    const std::int64_t begin = entry.offsets[0];
    const std::int64_t end = entry.offsets[1];
    if (!counted || end - begin != wanted) {
      throw fail(tensor + " has data_offsets that don't fit its shape");
    }
    if (static_cast<std::uint64_t>(end) > data.size()) {
      throw fail(tensor + " ends at byte " + std::to_string(end) + " of " + std::to_string(data.size()) +
                 " bytes of data");
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& left, const Entry& right) { return left.offsets < right.offsets; });

  SafetensorsContent content;
  content.metadata = std::move(reader.metadata);
  std::int64_t covered = 0;
  for (Entry& entry : entries) {
    if (entry.offsets[0] != covered) {
      throw fail("tensor " + Quoted(entry.name) + " starts at byte " + std::to_string(entry.offsets[0]) +
                 " of the data, where " + std::to_string(covered) + " should be");
    }
    covered = entry.offsets[1];
  }
  if (static_cast<std::uint64_t>(covered) != data.size()) {
    throw fail(std::to_string(data.size()) + " bytes of data, the tensors have " + std::to_string(covered));
  }
  for (Entry& entry : entries) {
    const auto begin = static_cast<std::size_t>(entry.offsets[0]);
    const auto count = static_cast<std::size_t>(entry.offsets[1]) - begin;
    StoredTensor& tensor = content.tensors.emplace_back();
    tensor.name = std::move(entry.name);
    tensor.shape = std::move(entry.shape);
    tensor.values.resize(count / sizeof(float));
    if (count > 0) std::memcpy(tensor.values.data(), data.data() + begin, count);
  }
  return content;
}

}  // namespace metronome
