#ifndef METRONOME_APP_CONFIG_TABLE_H_
#define METRONOME_APP_CONFIG_TABLE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "metronome/train/config.h"

namespace metronome {

/// A value as TOML has it, before anyone asks whether the key takes it.
struct ConfigValue {
  /// What no key takes: a table, a date.
  struct Other {
    std::string type;  ///< "a table"
  };
  std::variant<bool, std::int64_t, double, std::string, std::vector<ConfigValue>, Other> data;
};

/// The value as TOML writes it ("0.1", "\"huber\"", "[128, 128]"), the type for what no key takes.
std::string FormatConfigValue(const ConfigValue& value);

/// One key of the configuration: where it stands, what it takes, what it means, and the field it sets. The
/// TOML file, --set, `metronome config` and the documentation are all made from these entries.
struct ConfigKey {
  std::string section;
  std::string name;
  std::string unit;                  ///< Empty where there is none.
  std::string meaning;               ///< One sentence.
  std::string allowed;               ///< "an integer from 1 to 1048576"; follows "must be".
  std::vector<std::string> choices;  ///< The texts taken, where the key takes one of a few.
  bool is_text = false;              ///< On the command line a bare word will do.
  bool required = false;             ///< Has no default, and a run can't do without it.
  std::string when_unset;            ///< What holds while it has no value; empty where it always has one.

  /// Sets the field. False, and nothing changed, when the value has another type or is out of range; an
  /// integer is taken for a float, a float never for an integer.
  std::function<bool(RunConfig&, const ConfigValue&)> assign;
  /// The field's value; empty while it has none.
  std::function<std::optional<ConfigValue>(const RunConfig&)> value;

  std::string full_name() const { return section + "." + name; }
};

/// The sections, in the order in which they are written.
const std::vector<std::string>& ConfigSections();

/// Every key but the games' own parameters, in the order in which they are written.
const std::vector<ConfigKey>& ConfigKeys();

/// The keys of a game's own parameters, in section [game].
std::vector<ConfigKey> GameParameterKeys(const GameInfo& game);

/// All keys of a run of `game` (nullptr: while that isn't known), a game's parameters behind the other keys
/// of [game].
std::vector<ConfigKey> AllConfigKeys(const GameInfo* game);

}  // namespace metronome

#endif  // METRONOME_APP_CONFIG_TABLE_H_
