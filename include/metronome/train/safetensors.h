#ifndef METRONOME_TRAIN_SAFETENSORS_H_
#define METRONOME_TRAIN_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metronome {

/// The safetensors format (github.com/huggingface/safetensors), for float32 tensors:
///   8 bytes       N, the length of the header, little-endian
///   N bytes       the header, JSON in UTF-8, of the form
///                   {"__metadata__": {"key": "text"},
///                    "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
///                 padded with spaces
///   to the end    the tensors' elements, row-major, little-endian, where data_offsets says: begin and end,
///   in
///                 bytes from the end of the header
/// Libraries for it exist in Python and other languages.

/// A tensor to write; `values` stay the caller's.
struct TensorRecord {
  std::string name;                 ///< UTF-8, not "__metadata__".
  std::vector<std::int64_t> shape;  ///< Outermost first, {} for a single number.
  std::span<const float> values;    ///< Row-major, as many as the shape says.
};

/// The bytes of a file that holds `tensors` in their order. The header is padded so that the data starts at a
/// multiple of 64 bytes and can be mapped into memory. Equal input gives equal bytes.
/// REQUIRES (checked): shapes that fit their values, names that differ. Names and metadata are UTF-8.
std::string SerializeSafetensors(std::span<const TensorRecord> tensors,
                                 const std::map<std::string, std::string>& metadata);

/// A tensor that was read.
struct StoredTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

struct SafetensorsContent {
  std::map<std::string, std::string> metadata;
  std::vector<StoredTensor> tensors;  ///< In the order of their data.
};

/// Reads the bytes of a safetensors file. Throws Error (kBadCheckpoint), one line that starts with
/// `file_name`, for anything that the format doesn't allow: a length beyond the file or 100,000,000 bytes,
/// bad JSON, a key twice, a key or type that doesn't belong there, data that isn't covered exactly once; and
/// for any other type than F32. Takes no more memory than a small multiple of `bytes`, whatever they say.
SafetensorsContent ParseSafetensors(std::string_view bytes, std::string_view file_name);

}  // namespace metronome

#endif  // METRONOME_TRAIN_SAFETENSORS_H_
