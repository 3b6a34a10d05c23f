#include "metronome/core/text.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <vector>

#include "metronome/core/check.h"

namespace metronome {
namespace {

char Folded(char character) { return character == '-' ? '_' : character; }

/// Damerau-Levenshtein distance with neighbouring swaps, three rows at a time.
std::size_t EditDistance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> before(right.size() + 1);
  std::vector<std::size_t> previous(right.size() + 1);
  std::vector<std::size_t> current(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const bool same = Folded(left[i - 1]) == Folded(right[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && Folded(left[i - 1]) == Folded(right[j - 2]) &&
                           Folded(left[i - 2]) == Folded(right[j - 1]);
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[right.size()];
}

}  // namespace

std::string NearestName(std::string_view name, std::span<const std::string> candidates) {
  METRONOME_CHECK(!candidates.empty());
  return *std::min_element(candidates.begin(), candidates.end(),
                           [name](const std::string& left, const std::string& right) {
                             return EditDistance(name, left) < EditDistance(name, right);
                           });
}

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

std::string FormatDouble(double value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  METRONOME_CHECK(error == std::errc());
  return std::string(digits, end);
}

std::string FormatFixed(double value, int decimals) {
  const int length = std::snprintf(nullptr, 0, "%.*f", decimals, value);
  METRONOME_CHECK_GE(length, 0);
  std::string text(static_cast<std::size_t>(length), '\0');
  std::snprintf(text.data(), text.size() + 1, "%.*f", decimals, value);
  return text;
}

std::string FormatHexadecimal(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

std::string FormatCount(std::int64_t count, std::string_view noun) {
  std::string text = std::to_string(count);
  text += ' ';
  text += noun;
  if (count != 1) text += 's';
  return text;
}

}  // namespace metronome
