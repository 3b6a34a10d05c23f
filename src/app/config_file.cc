#include "app/config_file.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/text.h"

namespace metronome {
namespace {

// A configuration is a page; anything much longer is another kind of file, named by mistake.
constexpr std::int64_t kMostFileBytes = std::int64_t{1} << 20;

ConfigValue FromToml(const toml::node& node) {
  if (const auto* const flag = node.as_boolean()) {
    return {flag->get()};
  }
  if (const auto* const integer = node.as_integer()) {
    return {integer->get()};
  }
  if (const auto* const number = node.as_floating_point()) {
    return {number->get()};
  }
  if (const auto* const text = node.as_string()) {
    return {text->get()};
  }
  if (const auto* const array = node.as_array()) {
    std::vector<ConfigValue> list;
    for (const toml::node& element : *array) {
      list.push_back(FromToml(element));
    }
    return {std::move(list)};
  }
  return {ConfigValue::Other{node.is_table() ? "a table" : "a date or time"}};
}

/// Origins and messages stay on one line, whatever a file is called or an argument holds.
std::string Printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char character) { return static_cast<unsigned char>(character) < 0x20; },
      '?');
  return text;
}

std::string Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) {
    return "";
  }
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

/// The key at work in line `line` (from 1) of a text that toml++ gave up on, as "section.key: " for the
/// message; empty where the line has none. The text is broken, so this reads it plainly, line by line.
std::string KeyAtLine(std::string_view text, std::size_t line) {
  std::string section;
  std::size_t begin = 0;
  for (std::size_t number = 1; begin <= text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string current = Trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    if (number == line) {
      const std::size_t equals = current.find('=');
      const std::string key = equals == std::string::npos ? "" : Trimmed(current.substr(0, equals));
      if (key.empty() || key.front() == '#' || key.front() == '[') {
        return "";
      }
      return (section.empty() ? key : section + "." + key) + ": ";
    }
    if (current.size() > 2 && current.front() == '[') {
      const std::size_t close = current.find(']');
      section = close == std::string::npos ? "" : Trimmed(current.substr(1, close - 1));
    }
  }
  return "";
}

/// A setting, and where in the text it stands.
struct Placed {
  toml::source_position position;
  Setting setting;
};

std::string Origin(const std::string& name, const toml::source_position& position) {
  return Printable(name) + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
}

Placed Place(const std::string& name, std::string section, const toml::key* key, const toml::node& value,
             const toml::source_position& at) {
  Placed placed;
  placed.position = at;
  placed.setting.section = Printable(std::move(section));
  placed.setting.key_origin = Origin(name, at);
  placed.setting.value_origin = Origin(name, value.source().begin);
  if (key != nullptr) {
    placed.setting.name = Printable(std::string(key->str()));
    placed.setting.value = FromToml(value);
  }
  return placed;
}

/// The one TOML value that `text` is. Empty when it is none.
std::optional<ConfigValue> ParseValue(const std::string& text) {
  // A value alone is no TOML text. Line ends would let a second key in, and a comment would vanish unseen.
  if (text.find_first_of("\n\r#") != std::string::npos) {
    return std::nullopt;
  }
  try {
    const toml::table table = toml::parse("value = " + text);
    if (table.size() == 1 && table.contains("value")) {
      return FromToml(*table.get("value"));
    }
  } catch (const toml::parse_error&) {
    // Told by the caller, who knows the flag.
  }
  return std::nullopt;
}

Setting ParseArgument(const std::string& origin, const std::string& full_name, const std::string& text) {
  const std::size_t dot = full_name.find('.');
  Setting setting;
  setting.section = full_name.substr(0, dot);
  setting.name = full_name.substr(dot + 1);
  setting.key_origin = origin;
  setting.value_origin = origin;
  const std::vector<ConfigKey>& keys = ConfigKeys();
  const auto key =
      std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& k) { return k.full_name() == full_name; });
  if (key != keys.end() && key->is_text && !text.starts_with('"') && !text.starts_with('\'')) {
    setting.value = {text};
    return setting;
  }
  const std::optional<ConfigValue> value = ParseValue(text);
  if (!value) {
    const std::string found = text.empty() ? "nothing" : FormatConfigValue({text});
    throw Error(ExitCode::kUsage, origin + ": " + full_name + ": found " + found + ", must be " +
                                      (key != keys.end() ? key->allowed : "one TOML value"));
  }
  setting.value = *value;
  return setting;
}

}  // namespace

std::vector<Setting> ParseConfigText(std::string_view text, const std::string& name) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_position& at = error.source().begin;
    throw Error(ExitCode::kUsage, Origin(name, at) + ": " +
                                      Printable(KeyAtLine(text, at.line) + std::string(error.description())));
  }
  std::vector<Placed> found;
  for (const auto& [key, node] : table) {
    const toml::table* const section = node.as_table();
    if (section == nullptr) {
      found.push_back(Place(name, "", &key, node, key.source().begin));
      continue;
    }
    // A section that dotted keys made begins at the first of them; they follow it in the order of the text.
    found.push_back(Place(name, std::string(key.str()), nullptr, node, key.source().begin));
    for (const auto& [inner_key, inner] : *section) {
      found.push_back(Place(name, std::string(key.str()), &inner_key, inner, inner_key.source().begin));
    }
  }
  // toml++ keeps tables in the order of the alphabet. The first mistake told should be the first in the text.
  std::stable_sort(found.begin(), found.end(), [](const Placed& left, const Placed& right) {
    return std::pair(left.position.line, left.position.column) <
           std::pair(right.position.line, right.position.column);
  });
  std::vector<Setting> settings;
  for (Placed& placed : found) {
    settings.push_back(std::move(placed.setting));
  }
  return settings;
}

std::vector<Setting> ReadConfigFile(const std::filesystem::path& path) {
  if (path.empty()) {
    throw Error(ExitCode::kUsage, "--config: the file name is empty");
  }
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw Error(ExitCode::kUsage, "--config: there is no file " + path.string());
  }
  if (status.type() == std::filesystem::file_type::directory) {
    throw Error(ExitCode::kUsage, "--config: " + path.string() + " is a folder, not a file");
  }
  return ParseConfigText(ReadFile(path, kMostFileBytes), path.string());
}

Setting ParseSetOption(const std::string& text) {
  const std::string origin = "--set " + Printable(text);
  const std::size_t equals = text.find('=');
  const std::string full_name = Trimmed(text.substr(0, equals));
  const std::size_t dot = full_name.find('.');
  const bool well_formed = equals != std::string::npos && dot != std::string::npos && dot > 0 &&
                           dot + 1 < full_name.size() && full_name.find('.', dot + 1) == std::string::npos;
  if (!well_formed) {
    throw Error(ExitCode::kUsage, origin + ": must have the form section.key=value");
  }
  return ParseArgument(origin, full_name, Trimmed(std::string_view(text).substr(equals + 1)));
}

Setting ParseFlag(const std::string& flag, const std::string& full_name, const std::string& text) {
  return ParseArgument(flag, full_name, text);
}

}  // namespace metronome
