#include "games/cartpole_trace.h"

#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace metronome {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  CartpoleTrace Parse() {
    NextRecord();
    Expect(fields_[0] == "T" && fields_.size() == 5 && fields_[1] == "1" && fields_[2] == "cartpole",
           "the first record must be \"T 1 cartpole <episodes> <steps>\"");
    const std::size_t num_episodes = Count(3);
    const std::size_t num_steps = Count(4);
    std::size_t steps = 0;
    CartpoleTrace trace;
    bool has_start = true;
    for (NextRecord(); fields_[0] != "Z"; NextRecord()) {
      if (fields_[0] == "E") {
        Expect(has_start, "the episode before has no R record");
        Expect(fields_.size() == 3 && Count(1) == trace.episodes.size(),
               "E needs the next number and a label");
        trace.episodes.push_back({.label = std::string(fields_[2]), .start = {}, .steps = {}});
        has_start = false;
      } else if (fields_[0] == "R") {
        Expect(!has_start && fields_.size() == 5, "R comes once, after E, with four numbers");
        trace.episodes.back().start = StateAt(1);
        has_start = true;
      } else {
        Expect(fields_[0] == "S", "no such record");
        Expect(has_start && !trace.episodes.empty() && fields_.size() == 9,
               "S comes after R, with eight fields");
        CartpoleTrace::Step step;
        step.line = line_;
        step.action = Flag(1) ? 1 : 0;
        step.state = StateAt(2);
        step.reward = Number(6);
        step.terminated = Flag(7);
        step.truncated = Flag(8);
        trace.episodes.back().steps.push_back(step);
        ++steps;
      }
    }
    Expect(fields_.size() == 1 && position_ == text_.size(), "Z must be the last line");
    Expect(has_start, "the last episode has no R record");
    Expect(trace.episodes.size() == num_episodes, "the number of episodes is not that of T");
    Expect(steps == num_steps, "the number of steps is not that of T");
    return trace;
  }

 private:
  void Expect(bool condition, const std::string& what) const {
    if (!condition) throw std::runtime_error("trace, line " + std::to_string(line_) + ": " + what);
  }

  /// Reads lines until one is a record, and splits it.
  void NextRecord() {
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

  std::size_t Count(std::size_t field) const {
    Expect(fields_[field].size() < 10 &&
               fields_[field].find_first_not_of("0123456789") == std::string_view::npos,
           "not a count");
    return static_cast<std::size_t>(std::atol(std::string(fields_[field]).c_str()));
  }

  bool Flag(std::size_t field) const {
    Expect(fields_[field] == "0" || fields_[field] == "1", "must be 0 or 1");
    return fields_[field] == "1";
  }

  double Number(std::size_t field) const {
    const std::string text(fields_[field]);
    Expect(text.find_first_not_of("+-.0123456789eE") == std::string::npos, "not a number: " + text);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    Expect(end == text.c_str() + text.size() && std::isfinite(value), "not a number: " + text);
    return value;
  }

  Cartpole::State StateAt(std::size_t field) const {
    return {.position = Number(field),
            .velocity = Number(field + 1),
            .angle = Number(field + 2),
            .angular_velocity = Number(field + 3)};
  }

  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 0;
  std::vector<std::string_view> fields_;
};

}  // namespace

CartpoleTrace ParseCartpoleTrace(std::string_view text) { return Parser(text).Parse(); }

std::filesystem::path TraceFolder() {
  const char* const folder = std::getenv("METRONOME_TRACES");
  if (folder != nullptr && *folder != '\0') return folder;
  return std::filesystem::path(METRONOME_SOURCE_DIR) / "tests" / "golden" / "traces";
}

}  // namespace metronome
