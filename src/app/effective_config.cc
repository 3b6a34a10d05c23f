#include "app/effective_config.h"

#include <algorithm>
#include <optional>
#include <set>

#include "app/consistency.h"
#include "metronome/core/error.h"
#include "metronome/core/text.h"

namespace metronome {
namespace {

[[noreturn]] void Refuse(const std::string& origin, const std::string& what) {
  throw Error(ExitCode::kUsage, origin + ": " + what);
}

std::string WithUnderscores(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const ConfigKey* FindKey(const std::vector<ConfigKey>& keys, const std::string& full_name) {
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [&](const ConfigKey& key) { return key.full_name() == full_name; });
  return found == keys.end() ? nullptr : &*found;
}

/// The key that an unknown one most likely meant: the same name in another section, else the nearest name.
std::string MeantKey(const Setting& setting, const std::vector<ConfigKey>& keys) {
  std::vector<std::string> same_name;
  std::vector<std::string> all;
  for (const ConfigKey& key : keys) {
    all.push_back(key.full_name());
    if (key.name == WithUnderscores(setting.name)) {
      same_name.push_back(key.full_name());
    }
  }
  const std::string full_name = setting.section + "." + setting.name;
  if (!same_name.empty()) {
    return NearestName(full_name, same_name);
  }
  if (setting.section.empty()) {
    // Only the name is known; the section must not count as so many edits.
    std::vector<std::string> names;
    for (const ConfigKey& key : keys) {
      names.push_back(key.name);
    }
    const std::string nearest = NearestName(setting.name, names);
    return all[static_cast<std::size_t>(std::find(names.begin(), names.end(), nearest) - names.begin())];
  }
  return NearestName(full_name, all);
}

/// Refuses a setting that has no place in the configuration, naming what was meant.
[[noreturn]] void RefuseUnknown(const Setting& setting, const std::vector<ConfigKey>& keys,
                                const std::string& game) {
  const std::vector<std::string>& sections = ConfigSections();
  const bool known_section = std::find(sections.begin(), sections.end(), setting.section) != sections.end();
  if (setting.section.empty()) {
    if (std::find(sections.begin(), sections.end(), setting.name) != sections.end()) {
      Refuse(setting.key_origin, setting.name + " is a section: write [" + setting.name + "]");
    }
    Refuse(setting.key_origin,
           setting.name + ": a key outside of every section; did you mean " + MeantKey(setting, keys) + "?");
  }
  if (setting.name.empty()) {
    Refuse(setting.key_origin, "unknown section [" + setting.section + "]; did you mean [" +
                                   NearestName(setting.section, sections) + "]?");
  }
  const std::string full_name = setting.section + "." + setting.name;
  if (setting.section == "game" && game.empty()) {
    Refuse(setting.key_origin,
           full_name +
               ": unknown key while game.name, which decides the parameters, is missing; did you mean " +
               MeantKey(setting, keys) + "?");
  }
  Refuse(setting.key_origin, full_name + ": unknown " + (known_section ? "key" : "section and key") +
                                 (setting.section == "game" ? " for the game " + game : "") +
                                 "; did you mean " + MeantKey(setting, keys) + "?");
}

void Apply(const Setting& setting, const ConfigKey& key, EffectiveConfig& effective) {
  if (key.assign(effective.config, setting.value)) {
    effective.origins[key.full_name()] = setting.key_origin;
    return;
  }
  std::string hint;
  const auto* const text = std::get_if<std::string>(&setting.value.data);
  if (text != nullptr && !key.choices.empty()) {
    hint = "; did you mean \"" + NearestName(*text, key.choices) + "\"?";
  }
  Refuse(setting.value_origin,
         key.full_name() + " = " + FormatConfigValue(setting.value) + ": must be " + key.allowed + hint);
}

/// The last value of game.name, without judging it.
std::optional<std::string> NamedGame(const std::vector<Setting>& settings) {
  std::optional<std::string> name;
  for (const Setting& setting : settings) {
    const auto* const text = std::get_if<std::string>(&setting.value.data);
    if (setting.section == "game" && setting.name == "name" && text != nullptr) {
      name = *text;
    }
  }
  return name;
}

/// A meaning, which a game may have written as a phrase, as a sentence.
std::string Sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text.ends_with('.') ? text : text + ".";
}

/// A comment of its own lines, cut between words where it gets long.
std::string Comment(const std::string& text) {
  constexpr std::size_t kWidth = 100;
  std::string out = "#";
  std::size_t column = 1;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (column > 1 && column + 1 + (end - begin) > kWidth) {
      out += "\n#";
      column = 1;
    }
    out += ' ';
    out += text.substr(begin, end - begin);
    column += 1 + (end - begin);
    begin = end + 1;
  }
  return out + "\n";
}

}  // namespace

EffectiveConfig MakeEffectiveConfig(const std::vector<Setting>& file, const std::vector<Setting>& arguments) {
  EffectiveConfig effective;

  // The game decides which keys there are, so its name comes first.
  const std::optional<std::string> in_file = NamedGame(file);
  const std::optional<std::string> in_arguments = NamedGame(arguments);
  const std::string name = in_arguments.value_or(in_file.value_or(""));
  const GameInfo* game = nullptr;
  for (const GameInfo& info : Games()) {
    if (info.name == name) {
      game = &info;
    }
  }
  if (game != nullptr) {
    effective.config.game.parameters = GameParameters(game->parameters);
  }

  const std::vector<ConfigKey> keys = AllConfigKeys(game);
  std::map<std::string, std::string> on_command_line;
  const auto apply = [&](const Setting& setting, bool from_command_line) {
    const std::string full_name = setting.section + "." + setting.name;
    const std::vector<std::string>& sections = ConfigSections();
    if (setting.name.empty() &&
        std::find(sections.begin(), sections.end(), setting.section) != sections.end()) {
      return;  // the head of a section
    }
    const ConfigKey* const key = FindKey(keys, full_name);
    if (key == nullptr) {
      if (setting.section == "game" && game == nullptr && !name.empty()) {
        return;  // game.name itself is wrong, and is refused when its turn comes
      }
      RefuseUnknown(setting, keys, name);
    }
    if (from_command_line) {
      const auto [earlier, is_first] = on_command_line.emplace(full_name, setting.key_origin);
      if (!is_first) {
        Refuse(setting.key_origin,
               full_name + ": set twice on the command line, before by " + earlier->second);
      }
    }
    Apply(setting, *key, effective);
  };
  for (const Setting& setting : file) {
    apply(setting, false);
  }
  for (const Setting& setting : arguments) {
    apply(setting, true);
  }
  if (game != nullptr && !effective.config.game.max_episode_steps) {
    effective.config.game.max_episode_steps =
        MakeGame(name, effective.config.game.parameters)->spec().default_max_episode_steps;
  }
  CheckConsistency(effective.config, effective.origins);
  return effective;
}

RunConfig ParseSavedConfig(std::string_view text, const std::string& name) {
  try {
    const EffectiveConfig effective = MakeEffectiveConfig(ParseConfigText(text, name), {});
    RequireKeys(effective, {"game.name", "train.steps"}, name);
    return effective.config;
  } catch (const Error& error) {
    throw Error(ExitCode::kBadCheckpoint, error.what());
  }
}

void RequireKeys(const EffectiveConfig& effective, const std::vector<std::string>& full_names,
                 const std::string& where) {
  for (const std::string& full_name : full_names) {
    const ConfigKey* const key = FindKey(ConfigKeys(), full_name);
    if (!key->value(effective.config)) {
      throw Error(ExitCode::kUsage, where + ": " + full_name + " is missing; it must be " + key->allowed);
    }
  }
}

std::string FormatConfig(const EffectiveConfig& effective, bool with_origins) {
  const GameInfo* const game =
      effective.config.game.name.empty() ? nullptr : &FindGame(effective.config.game.name);
  std::string out;
  std::string section;
  for (const ConfigKey& key : AllConfigKeys(game)) {
    if (key.section != section) {
      section = key.section;
      out += (out.empty() ? "[" : "\n[") + section + "]\n";
    }
    const std::optional<ConfigValue> value = key.value(effective.config);
    std::string comment = Sentence(key.meaning);
    comment += key.unit.empty() ? "" : " Unit: " + key.unit + ".";
    comment += " Allowed: " + key.allowed + ".";
    if (!value) {
      comment += key.required ? " Required; not set." : " Not set: " + key.when_unset + ".";
    }
    out += Comment(comment);
    if (value && with_origins) {
      const auto origin = effective.origins.find(key.full_name());
      out += Comment("From: " + (origin == effective.origins.end() ? "default" : origin->second));
    }
    out += value ? key.name + " = " + FormatConfigValue(*value) + "\n" : "# " + key.name + " =\n";
  }
  return out;
}

}  // namespace metronome
