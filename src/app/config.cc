#include <iostream>
#include <utility>

#include "app/commands.h"

namespace metronome {

EffectiveConfig LoadConfig(const ConfigOptions& options, const std::string& default_text) {
  std::vector<Setting> arguments;
  for (const std::string& text : options.set) {
    arguments.push_back(ParseSetOption(text));
  }
  const auto add_flag = [&arguments](const std::optional<std::string>& value, const char* flag,
                                     const char* full_name) {
    if (value) {
      arguments.push_back(ParseFlag(flag, full_name, *value));
    }
  };
  add_flag(options.steps, "--steps", "train.steps");
  add_flag(options.seed, "--seed", "train.seed");
  add_flag(options.device, "--device", "device.name");
  add_flag(options.threads, "--threads", "device.threads");
  return MakeEffectiveConfig(
      options.config ? ReadConfigFile(*options.config) : ParseConfigText(default_text, "default"), arguments);
}

int RunConfigCommand(const ConfigOptions& options) {
  const EffectiveConfig effective = LoadConfig(options);
  std::cout << "# The effective configuration of metronome " << METRONOME_VERSION << ".\n\n"
            << FormatConfig(effective, true);
  return 0;
}

}  // namespace metronome
