#include "metronome/train/checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/hash.h"
#include "metronome/train/safetensors.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kFormatName = "metronome-checkpoint";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kWeights = "weights.safetensors";
constexpr const char* kConfig = "config.toml";
constexpr const char* kState = "state.json";
constexpr std::array kParts = {kConfig, kState, kWeights};
constexpr std::array kVectors = {"online", "target", "adam.first_moment", "adam.second_moment"};

[[noreturn]] void Bad(const fs::path& path, const std::string& what) {
  throw Error(ExitCode::kBadCheckpoint, path.string() + ": " + what);
}

std::string Hexadecimal(std::uint64_t value) {
  std::array<char, 17> digits;
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(value));
  return digits.data();
}

/// How our JSON files are written; a reader takes no other spelling of the same values, so no byte is
/// unchecked.
std::string Spell(const json& value) { return value.dump(2) + "\n"; }

std::string MakeManifest(const std::map<std::string, std::string>& parts) {
  json listed = json::object();
  for (const auto& [name, bytes] : parts) {
    listed[name] = {{"bytes", bytes.size()}, {"checksum", Hexadecimal(Checksum(bytes))}};
  }
  return Spell({{"format", kFormatName},
                {"version", kCheckpointFormatVersion},
                {"parts", listed},
                {"checksum", Hexadecimal(Checksum(listed.dump()))}});
}

/// Reads a part, or says that it's missing as a fault of the checkpoint.
std::string ReadPart(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) Bad(path, "is missing from the checkpoint");
  return ReadFile(path);
}

json ParseJson(const std::string& text, const fs::path& path) {
  json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) Bad(path, "is not JSON (cut or changed)");
  if (!value.is_object()) Bad(path, "is not a JSON object");
  return value;
}

/// The value of a key that must be there, with this type.
template <typename T>
T Get(const json& object, const char* key, const fs::path& path) {
  const auto found = object.find(key);
  if (found == object.end()) Bad(path, std::string("has no \"") + key + "\"");
  bool fits = false;
  if constexpr (std::is_same_v<T, std::int64_t>) {
    fits = found->is_number_integer() &&
           !(found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX);
  } else if constexpr (std::is_same_v<T, std::string>) {
    fits = found->is_string();
  } else if constexpr (std::is_same_v<T, double>) {
    fits = found->is_number();
  } else {
    fits = found->is_object();
  }
  if (!fits) Bad(path, std::string("\"") + key + "\" has the wrong type");
  return found->get<T>();
}

std::int64_t GetCount(const json& object, const char* key, const fs::path& path) {
  const auto count = Get<std::int64_t>(object, key, path);
  if (count < 0) Bad(path, std::string("\"") + key + "\" is " + std::to_string(count) + ", below 0");
  return count;
}

/// Reads and checks every part against the manifest.
std::map<std::string, std::string> ReadParts(const fs::path& folder) {
  const fs::path manifest_path = folder / kManifest;
  const std::string text = ReadPart(manifest_path);
  const json manifest = ParseJson(text, manifest_path);
  const auto format = Get<std::string>(manifest, "format", manifest_path);
  if (format != kFormatName) Bad(manifest_path, "is a \"" + format + "\", not a \"" + kFormatName + "\"");
  const auto version = Get<std::int64_t>(manifest, "version", manifest_path);
  if (version != kCheckpointFormatVersion) {
    Bad(manifest_path, "has format version " + std::to_string(version) + "; this program reads version " +
                           std::to_string(kCheckpointFormatVersion));
  }
  const json listed = Get<json::object_t>(manifest, "parts", manifest_path);
  if (text != Spell(manifest) ||
      Get<std::string>(manifest, "checksum", manifest_path) != Hexadecimal(Checksum(listed.dump()))) {
    Bad(manifest_path, "does not fit its checksum (changed)");
  }
  std::map<std::string, std::string> parts;
  for (const char* name : kParts) {
    const fs::path path = folder / name;
    if (!listed.contains(name)) Bad(manifest_path, std::string("does not list \"") + name + "\"");
    std::string bytes = ReadPart(path);
    const auto want = Get<std::int64_t>(listed[name], "bytes", manifest_path);
    if (static_cast<std::int64_t>(bytes.size()) != want) {
      Bad(path, "has " + std::to_string(bytes.size()) + " bytes, not the " + std::to_string(want) +
                    " of the manifest (cut, or of another checkpoint)");
    }
    if (Hexadecimal(Checksum(bytes)) != Get<std::string>(listed[name], "checksum", manifest_path)) {
      Bad(path, "does not fit its checksum (changed)");
    }
    parts[name] = std::move(bytes);
  }
  for (const auto& [name, unused] : listed.items()) {
    if (!parts.contains(name)) Bad(manifest_path, "lists \"" + name + "\", which this program does not know");
  }
  return parts;
}

CheckpointState ParseState(const std::string& text, const fs::path& path) {
  const json object = ParseJson(text, path);
  CheckpointState state;
  state.step = GetCount(object, "step", path);
  state.episodes = GetCount(object, "episodes", path);
  state.updates = GetCount(object, "updates", path);
  state.target_syncs = GetCount(object, "target_syncs", path);
  if (object.contains("best_mean")) state.best_mean = Get<double>(object, "best_mean", path);
  const json streams = Get<json::object_t>(object, "streams", path);
  for (const auto& [name, value] : streams.items()) {
    if (!value.is_string()) Bad(path, "stream \"" + name + "\" has the wrong type");
    try {
      state.streams[name] = Rng::FromState(value.get<std::string>()).SaveState();
    } catch (const Error& error) {
      Bad(path, "stream \"" + name + "\": " + error.what());
    }
  }
  return state;
}

std::string SpellState(const CheckpointState& state) {
  json object = {{"step", state.step},
                 {"episodes", state.episodes},
                 {"updates", state.updates},
                 {"target_syncs", state.target_syncs},
                 {"streams", state.streams}};
  if (state.best_mean) object["best_mean"] = *state.best_mean;
  return Spell(object);
}

/// A list of positive sizes as the metadata spells it, "[8]".
std::vector<std::int64_t> ParseSizes(const std::map<std::string, std::string>& metadata, const char* key,
                                     const fs::path& path) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) Bad(path, std::string("has no \"") + key + "\" in its metadata");
  const json list = json::parse(found->second, nullptr, false);
  if (list.is_discarded() || !list.is_array())
    Bad(path, std::string("metadata \"") + key + "\" is not a list");
  std::vector<std::int64_t> sizes;
  for (const json& item : list) {
    constexpr std::int64_t kLargest = std::int64_t{1} << 31;
    if (!item.is_number_integer() || item.get<std::int64_t>() <= 0 || item.get<std::int64_t>() > kLargest) {
      Bad(path, std::string("metadata \"") + key + "\" holds " + item.dump() + ", not a size");
    }
    sizes.push_back(item.get<std::int64_t>());
  }
  return sizes;
}

std::string SpellSizes(std::span<const std::int64_t> sizes) {
  return json(std::vector<std::int64_t>(sizes.begin(), sizes.end())).dump();
}

std::map<std::string, std::string> Describe(const GameSpec& game, const NetworkSpec& network,
                                            const CheckpointState& state) {
  json actions = json::array();
  for (const ActionSpec& action : game.actions) actions.push_back(action.name);
  json features = json::array();
  for (const ObservationFeature& feature : game.observation.features) features.push_back(feature.name);
  return {{"format", kFormatName},
          {"game", game.name},
          {"step", std::to_string(state.step)},
          {"observation_shape", SpellSizes(network.observation_shape)},
          {"observation_features", features.dump()},
          {"actions", actions.dump()},
          {"num_actions", SpellSizes(std::vector<std::int64_t>{network.num_actions})},
          {"hidden", SpellSizes(network.layers.hidden)},
          {"network",
           "each hidden layer: y = max(0, x W^T + b); output: q = x W^T + b; "
           "weights (out, in), named hidden.<i> and output"}};
}

void CheckFinite(std::span<const float> values, const char* vector, std::span<const NamedTensor> tensors,
                 std::int64_t step) {
  for (const NamedTensor& tensor : tensors) {
    for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.size; ++i) {
      if (std::isfinite(values[static_cast<std::size_t>(i)])) continue;
      throw Error(ExitCode::kNonFinite, "step " + std::to_string(step) + ": " + vector + "." + tensor.name +
                                            " is not finite; no checkpoint is written");
    }
  }
}

/// The step that a numbered checkpoint's name gives, -1 for any other name.
std::int64_t StepOf(const fs::path& path) {
  const std::string name = path.filename().string();
  std::int64_t step = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  return error == std::errc() && end == name.data() + name.size() ? step : -1;
}

}  // namespace

std::int64_t WriteCheckpoint(const fs::path& folder, Learner& learner, const GameSpec& game,
                             const NetworkSpec& network, const std::string& config_text,
                             const CheckpointState& state) {
  const std::array<std::span<const float>, 4> vectors = {learner.online(), learner.target(),
                                                         learner.first_moment(), learner.second_moment()};
  std::vector<TensorRecord> records;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    CheckFinite(vectors[i], kVectors[i], learner.tensors(), state.step);
    for (const NamedTensor& tensor : learner.tensors()) {
      records.push_back({std::string(kVectors[i]) + "." + tensor.name, tensor.shape,
                         vectors[i].subspan(static_cast<std::size_t>(tensor.offset),
                                            static_cast<std::size_t>(tensor.size))});
    }
  }
  const std::map<std::string, std::string> parts = {
      {kWeights, SerializeSafetensors(records, Describe(game, network, state))},
      {kConfig, config_text},
      {kState, SpellState(state)}};
  WholeFolder writing(folder);
  std::int64_t bytes = 0;
  for (const auto& [name, content] : parts) {
    WriteFileWhole(writing.path() / name, content);
    bytes += static_cast<std::int64_t>(content.size());
  }
  const std::string manifest = MakeManifest(parts);
  WriteFileWhole(writing.path() / kManifest, manifest);
  writing.Commit();
  return bytes + static_cast<std::int64_t>(manifest.size());
}

Checkpoint ReadCheckpoint(const fs::path& folder) {
  const std::map<std::string, std::string> parts = ReadParts(folder);
  Checkpoint checkpoint;
  checkpoint.path = folder;
  checkpoint.config_text = parts.at(kConfig);
  checkpoint.state = ParseState(parts.at(kState), folder / kState);

  const fs::path path = folder / kWeights;
  const SafetensorsContent file = ParseSafetensors(parts.at(kWeights), path.string());
  const auto game = file.metadata.find("game");
  if (game == file.metadata.end()) Bad(path, "has no \"game\" in its metadata");
  checkpoint.game = game->second;
  checkpoint.observation_shape = ParseSizes(file.metadata, "observation_shape", path);
  checkpoint.hidden = ParseSizes(file.metadata, "hidden", path);
  const std::vector<std::int64_t> actions = ParseSizes(file.metadata, "num_actions", path);
  if (actions.size() != 1) Bad(path, "metadata \"num_actions\" is not one number");
  checkpoint.num_actions = actions[0];

  // The flat vectors follow the file's own tensors; whether they fit the network is RestoreLearner's
  // business.
  const std::array<std::vector<float>*, 4> vectors = {&checkpoint.online, &checkpoint.target,
                                                      &checkpoint.first_moment, &checkpoint.second_moment};
  std::set<std::string> used;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::string prefix = std::string(kVectors[i]) + ".";
    std::vector<NamedTensor> tensors;
    for (const auto& tensor : file.tensors) {
      if (!tensor.name.starts_with(prefix)) continue;
      used.insert(tensor.name);
      const auto offset = static_cast<std::int64_t>(vectors[i]->size());
      vectors[i]->insert(vectors[i]->end(), tensor.values.begin(), tensor.values.end());
      tensors.push_back({tensor.name.substr(prefix.size()), tensor.shape, offset,
                         static_cast<std::int64_t>(tensor.values.size())});
      for (const float value : tensor.values) {
        if (!std::isfinite(value))
          Bad(path, "tensor \"" + tensor.name + "\" holds a value that is not finite");
      }
    }
    if (i == 0) checkpoint.tensors = tensors;
    const bool same =
        std::equal(tensors.begin(), tensors.end(), checkpoint.tensors.begin(), checkpoint.tensors.end(),
                   [](const NamedTensor& left, const NamedTensor& right) {
                     return left.name == right.name && left.shape == right.shape;
                   });
    if (!same) Bad(path, std::string("the tensors of \"") + kVectors[i] + "\" are not those of \"online\"");
  }
  for (const auto& tensor : file.tensors) {
    if (!used.contains(tensor.name))
      Bad(path, "holds \"" + tensor.name + "\", which this program does not know");
  }
  return checkpoint;
}

void RestoreLearner(const Checkpoint& checkpoint, const std::string& game, const NetworkSpec& network,
                    Learner& learner) {
  const fs::path path = checkpoint.path / kWeights;
  if (checkpoint.game != game)
    Bad(path, "was trained on \"" + checkpoint.game + "\", not on \"" + game + "\"");
  const auto refuse = [&](const std::string& what, const std::string& found, const std::string& wanted) {
    if (found != wanted) Bad(path, what + " is " + found + " here, but " + wanted + " in the configuration");
  };
  refuse("the observation's shape", SpellSizes(checkpoint.observation_shape),
         SpellSizes(network.observation_shape));
  refuse("the number of actions", std::to_string(checkpoint.num_actions),
         std::to_string(network.num_actions));
  refuse("network.hidden", SpellSizes(checkpoint.hidden), SpellSizes(network.layers.hidden));
  const std::span<const NamedTensor> wanted = learner.tensors();
  std::vector<float> flat[4];
  const std::array<const std::vector<float>*, 4> vectors = {
      &checkpoint.online, &checkpoint.target, &checkpoint.first_moment, &checkpoint.second_moment};
  for (std::size_t i = 0; i < vectors.size(); ++i) flat[i].resize(learner.online().size());
  std::size_t matched = 0;
  for (const NamedTensor& tensor : wanted) {
    const auto found = std::find_if(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                                    [&](const NamedTensor& other) { return other.name == tensor.name; });
    if (found == checkpoint.tensors.end()) Bad(path, "has no tensor \"online." + tensor.name + "\"");
    refuse("tensor \"" + tensor.name + "\"", SpellSizes(found->shape), SpellSizes(tensor.shape));
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      std::copy_n(vectors[i]->begin() + found->offset, found->size, flat[i].begin() + tensor.offset);
    }
    ++matched;
  }
  if (matched != checkpoint.tensors.size()) Bad(path, "holds more tensors than the network has");
  learner.Restore(flat[0], flat[1], flat[2], flat[3], checkpoint.state.updates,
                  checkpoint.state.target_syncs);
}

std::vector<fs::path> NumberedCheckpoints(const fs::path& run) {
  std::vector<fs::path> numbered;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "checkpoints", error)) {
    if (StepOf(entry.path()) >= 0) numbered.push_back(entry.path());
  }
  std::sort(numbered.begin(), numbered.end(),
            [](const fs::path& left, const fs::path& right) { return StepOf(left) < StepOf(right); });
  return numbered;
}

fs::path FindCheckpoint(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error))
    throw Error(ExitCode::kInputOutput, path.string() + ": no such file or folder");
  if (!fs::is_directory(path, error)) Bad(path, "is neither a run folder nor a checkpoint folder");
  if (fs::exists(path / kManifest, error)) return path;
  if (fs::exists(path / "checkpoints" / "best", error)) return path / "checkpoints" / "best";
  const std::vector<fs::path> numbered = NumberedCheckpoints(path);
  if (!numbered.empty()) return numbered.back();
  Bad(path, "holds no checkpoint");
}

}  // namespace metronome
