#include <charconv>
#include <cmath>
#include <cstdlib>

#include "app/commands.h"
#include "metronome/core/error.h"
#include "metronome/core/text.h"

namespace metronome {
namespace {

[[noreturn]] void Refuse(const std::string& flag, const std::string& text, const std::string& allowed) {
  throw Error(ExitCode::kUsage, flag + ": found \"" + text + "\", must be " + allowed);
}

}  // namespace

std::int64_t ParseIntegerFlag(const std::string& flag, const std::string& text, std::int64_t low,
                              std::int64_t high) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end || value < low || value > high) {
    Refuse(flag, text, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

double ParseNumberFlag(const std::string& flag, const std::string& text, double low, double high) {
  // strtod() also takes leading spaces, hexadecimal digits, "inf" and "nan".
  const bool plain = !text.empty() && text.find_first_not_of("+-.0123456789eE") == std::string::npos;
  char* stop = nullptr;
  const double value = plain ? std::strtod(text.c_str(), &stop) : 0.0;
  if (!plain || stop != text.c_str() + text.size() || !(value >= low && value <= high)) {
    Refuse(flag, text, "a number from " + FormatDouble(low) + " to " + FormatDouble(high));
  }
  return value;
}

}  // namespace metronome
