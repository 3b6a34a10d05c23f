#ifndef METRONOME_APP_EFFECTIVE_CONFIG_H_
#define METRONOME_APP_EFFECTIVE_CONFIG_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/config_file.h"
#include "metronome/train/config.h"

namespace metronome {

/// The configuration that a command works with, and who set what.
struct EffectiveConfig {
  RunConfig config;
  /// By full key name, where a value that isn't the default came from: "configs/racer.toml:12:1", "--seed".
  std::map<std::string, std::string> origins;
};

/// Command line over file over default. Every setting is checked, also one that another overrides: unknown
/// section or key (naming the nearest), type, range, a key set twice on the command line, settings that
/// contradict each other. Throws Error (kUsage) for the first mistake, beginning with where it stands.
/// A known game fills in the parameters and the episode limit that nobody set.
EffectiveConfig MakeEffectiveConfig(const std::vector<Setting>& file, const std::vector<Setting>& arguments);

/// The configuration in the config.toml of a run or checkpoint. Throws Error (kBadCheckpoint).
RunConfig ParseSavedConfig(std::string_view text, const std::string& name);

/// Throws Error (kUsage), beginning with `where`, while one of these keys has no value.
void RequireKeys(const EffectiveConfig& effective, const std::vector<std::string>& full_names,
                 const std::string& where);

/// The whole configuration as TOML: each key below a comment with its meaning, unit, range and, when
/// `with_origins`, where its value came from. A key without a value is written as a comment. Reading it back
/// gives the same configuration.
std::string FormatConfig(const EffectiveConfig& effective, bool with_origins);

}  // namespace metronome

#endif  // METRONOME_APP_EFFECTIVE_CONFIG_H_
