#ifndef METRONOME_GAMES_PARAMETERS_H_
#define METRONOME_GAMES_PARAMETERS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace metronome {

using ParameterValue = std::variant<bool, std::int64_t, double>;

/// One setting of a game, as the game declares it. The type is that of the default.
struct ParameterSpec {
  std::string name;
  ParameterValue default_value;
  double low = 0.0;  ///< Least and greatest value allowed; not for bool.
  double high = 1.0;
  std::string unit;  ///< Empty where there is none.
  std::string meaning;
};

/// A complete set of values: each declared parameter, in the order declared, with a value of its own type and
/// within its range.
class GameParameters {
 public:
  GameParameters() = default;
  /// All at their defaults.
  explicit GameParameters(std::span<const ParameterSpec> specs);

  /// Throws Error (kUsage) when the game has no such parameter (naming the nearest), the type is another (an
  /// integer is taken for a double), or the value is out of range or not finite. The message starts with
  /// "game.<name>".
  void Set(std::string_view name, ParameterValue value);

  /// REQUIRES (checked): declared, with this type.
  bool GetBool(std::string_view name) const;
  std::int64_t GetInt(std::string_view name) const;
  double GetDouble(std::string_view name) const;

  std::span<const ParameterSpec> specs() const { return specs_; }
  /// Values in the order of specs().
  std::span<const ParameterValue> values() const { return values_; }

  /// Same names and values.
  friend bool operator==(const GameParameters& left, const GameParameters& right);

 private:
  const ParameterValue& Get(std::string_view name) const;

  std::vector<ParameterSpec> specs_;
  std::vector<ParameterValue> values_;
};

/// "0.1", "3", "true": as TOML writes it.
std::string FormatParameterValue(const ParameterValue& value);

}  // namespace metronome

#endif  // METRONOME_GAMES_PARAMETERS_H_
