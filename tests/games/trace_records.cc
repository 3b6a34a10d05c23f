#include "games/trace_records.h"

#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace metronome {

void TraceRecords::Expect(bool condition, std::string_view what) const {
  if (!condition) {
    throw std::runtime_error("trace, line " + std::to_string(line_) + ": " + std::string(what));
  }
}

void TraceRecords::Next() {
  std::string_view line;
  do {
    const std::size_t end = text_.find('\n', position_);
    ++line_;
    Expect(end != std::string_view::npos, "the file is cut short: no Z record, or no end of line");
    line = text_.substr(position_, end - position_);
    position_ = end + 1;
  } while (line.starts_with('#'));
  fields_.clear();
  for (std::size_t start = 0;;) {
    const std::size_t space = line.find(' ', start);
    fields_.push_back(line.substr(start, space - start));
    Expect(!fields_.back().empty(), "empty field");
    if (space == std::string_view::npos) break;
    start = space + 1;
  }
}

std::size_t TraceRecords::Count(std::size_t field) const {
  Expect(field < fields_.size(), "a field is missing");
  Expect(
      fields_[field].size() < 10 && fields_[field].find_first_not_of("0123456789") == std::string_view::npos,
      "not a count");
  return static_cast<std::size_t>(std::atol(std::string(fields_[field]).c_str()));
}

bool TraceRecords::Flag(std::size_t field) const {
  Expect(field < fields_.size(), "a field is missing");
  Expect(fields_[field] == "0" || fields_[field] == "1", "must be 0 or 1");
  return fields_[field] == "1";
}

double TraceRecords::Number(std::size_t field) const {
  Expect(field < fields_.size(), "a field is missing");
  const std::string text(fields_[field]);
  Expect(text.find_first_not_of("+-.0123456789eE") == std::string::npos, "not a number: " + text);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  Expect(end == text.c_str() + text.size() && std::isfinite(value), "not a number: " + text);
  return value;
}

std::filesystem::path TraceFolder() {
  const char* const folder = std::getenv("METRONOME_TRACES");
  if (folder != nullptr && *folder != '\0') return folder;
  return std::filesystem::path(METRONOME_SOURCE_DIR) / "tests" / "golden" / "traces";
}

}  // namespace metronome
