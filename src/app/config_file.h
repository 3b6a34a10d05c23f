#ifndef METRONOME_APP_CONFIG_FILE_H_
#define METRONOME_APP_CONFIG_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "app/config_table.h"

namespace metronome {

/// One "key = value" as somebody wrote it, in a file or on the command line.
struct Setting {
  std::string section;  ///< Empty for a key that stands outside of every section.
  std::string name;     ///< Empty for the head of a section itself.
  ConfigValue value;
  std::string key_origin;    ///< Where the key stands: "configs/racer.toml:3:1", "--set learner.loss=mse".
  std::string value_origin;  ///< Where the value stands; errors begin with one of the two.
};

/// The settings of a TOML text, in the order of the text. `name` is what errors call it.
/// Throws Error (kUsage), "name:line:column: ...", where the text is no TOML or gives a key twice.
std::vector<Setting> ParseConfigText(std::string_view text, const std::string& name);

/// Throws Error (kUsage) also when the name is empty or no such file is there, (kInputOutput) when it cannot
/// be read.
std::vector<Setting> ReadConfigFile(const std::filesystem::path& path);

/// "section.key=value" of --set. The value is one TOML value; where the key takes a text, a bare word will
/// do.
Setting ParseSetOption(const std::string& text);

/// The value of a flag that stands for a key, as --seed stands for train.seed.
Setting ParseFlag(const std::string& flag, const std::string& full_name, const std::string& text);

}  // namespace metronome

#endif  // METRONOME_APP_CONFIG_FILE_H_
