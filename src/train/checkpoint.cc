#include "metronome/train/checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/hash.h"
#include "metronome/core/text.h"
#include "metronome/train/safetensors.h"
#include "train/replay_archive.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kFormatName = "metronome-checkpoint";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kWeights = "weights.safetensors";
constexpr const char* kConfig = "config.toml";
constexpr const char* kState = "state.json";
constexpr const char* kEpisode = "episode.recording";
constexpr std::array kParts = {kConfig, kState, kWeights};  // of every checkpoint
constexpr std::array kVectors = {"online", "target", "adam.first_moment", "adam.second_moment"};

[[noreturn]] void Bad(const fs::path& path, const std::string& what) {
  throw Error(ExitCode::kBadCheckpoint, path.string() + ": " + what);
}

/// How our JSON files are written; a reader takes no other spelling of the same values, so no byte is
/// unchecked.
std::string Spell(const json& value) { return value.dump(2) + "\n"; }

std::string MakeManifest(std::span<const CheckpointPart> parts) {
  json listed = json::object();
  for (const CheckpointPart& part : parts) {
    listed[part.name] = {{"bytes", part.bytes}, {"checksum", FormatHexadecimal(part.checksum)}};
  }
  return Spell({{"format", kFormatName},
                {"version", kCheckpointFormatVersion},
                {"parts", listed},
                {"checksum", FormatHexadecimal(Checksum(listed.dump()))}});
}

/// The number that FormatHexadecimal() wrote.
std::uint64_t ParseHexadecimal(const std::string& text, const fs::path& path) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || FormatHexadecimal(value) != text)
    Bad(path, "holds a checksum that is none: \"" + text.substr(0, 40) + "\"");
  return value;
}

/// Reads a part, or says that it's missing as a fault of the checkpoint.
std::string ReadPart(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) Bad(path, "is missing from the checkpoint");
  return ReadFile(path);
}

/// A JSON value; discarded where `text` is none. Ours are flat, and what is nested without end would overflow
/// the stack of whoever copies or writes it.
json ParseShallow(const std::string& text, const fs::path& path) {
  constexpr int kDeepest = 8;
  const json::parser_callback_t check = [&](int depth, json::parse_event_t, json&) {
    if (depth > kDeepest) Bad(path, "is nested more than " + std::to_string(kDeepest) + " deep");
    return true;
  };
  return json::parse(text, check, /*allow_exceptions=*/false);
}

json ParseJson(const std::string& text, const fs::path& path) {
  json value = ParseShallow(text, path);
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
  } else if constexpr (std::is_same_v<T, bool>) {
    fits = found->is_boolean();
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

/// Reads a part and holds it against the manifest.
std::string ReadCheckedPart(const fs::path& folder, const CheckpointPart& part) {
  const fs::path path = folder / part.name;
  std::string bytes = ReadPart(path);
  if (static_cast<std::int64_t>(bytes.size()) != part.bytes) {
    Bad(path, "has " + std::to_string(bytes.size()) + " bytes, not the " + std::to_string(part.bytes) +
                  " of the manifest (cut, or of another checkpoint)");
  }
  if (Checksum(bytes) != part.checksum) Bad(path, "does not fit its checksum (changed)");
  return bytes;
}

std::vector<CheckpointPart> ReadManifest(const fs::path& folder) {
  const fs::path path = folder / kManifest;
  const std::string text = ReadPart(path);
  const json manifest = ParseJson(text, path);
  const auto format = Get<std::string>(manifest, "format", path);
  if (format != kFormatName) Bad(path, "is a \"" + format + "\", not a \"" + kFormatName + "\"");
  const auto version = Get<std::int64_t>(manifest, "version", path);
  if (version != kCheckpointFormatVersion) {
    Bad(path, "has format version " + std::to_string(version) + "; this program reads version " +
                  std::to_string(kCheckpointFormatVersion));
  }
  const json listed = Get<json::object_t>(manifest, "parts", path);
  if (text != Spell(manifest) ||
      Get<std::string>(manifest, "checksum", path) != FormatHexadecimal(Checksum(listed.dump()))) {
    Bad(path, "does not fit its checksum (changed)");
  }
  std::vector<CheckpointPart> parts;
  for (const auto& [name, entry] : listed.items()) {
    const bool known = std::find(kParts.begin(), kParts.end(), name) != kParts.end() || name == kEpisode ||
                       ReplayArchive::IsSegmentName(name);
    if (!known) Bad(path, "lists \"" + name + "\", which this program does not know");
    if (!entry.is_object()) Bad(path, "\"" + name + "\" has the wrong type");
    parts.push_back({name, GetCount(entry, "bytes", path),
                     ParseHexadecimal(Get<std::string>(entry, "checksum", path), path)});
  }
  for (const char* name : kParts) {
    if (!listed.contains(name)) Bad(path, std::string("does not list \"") + name + "\"");
  }
  return parts;
}

double GetFinite(const json& object, const char* key, const fs::path& path) {
  const auto value = Get<double>(object, key, path);
  if (!std::isfinite(value)) Bad(path, std::string("\"") + key + "\" is not finite");
  return value;
}

CheckpointState ParseState(const std::string& text, const fs::path& path) {
  const json object = ParseJson(text, path);
  CheckpointState state;
  state.trainer.steps = GetCount(object, "step", path);
  state.trainer.episodes = GetCount(object, "episodes", path);
  state.updates = GetCount(object, "updates", path);
  state.target_syncs = GetCount(object, "target_syncs", path);
  state.wall_seconds = GetFinite(object, "wall_seconds", path);
  if (object.contains("best_mean")) {
    state.best_mean = GetFinite(object, "best_mean", path);
    state.best_step = GetCount(object, "best_step", path);
  }
  if (object.contains("evaluation_due")) state.evaluation_due = Get<bool>(object, "evaluation_due", path);
  if (object.contains("device")) state.device = Get<std::string>(object, "device", path);
  const json streams = Get<json::object_t>(object, "streams", path);
  for (const auto& [name, value] : streams.items()) {
    if (!value.is_string()) Bad(path, "stream \"" + name + "\" has the wrong type");
    try {
      state.trainer.streams[name] = Rng::FromState(value.get<std::string>()).SaveState();
    } catch (const Error& error) {
      Bad(path, "stream \"" + name + "\": " + error.what());
    }
  }
  if (object.contains("episode")) {
    const json episode = Get<json::object_t>(object, "episode", path);
    state.trainer.episode_updates = GetCount(episode, "updates", path);
    state.trainer.loss_sum = GetFinite(episode, "loss_sum", path);
    state.trainer.q_sum = GetFinite(episode, "q_sum", path);
    state.trainer.gradient_norm_sum = GetFinite(episode, "gradient_norm_sum", path);
  }
  if (object.contains("replay")) {
    const json replay = Get<json::object_t>(object, "replay", path);
    state.replay = {GetCount(replay, "added", path), GetCount(replay, "size", path)};
  }
  return state;
}

std::string SpellState(const CheckpointState& state) {
  json object = {{"step", state.trainer.steps},        {"episodes", state.trainer.episodes},
                 {"updates", state.updates},           {"target_syncs", state.target_syncs},
                 {"wall_seconds", state.wall_seconds}, {"streams", state.trainer.streams}};
  if (!state.device.empty()) object["device"] = state.device;
  if (state.best_mean) {
    object["best_mean"] = *state.best_mean;
    object["best_step"] = state.best_step;
  }
  if (state.evaluation_due) object["evaluation_due"] = true;
  if (state.trainer.episode) {
    object["episode"] = {{"updates", state.trainer.episode_updates},
                         {"loss_sum", state.trainer.loss_sum},
                         {"q_sum", state.trainer.q_sum},
                         {"gradient_norm_sum", state.trainer.gradient_norm_sum}};
  }
  if (state.replay) object["replay"] = {{"added", state.replay->added}, {"size", state.replay->size}};
  return Spell(object);
}

/// A list of positive sizes as the metadata spells it, "[8]".
std::vector<std::int64_t> ParseSizes(const std::map<std::string, std::string>& metadata, const char* key,
                                     const fs::path& path) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) Bad(path, std::string("has no \"") + key + "\" in its metadata");
  const json list = ParseShallow(found->second, path);
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

/// The layers in order, for a reader that knows nothing of this program: each multiplies by `weight`, adds
/// `bias` and applies its activation; a convolution has no padding. Before the first linear layer whatever
/// comes is made flat.
std::string DescribeLayers(const NetworkConfig& network) {
  json layers = json::array();
  const auto add = [&](const char* type, const std::string& name, const char* activation) -> json& {
    layers.push_back(
        {{"type", type}, {"weight", name + ".weight"}, {"bias", name + ".bias"}, {"activation", activation}});
    return layers.back();
  };
  for (std::size_t i = 0; i < network.conv.size(); ++i) {
    add("convolution", "conv." + std::to_string(i), "relu")["stride"] = network.conv[i][2];
  }
  for (std::size_t i = 0; i < network.hidden.size(); ++i) {
    add("linear", "hidden." + std::to_string(i), "relu");
  }
  add("linear", "output", "none");
  return layers.dump();
}

std::map<std::string, std::string> Describe(const GameSpec& game, const NetworkSpec& network,
                                            const CheckpointState& state) {
  json actions = json::array();
  for (const ActionSpec& action : game.actions) actions.push_back(action.name);
  json features = json::array();
  for (const ObservationFeature& feature : game.observation.features) features.push_back(feature.name);
  return {{"format", kFormatName},
          {"game", game.name},
          {"step", std::to_string(state.trainer.steps)},
          {"observation_shape", SpellSizes(network.observation_shape)},
          {"observation_features", features.dump()},
          {"actions", actions.dump()},
          {"num_actions", SpellSizes(std::vector<std::int64_t>{network.num_actions})},
          {"hidden", SpellSizes(network.layers.hidden)},
          {"layers", DescribeLayers(network.layers)},
          {"network",
           "layers in order; convolution: windows of x without padding, times W (filters, channels, kernel, "
           "kernel), plus b; linear: y = x W^T + b of x made flat, W (out, in); relu: max(0, y)"}};
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
                             const CheckpointState& state, ReplayArchive* replay) {
  const std::array<std::span<const float>, 4> vectors = {learner.online(), learner.target(),
                                                         learner.first_moment(), learner.second_moment()};
  std::vector<TensorRecord> records;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    CheckFinite(vectors[i], kVectors[i], learner.tensors(), state.trainer.steps);
    for (const NamedTensor& tensor : learner.tensors()) {
      records.push_back({std::string(kVectors[i]) + "." + tensor.name, tensor.shape,
                         vectors[i].subspan(static_cast<std::size_t>(tensor.offset),
                                            static_cast<std::size_t>(tensor.size))});
    }
  }
  std::map<std::string, std::string> files = {
      {kWeights, SerializeSafetensors(records, Describe(game, network, state))},
      {kConfig, config_text},
      {kState, SpellState(state)}};
  if (state.trainer.episode) files[kEpisode] = SerializeRecording(*state.trainer.episode);
  WholeFolder writing(folder);
  std::vector<CheckpointPart> parts;
  for (const auto& [name, content] : files) {
    WriteFile(writing.path() / name, content);
    parts.push_back({name, static_cast<std::int64_t>(content.size()), Checksum(content)});
  }
  if (replay != nullptr) {
    for (const CheckpointPart& part : replay->Write(writing.path(), folder)) parts.push_back(part);
  }
  const std::string manifest = MakeManifest(parts);
  WriteFile(writing.path() / kManifest, manifest);
  writing.Commit();
  auto bytes = static_cast<std::int64_t>(manifest.size());
  for (const CheckpointPart& part : parts) bytes += part.bytes;
  return bytes;
}

std::int64_t MostCheckpointBytes(const RunConfig& config, const GameSpec& game) {
  constexpr std::int64_t kRecordBytes = 12;
  constexpr std::int64_t kRecordedStepBytes = 5;  // an action, and its share of a hash
  constexpr std::int64_t kOtherBytes = 32 * 1024;
  const std::int64_t numbered = config.checkpoint.keep + 1;
  std::int64_t weights = 0;
  for (const NamedTensor& tensor : TensorsOf({game.observation.shape, game.num_actions(), config.network})) {
    weights += tensor.size;
  }
  const std::int64_t limit = config.game.max_episode_steps.value_or(game.default_max_episode_steps);
  const std::int64_t episode = limit > 0 ? std::min(limit, config.train.steps) : config.train.steps;
  const std::int64_t small_parts =
      static_cast<std::int64_t>(kVectors.size()) * weights * static_cast<std::int64_t>(sizeof(float)) +
      episode * kRecordedStepBytes + kOtherBytes;

  // Each transition may be an episode, with two observations.
  const std::int64_t observation_bytes =
      game.observation.size() * (game.observation.type == ElementType::kUint8 ? 1 : 4);
  const std::int64_t transition_bytes = kRecordBytes + 2 * observation_bytes;
  const std::int64_t in_segment = ReplayArchive::TransitionsPerSegment(observation_bytes);
  const std::int64_t held = std::min(config.replay.capacity, config.train.steps);
  // Full segments are shared. They cover what the newest checkpoint holds, what is new from each to the next,
  // and the beginning of the oldest; an unfinished one is each checkpoint's own.
  const std::int64_t period = config.checkpoint.period > 0 ? config.checkpoint.period : held;
  const std::int64_t full =
      config.train.steps < in_segment
          ? 0
          : std::min(config.train.steps, held + (numbered - 1) * std::min(period, held) + in_segment);
  return (numbered + 1) * small_parts + (full + numbered * std::min(in_segment, held)) * transition_bytes;
}

Checkpoint ReadCheckpoint(const fs::path& folder) {
  Checkpoint checkpoint;
  checkpoint.path = folder;
  checkpoint.parts = ReadManifest(folder);
  std::map<std::string, std::string> parts;
  for (const CheckpointPart& part : checkpoint.parts) {
    std::string bytes = ReadCheckedPart(folder, part);
    // A replay can be large: its segments are checked one by one here, and read when a run goes on from them.
    if (!ReplayArchive::IsSegmentName(part.name)) parts[part.name] = std::move(bytes);
  }
  checkpoint.config_text = parts.at(kConfig);
  checkpoint.state = ParseState(parts.at(kState), folder / kState);
  if (parts.contains(kEpisode)) {
    checkpoint.state.trainer.episode = ParseRecording(parts.at(kEpisode), (folder / kEpisode).string());
  }

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

Checkpoint ReadNewestCheckpoint(const fs::path& run, std::vector<std::string>& faults) {
  std::error_code error;
  if (!fs::exists(run, error)) throw Error(ExitCode::kInputOutput, run.string() + ": no such run folder");
  const std::vector<fs::path> numbered = NumberedCheckpoints(run);
  for (auto path = numbered.rbegin(); path != numbered.rend(); ++path) {
    try {
      return ReadCheckpoint(*path);
    } catch (const Error& fault) {
      faults.emplace_back(fault.what());
    }
  }
  Bad(run, faults.empty() ? "holds no checkpoint to go on from"
                          : "holds no good checkpoint to go on from; the newest: " + faults.front());
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
