#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "app/commands.h"
#include "app/config_table.h"
#include "app/consistency.h"
#include "app/train_request.h"
#include "app/train_seeds.h"
#include "metronome/core/error.h"
#include "metronome/core/memory.h"
#include "metronome/core/text.h"
#include "metronome/learner/device.h"
#include "metronome/train/checkpoint.h"
#include "metronome/train/run.h"
#include "train/trainer.h"

namespace metronome {
namespace {

/// "configs/racer.toml:12:1: " for a key that somebody set, else nothing.
std::string OriginOf(const EffectiveConfig& effective, const std::string& full_name) {
  const auto origin = effective.origins.find(full_name);
  return origin == effective.origins.end() ? "" : origin->second + ": ";
}

/// What a network has, in float32 numbers. The bounds of the configuration keep every sum here within 64
/// bits.
struct NetworkSize {
  std::int64_t weights = 0;      // biases included
  std::int64_t activations = 0;  // of one row, each with its gradient
};

NetworkSize SizeOf(const RunConfig& config, const GameSpec& game) {
  NetworkSize size;
  std::int64_t inputs = game.observation.size();
  std::vector<std::int64_t> widths = config.network.hidden;
  widths.push_back(game.num_actions());
  for (const std::int64_t width : widths) {
    size.weights += (inputs + 1) * width;
    size.activations += 2 * width;
    inputs = width;
  }
  return size;
}

constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));

/// Refuses before anything is created what the machine's memory can't hold.
void CheckMemory(const EffectiveConfig& effective, const GameSpec& game) {
  const RunConfig& config = effective.config;
  const std::optional<std::int64_t> available = AvailableMemoryBytes();
  const ReplayBuffer::Options replay = ReplayOptionsFor(config, game.observation);
  try {
    ReplayBuffer::CheckFits(replay, available);
  } catch (const Error& error) {
    throw Error(error.code(), OriginOf(effective, "replay.capacity") + error.what());
  }
  // Weights, target, gradient and Adam's two moments, and a batch on its way through.
  constexpr std::int64_t kFlatVectors = 5;
  const NetworkSize size = SizeOf(config, game);
  const std::int64_t network_bytes =
      kFloatBytes * (kFlatVectors * size.weights + config.learner.batch_size * size.activations);
  const std::int64_t left =
      available.value_or(std::numeric_limits<std::int64_t>::max()) - ReplayBuffer::BytesNeeded(replay);
  if (network_bytes > left) {
    throw Error(ExitCode::kUsage,
                OriginOf(effective, "network.hidden") +
                    "network.hidden and learner.batch_size = " + std::to_string(config.learner.batch_size) +
                    ": the network needs at least " + FormatBytes(network_bytes) +
                    ", and beside the replay " + FormatBytes(left) + " are available");
  }
}

/// Refuses checkpoints that the disk can't hold. The run's tables are small beside them.
void CheckDisk(const EffectiveConfig& effective, const GameSpec& game, std::filesystem::path folder) {
  const std::int64_t needed = MostCheckpointBytes(effective.config, game);
  std::error_code error;
  folder = std::filesystem::absolute(folder.empty() ? "runs" : folder, error);
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (!error && space.available < static_cast<std::uintmax_t>(needed)) {
    throw Error(ExitCode::kInputOutput,
                folder.string() + ": the checkpoints need up to " + FormatBytes(needed) +
                    " of disk (checkpoint.keep = " + std::to_string(effective.config.checkpoint.keep) +
                    ", replay.capacity = " + std::to_string(effective.config.replay.capacity) + "), and " +
                    FormatBytes(static_cast<std::int64_t>(space.available)) + " are free");
  }
}

void CheckDevice(const EffectiveConfig& effective) {
  const std::string& name = effective.config.device.name;
  const std::vector<std::string> found = DevicesFound();
  if (name != "auto" && std::find(found.begin(), found.end(), name) == found.end()) {
    throw Error(ExitCode::kNoDevice, OriginOf(effective, "device.name") + "device.name = \"" + name +
                                         "\": there is no such device here, only " + Join(found));
  }
}

}  // namespace

void CheckMachine(const EffectiveConfig& effective, const std::filesystem::path& folder) {
  const GameSpec game = MakeGame(effective.config.game.name, effective.config.game.parameters)->spec();
  CheckMemory(effective, game);
  CheckDisk(effective, game, folder);
  CheckDevice(effective);
}

namespace {

/// Whether a run that goes on may do so with another value: what decides how long it runs, what it tells and
/// where it computes, and nothing that decides how it learns.
bool MayChange(const ConfigKey& key) {
  return key.full_name() == "train.steps" || key.full_name() == "learner.ops" || key.section == "eval" ||
         key.section == "checkpoint" || key.section == "log" || key.section == "device";
}

/// Refuses the first key whose value differs from the run's own, but for those that may.
void CheckUnchanged(const RunConfig& saved, const EffectiveConfig& effective) {
  if (saved.game.name != effective.config.game.name) {
    throw Error(ExitCode::kUsage, OriginOf(effective, "game.name") + "game.name: the run plays " +
                                      saved.game.name + " and can't go on with " +
                                      effective.config.game.name);
  }
  const auto text = [](const std::optional<ConfigValue>& value) {
    return value ? FormatConfigValue(*value) : std::string("none");
  };
  for (const ConfigKey& key : AllConfigKeys(&FindGame(saved.game.name))) {
    const std::string before = text(key.value(saved));
    const std::string now = text(key.value(effective.config));
    if (before == now || MayChange(key)) continue;
    throw Error(ExitCode::kUsage,
                OriginOf(effective, key.full_name()) + key.full_name() + ": the run has " + before +
                    " and can't go on with " + now +
                    "; train.steps, learner.ops, [eval], [checkpoint], [device] and [log] may change");
  }
}

/// What TensorBoard compares runs by: everything that decides how a run learns, but its seed.
std::vector<Hyperparameter> HyperparametersOf(const RunConfig& config) {
  const auto to_setting = [](const ConfigValue& value) -> std::variant<bool, double, std::string> {
    if (const auto* flag = std::get_if<bool>(&value.data)) return *flag;
    if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*integer);
    if (const auto* number = std::get_if<double>(&value.data)) return *number;
    if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
    return FormatConfigValue(value);
  };
  std::vector<Hyperparameter> settings;
  for (const ConfigKey& key : AllConfigKeys(&FindGame(config.game.name))) {
    const std::optional<ConfigValue> value = key.value(config);
    const bool tells = key.section == "device" || key.section == "checkpoint" || key.section == "log";
    if (!value || tells || key.full_name() == "train.seed") continue;
    settings.push_back({key.full_name(), to_setting(*value)});
  }
  return settings;
}

}  // namespace

LogLevel ParseLogLevel(const TrainOptions& options) {
  if (options.quiet && options.log_level) {
    throw Error(ExitCode::kUsage, "--quiet stands for --log-level warning: give one of the two");
  }
  const std::vector<std::string> names = {"debug", "info", "warning", "error"};
  const std::string name = options.quiet ? "warning" : options.log_level.value_or("info");
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(ExitCode::kUsage, "--log-level: found \"" + name + "\", must be one of " + Join(names) +
                                      "; did you mean " + NearestName(name, names) + "?");
  }
  return static_cast<LogLevel>(found - names.begin());
}

namespace {

/// What both kinds of run are made with.
RunRequest MakeRequest(const EffectiveConfig& effective, const TrainOptions& options,
                       const std::filesystem::path& folder) {
  RunRequest request;
  request.config = effective.config;
  request.folder = folder;
  request.config_text = FormatConfig(effective, false);
  request.hyperparameters = HyperparametersOf(effective.config);
  request.log_level = ParseLogLevel(options);
  return request;
}

int ResumeTrain(const TrainOptions& options) {
  if (options.run)
    throw Error(ExitCode::kUsage, "--run: a run that goes on stays in its folder, " + *options.resume);
  if (options.resume->empty()) throw Error(ExitCode::kUsage, "--resume: the folder's name is empty");
  const std::filesystem::path folder = *options.resume;
  std::vector<std::string> notes;
  const Checkpoint checkpoint = ReadNewestCheckpoint(folder, notes);
  if (!notes.empty()) notes.push_back("goes on from the older checkpoint " + checkpoint.path.string());

  const std::string saved_name = (checkpoint.path / "config.toml").string();
  const RunConfig saved = ParseSavedConfig(checkpoint.config_text, saved_name);
  const EffectiveConfig effective = LoadConfig(options.config, checkpoint.config_text);
  CheckUnchanged(saved, effective);
  const std::int64_t done = checkpoint.state.trainer.steps;
  if (done >= effective.config.train.steps) {
    throw Error(ExitCode::kUsage, folder.string() + ": the run has done " + std::to_string(done) + " of " +
                                      std::to_string(effective.config.train.steps) +
                                      " steps; to go on, raise the total with --steps");
  }
  CheckMachine(effective, folder);
  RunRequest request = MakeRequest(effective, options, folder);
  for (std::string& note : SettleDevice(saved, checkpoint.state.device, DevicesFound(), request.config)) {
    notes.push_back(std::move(note));
  }
  return ResumeTraining(request, checkpoint, notes);
}

}  // namespace

EffectiveConfig LoadNewConfig(const TrainOptions& options) {
  if (!options.config.config) {
    throw Error(ExitCode::kUsage, "train: --config FILE is missing; try --config configs/racer.toml");
  }
  if (options.run && options.run->empty()) {
    throw Error(ExitCode::kUsage, "--run: the folder's name is empty");
  }
  EffectiveConfig effective = LoadConfig(options.config);
  RequireKeys(effective, {"game.name", "train.steps"}, *options.config.config);
  return effective;
}

int RunTrain(const TrainOptions& options) {
  if (options.resume && !options.run && IsSeedSet(*options.resume)) {
    return ResumeSeeds(options, *options.resume);
  }
  if (options.resume && options.seeds) {
    throw Error(ExitCode::kUsage, "--seeds: a run that goes on has its seed; a set of runs has its seeds");
  }
  if (options.jobs && !options.seeds) {
    throw Error(ExitCode::kUsage, "--jobs: goes with --seeds, or with the --resume of a set of runs");
  }
  if (options.resume) return ResumeTrain(options);
  if (options.seeds) return TrainSeeds(options);
  const EffectiveConfig effective = LoadNewConfig(options);

  const RunRequest request = MakeRequest(effective, options, options.run.value_or(""));
  std::error_code unknown;
  if (std::filesystem::exists(request.folder, unknown)) {
    throw Error(ExitCode::kUsage,
                "--run: " + request.folder.string() + " exists already, and no run is ever overwritten");
  }
  CheckMachine(effective, request.folder);
  return RunTraining(request);
}

}  // namespace metronome
