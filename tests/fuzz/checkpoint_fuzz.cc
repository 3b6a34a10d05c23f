// A checkpoint, one of whose parts is the input: its first byte says which. The manifest fits, checksums and
// all, since no fuzzer finds a checksum; where the manifest itself is the input, its own checksum is put
// right.

#include <array>
#include <nlohmann/json.hpp>

#include "fuzz/target.h"
#include "metronome/core/file.h"
#include "metronome/core/hash.h"
#include "metronome/train/checkpoint.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array kParts = {"state.json", "weights.safetensors", "episode.recording", "config.toml"};

json Listed(std::string_view bytes) {
  return {{"bytes", bytes.size()}, {"checksum", Digits(Checksum(bytes))}};
}

std::string Manifest(const json& parts) {
  return json{{"format", "metronome-checkpoint"},
              {"version", kCheckpointFormatVersion},
              {"parts", parts},
              {"checksum", Digits(Checksum(parts.dump()))}}
             .dump(2) +
         "\n";
}

/// The manifest with its checksum put right, or as it is where it is too far from one.
std::string Mended(std::string_view text) {
  json manifest = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains("parts")) return std::string(text);
  try {
    manifest["checksum"] = Digits(Checksum(manifest["parts"].dump()));
    return manifest.dump(2) + "\n";
  } catch (const json::exception&) {  // not UTF-8
    return std::string(text);
  }
}

/// A good checkpoint, the one in tests/fuzz/checkpoint, whose parts each input stands in for.
struct Base {
  Base() {
    for (const char* const part : kParts) {
      const std::string bytes = ReadFile(fs::path(METRONOME_SOURCE_DIR "/tests/fuzz/checkpoint") / part);
      PutFile(FuzzFolder() / part, bytes);
      contents[part] = bytes;
      parts[part] = Listed(bytes);
    }
  }
  std::map<std::string, std::string> contents;
  json parts;
};

}  // namespace
}  // namespace metronome

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metronome;
  static const Base base;
  if (size == 0) return 0;
  const std::size_t which = data[0] % (kParts.size() + 1);
  const std::string_view input = AsText(data + 1, size - 1);
  const auto read = [] {
    ExpectReadOrRefused(ExitCode::kBadCheckpoint, [] { ReadCheckpoint(FuzzFolder()); });
  };
  if (which == kParts.size()) {
    PutFile(FuzzFolder() / "manifest.json", input);
    read();
    PutFile(FuzzFolder() / "manifest.json", Mended(input));
    read();
    return 0;
  }
  json parts = base.parts;
  parts[kParts[which]] = Listed(input);
  PutFile(FuzzFolder() / kParts[which], input);
  PutFile(FuzzFolder() / "manifest.json", Manifest(parts));
  read();
  PutFile(FuzzFolder() / kParts[which], base.contents.at(kParts[which]));
  return 0;
}
