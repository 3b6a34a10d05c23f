// Weights: the bytes as they are.

#include <bit>
#include <vector>

#include "fuzz/target.h"
#include "metronome/train/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metronome;
  ExpectReadOrRefused(ExitCode::kBadCheckpoint, [&] {
    const SafetensorsContent content = ParseSafetensors(AsText(data, size), "fuzz.safetensors");
    // What is taken can be written, and holds the same when it is read back.
    std::vector<TensorRecord> records;
    for (const StoredTensor& tensor : content.tensors) {
      records.push_back({tensor.name, tensor.shape, tensor.values});
    }
    const SafetensorsContent again =
        ParseSafetensors(SerializeSafetensors(records, content.metadata), "written.safetensors");
    Expect(again.metadata == content.metadata, "the metadata changed");
    Expect(again.tensors.size() == content.tensors.size(), "the number of tensors changed");
    for (std::size_t i = 0; i < again.tensors.size(); ++i) {
      Expect(again.tensors[i].name == content.tensors[i].name, "a name changed");
      Expect(again.tensors[i].shape == content.tensors[i].shape, "a shape changed");
      Expect(again.tensors[i].values.size() == content.tensors[i].values.size(), "a size changed");
      for (std::size_t j = 0; j < again.tensors[i].values.size(); ++j) {
        Expect(std::bit_cast<std::uint32_t>(again.tensors[i].values[j]) ==
                   std::bit_cast<std::uint32_t>(content.tensors[i].values[j]),
               "a value changed");
      }
    }
  });
  return 0;
}
