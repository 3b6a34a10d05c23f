#include "metronome/games/parameters.h"

#include <algorithm>
#include <cmath>

#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/text.h"

namespace metronome {
namespace {

/// What a value is called in an error.
std::string_view TypeName(const ParameterValue& value) {
  if (std::holds_alternative<bool>(value)) return "true or false";
  if (std::holds_alternative<std::int64_t>(value)) return "an integer";
  return "a number";
}

bool InRange(const ParameterSpec& spec, const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    const auto number = static_cast<double>(*integer);
    return spec.low <= number && number <= spec.high;
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return std::isfinite(*number) && spec.low <= *number && *number <= spec.high;
  }
  return true;
}

std::string DescribeRange(const ParameterSpec& spec) {
  const std::string unit = spec.unit.empty() ? "" : " " + spec.unit;
  return FormatDouble(spec.low) + " to " + FormatDouble(spec.high) + unit;
}

/// An integer where the game wants a double, when the double holds it exactly; else the value unchanged.
ParameterValue Widened(const ParameterSpec& spec, ParameterValue value) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (std::holds_alternative<double>(spec.default_value) && integer != nullptr && *integer >= -kExact &&
      *integer <= kExact) {
    return static_cast<double>(*integer);
  }
  return value;
}

/// The config's [game] section has keys of its own beside the parameters.
bool IsReserved(std::string_view name) { return name == "name" || name == "max_episode_steps"; }

}  // namespace

GameParameters::GameParameters(std::span<const ParameterSpec> specs) : specs_(specs.begin(), specs.end()) {
  values_.reserve(specs_.size());
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const ParameterSpec& spec = specs_[i];
    METRONOME_CHECK(!spec.name.empty() && !IsReserved(spec.name));
    METRONOME_CHECK(InRange(spec, spec.default_value));
    for (std::size_t j = 0; j < i; ++j) METRONOME_CHECK_NE(spec.name, specs_[j].name);
    values_.push_back(spec.default_value);
  }
}

void GameParameters::Set(std::string_view name, ParameterValue value) {
  const std::string key = "game." + std::string(name);
  const auto found = std::find_if(specs_.begin(), specs_.end(),
                                  [&](const ParameterSpec& spec) { return spec.name == name; });
  if (found == specs_.end()) {
    if (specs_.empty()) throw Error(ExitCode::kUsage, key + ": this game has no parameters");
    std::vector<std::string> names;
    for (const ParameterSpec& spec : specs_) names.push_back(spec.name);
    throw Error(ExitCode::kUsage, key + ": this game has no such parameter; the nearest is \"" +
                                      NearestName(name, names) + "\"");
  }
  const ParameterSpec& spec = *found;
  value = Widened(spec, value);
  if (value.index() != spec.default_value.index()) {
    throw Error(ExitCode::kUsage, key + " = " + FormatParameterValue(value) + ": must be " +
                                      std::string(TypeName(spec.default_value)));
  }
  if (!InRange(spec, value)) {
    throw Error(ExitCode::kUsage,
                key + " = " + FormatParameterValue(value) + ": must be " + DescribeRange(spec));
  }
  values_[static_cast<std::size_t>(found - specs_.begin())] = value;
}

bool GameParameters::GetBool(std::string_view name) const {
  const auto* value = std::get_if<bool>(&Get(name));
  METRONOME_CHECK(value != nullptr);
  return *value;
}

std::int64_t GameParameters::GetInt(std::string_view name) const {
  const auto* value = std::get_if<std::int64_t>(&Get(name));
  METRONOME_CHECK(value != nullptr);
  return *value;
}

double GameParameters::GetDouble(std::string_view name) const {
  const auto* value = std::get_if<double>(&Get(name));
  METRONOME_CHECK(value != nullptr);
  return *value;
}

const ParameterValue& GameParameters::Get(std::string_view name) const {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].name == name) return values_[i];
  }
  internal::CheckFailed(__FILE__, __LINE__, "undeclared game parameter " + std::string(name));
}

bool operator==(const GameParameters& left, const GameParameters& right) {
  return std::equal(left.specs_.begin(), left.specs_.end(), right.specs_.begin(), right.specs_.end(),
                    [](const ParameterSpec& a, const ParameterSpec& b) { return a.name == b.name; }) &&
         left.values_ == right.values_;
}

std::string FormatParameterValue(const ParameterValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  std::string text = FormatDouble(std::get<double>(value));
  // A double stays one when it is read back: "1" becomes "1.0".
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace metronome
