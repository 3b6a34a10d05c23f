#include "app/consistency.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/config_table.h"
#include "metronome/core/error.h"

namespace metronome {
namespace {

/// The steps after which the first update comes; every `update_period` steps is a learning moment, and the
/// first that counts is the one with `warmup` transitions held.
std::int64_t FirstUpdateStep(const RunConfig& config) {
  const std::int64_t period = config.train.update_period;
  return (config.replay.warmup + period - 1) / period * period;
}

class Checker {
 public:
  Checker(const RunConfig& config, const std::map<std::string, std::string>& origins)
      : config_(config), origins_(origins) {}

  /// Refuses the settings of `keys` together, because of `reason`.
  [[noreturn]] void Refuse(const std::vector<std::string>& keys, const std::string& reason) const {
    std::string origin;
    std::string settings;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      settings += i == 0 ? "" : i + 1 == keys.size() ? " and " : ", ";
      settings += keys[i] + " = " + Value(keys[i]);
      const auto found = origins_.find(keys[i]);
      if (origin.empty() && found != origins_.end()) {
        origin = found->second + ": ";
      }
    }
    throw Error(ExitCode::kUsage, origin + settings + ": " + reason);
  }

 private:
  std::string Value(const std::string& full_name) const {
    for (const ConfigKey& key : ConfigKeys()) {
      if (key.full_name() == full_name) {
        const auto value = key.value(config_);
        return value ? FormatConfigValue(*value) : "none";
      }
    }
    return "none";
  }

  const RunConfig& config_;
  const std::map<std::string, std::string>& origins_;
};

}  // namespace

std::string ConvolutionFault(const NetworkConfig& network, const ObservationSpec& observation) {
  if (network.conv.empty()) {
    return "";
  }
  if (!observation.is_grid()) {
    return "a convolution needs an observation with a grid, and this game's is a vector of " +
           std::to_string(observation.size()) + " numbers";
  }
  std::int64_t height = observation.shape[1];
  std::int64_t width = observation.shape[2];
  for (std::size_t i = 0; i < network.conv.size(); ++i) {
    const std::int64_t kernel = network.conv[i][1];
    const std::int64_t stride = network.conv[i][2];
    if (kernel > std::min(height, width)) {
      return "the kernel of layer " + std::to_string(i + 1) + ", " + std::to_string(kernel) +
             ", is larger than the grid it gets, " + std::to_string(height) + " by " + std::to_string(width);
    }
    height = (height - kernel) / stride + 1;
    width = (width - kernel) / stride + 1;
  }
  return "";
}

std::vector<std::string> SettleDevice(const RunConfig& saved, const std::string& saved_device,
                                      const std::vector<std::string>& found, RunConfig& config) {
  const std::string rounding = "; from here on it is the run that did not move but for rounding";
  std::vector<std::string> notes;
  if (saved.learner.ops != config.learner.ops) notes.push_back("learner.ops has changed" + rounding);
  if (saved_device.empty() || config.device.name == saved_device) return notes;
  const bool is_there = std::find(found.begin(), found.end(), saved_device) != found.end();
  const bool has_ops = saved_device == "cpu" || config.learner.ops != Ops::kFused;
  if (config.device.name == "auto" && is_there && has_ops) {
    config.device.name = saved_device;
    return notes;
  }
  notes.push_back("the run was on " + saved_device + (is_there ? "" : ", which is not here,") +
                  " and moves to " +
                  (config.device.name == "auto" ? "the fastest device here" : config.device.name) + rounding);
  return notes;
}

void CheckConsistency(const RunConfig& config, const std::map<std::string, std::string>& origins) {
  const Checker checker(config, origins);
  if (config.learner.batch_size > config.replay.capacity) {
    checker.Refuse({"learner.batch_size", "replay.capacity"},
                   "a batch can't be larger than the replay it is drawn from");
  }
  if (config.replay.warmup > config.replay.capacity) {
    checker.Refuse({"replay.warmup", "replay.capacity"},
                   "the replay would never hold so many transitions, so no update would ever happen");
  }
  if (config.train.steps > 0 && FirstUpdateStep(config) > config.train.steps) {
    checker.Refuse({"train.steps", "replay.warmup", "train.update_period"},
                   "the first update would come after " + std::to_string(FirstUpdateStep(config)) +
                       " steps, so this run would learn nothing");
  }
  const bool names_another_device = config.device.name != "auto" && config.device.name != "cpu";
  if (config.learner.engine == Engine::kAutograd && names_another_device) {
    checker.Refuse({"learner.engine", "device.name"}, "the autograd engine computes on the cpu only");
  }
  if (config.learner.engine == Engine::kAutograd && config.learner.ops != Ops::kAuto) {
    checker.Refuse({"learner.engine", "learner.ops"}, "only the static engine has a choice of ops");
  }
  if (config.learner.ops == Ops::kFused && names_another_device) {
    checker.Refuse({"learner.ops", "device.name"}, "the fused ops are for the cpu only");
  }
  if (config.exploration.epsilon_end > config.exploration.epsilon_start) {
    checker.Refuse({"exploration.epsilon_end", "exploration.epsilon_start"},
                   "epsilon falls, so its end can't lie above its start");
  }
  if (config.eval.stop_at_return && config.eval.period == 0) {
    checker.Refuse({"eval.stop_at_return", "eval.period"},
                   "without evaluations no return would ever end the run");
  }
  if (!config.network.conv.empty() && !config.game.name.empty()) {
    const std::unique_ptr<Game> game = MakeGame(config.game.name, config.game.parameters);
    const std::string fault = ConvolutionFault(config.network, game->spec().observation);
    if (!fault.empty()) {
      checker.Refuse({"network.conv", "game.name"}, fault);
    }
  }
}

}  // namespace metronome
