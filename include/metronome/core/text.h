#ifndef METRONOME_CORE_TEXT_H_
#define METRONOME_CORE_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace metronome {

/// Of `candidates` (not empty) the one nearest to `name` by edits (insert, delete, replace, swap of
/// neighbours; '-' and '_' count as the same), the first of several equally near: what a typo most likely
/// meant.
std::string NearestName(std::string_view name, std::span<const std::string> candidates);

/// "a, b, c".
std::string Join(std::span<const std::string> parts, std::string_view separator = ", ");

/// The shortest decimal text that reads back to the same double ("0.1", "5e-04", "1"); "nan", "inf".
std::string FormatDouble(double value);

/// With so many digits after the point: "17.25".
std::string FormatFixed(double value, int decimals);

/// 16 digits: "00ff00ff00ff00ff".
std::string FormatHexadecimal(std::uint64_t value);

/// "1 thread", "2 threads".
std::string FormatCount(std::int64_t count, std::string_view noun);

}  // namespace metronome

#endif  // METRONOME_CORE_TEXT_H_
