#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "app/commands.h"
#include "metronome/core/error.h"
#include "metronome/core/memory.h"
#include "metronome/core/text.h"
#include "metronome/learner/device.h"
#include "metronome/train/run.h"
#include "train/trainer.h"

namespace metronome {
namespace {

/// "configs/racer.toml:12:1: " for a key that somebody set, else nothing.
std::string OriginOf(const EffectiveConfig& effective, const std::string& full_name) {
  const auto origin = effective.origins.find(full_name);
  return origin == effective.origins.end() ? "" : origin->second + ": ";
}

/// Bytes that the network takes at the least: weights, target, gradient and Adam's two moments, and for a
/// batch every activation with its gradient.  The bounds of the configuration keep the sum within 64 bits.
std::int64_t LeastNetworkBytes(const RunConfig& config, const GameSpec& game) {
  constexpr std::int64_t kFlatVectors = 5;
  std::int64_t weights = 0;
  std::int64_t activations = 0;
  std::int64_t inputs = game.observation.size();
  std::vector<std::int64_t> widths = config.network.hidden;
  widths.push_back(game.num_actions());
  for (const std::int64_t width : widths) {
    weights += (inputs + 1) * width;
    activations += 2 * width;
    inputs = width;
  }
  const auto float_bytes = static_cast<std::int64_t>(sizeof(float));
  return float_bytes * (kFlatVectors * weights + config.learner.batch_size * activations);
}

/// Refuses before anything is created what the machine's memory can't hold.
void CheckMemory(const EffectiveConfig& effective) {
  const RunConfig& config = effective.config;
  const std::optional<std::int64_t> available = AvailableMemoryBytes();
  const GameSpec game = MakeGame(config.game.name, config.game.parameters)->spec();
  const ReplayBuffer::Options replay = ReplayOptionsFor(config, game.observation);
  try {
    ReplayBuffer::CheckFits(replay, available);
  } catch (const Error& error) {
    throw Error(error.code(), OriginOf(effective, "replay.capacity") + error.what());
  }
  const std::int64_t network_bytes = LeastNetworkBytes(config, game);
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

void CheckDevice(const EffectiveConfig& effective) {
  const std::string& name = effective.config.device.name;
  const std::vector<std::string> found = DevicesFound();
  if (name != "auto" && std::find(found.begin(), found.end(), name) == found.end()) {
    throw Error(ExitCode::kNoDevice, OriginOf(effective, "device.name") + "device.name = \"" + name +
                                         "\": there is no such device here, only " + Join(found));
  }
}

}  // namespace

int RunTrain(const TrainOptions& options) {
  if (!options.config.config) {
    throw Error(ExitCode::kUsage, "train: --config FILE is missing; try --config configs/racer.toml");
  }
  if (options.run && options.run->empty()) {
    throw Error(ExitCode::kUsage, "--run: the folder's name is empty");
  }
  const EffectiveConfig effective = LoadConfig(options.config);
  RequireKeys(effective, {"game.name", "train.steps"}, *options.config.config);

  RunRequest request;
  request.config = effective.config;
  request.folder = options.run.value_or("");
  request.config_text = FormatConfig(effective, false);
  std::error_code unknown;
  if (std::filesystem::exists(request.folder, unknown)) {
    throw Error(ExitCode::kUsage,
                "--run: " + request.folder.string() + " exists already, and no run is ever overwritten");
  }
  CheckMemory(effective);
  CheckDevice(effective);
  return RunTraining(request);
}

}  // namespace metronome
