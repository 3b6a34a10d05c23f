#include "games/cartpole_trace.h"

#include <stdexcept>

#include "games/trace_records.h"

namespace metronome {
namespace {

Cartpole::State StateAt(const TraceRecords& records, std::size_t field) {
  return {.position = records.Number(field),
          .velocity = records.Number(field + 1),
          .angle = records.Number(field + 2),
          .angular_velocity = records.Number(field + 3)};
}

}  // namespace

CartpoleTrace ParseCartpoleTrace(std::string_view text) {
  TraceRecords records(text);
  records.Next();
  records.Expect(records[0] == "T" && records.size() == 5 && records[1] == "1" && records[2] == "cartpole",
                 "the first record must be \"T 1 cartpole <episodes> <steps>\"");
  const std::size_t num_episodes = records.Count(3);
  const std::size_t num_steps = records.Count(4);
  std::size_t steps = 0;
  CartpoleTrace trace;
  bool has_start = true;
  for (records.Next(); records[0] != "Z"; records.Next()) {
    if (records[0] == "E") {
      records.Expect(has_start, "the episode before has no R record");
      records.Expect(records.size() == 3 && records.Count(1) == trace.episodes.size(),
                     "E needs the next number and a label");
      trace.episodes.push_back({.label = std::string(records[2]), .start = {}, .steps = {}});
      has_start = false;
    } else if (records[0] == "R") {
      records.Expect(!has_start && records.size() == 5, "R comes once, after E, with four numbers");
      trace.episodes.back().start = StateAt(records, 1);
      has_start = true;
    } else {
      records.Expect(records[0] == "S", "no such record");
      records.Expect(has_start && !trace.episodes.empty() && records.size() == 9,
                     "S comes after R, with eight fields");
      CartpoleTrace::Step step;
      step.line = records.line();
      step.action = records.Flag(1) ? 1 : 0;
      step.state = StateAt(records, 2);
      step.reward = records.Number(6);
      step.terminated = records.Flag(7);
      step.truncated = records.Flag(8);
      trace.episodes.back().steps.push_back(step);
      ++steps;
    }
  }
  records.Expect(records.size() == 1 && records.at_end(), "Z must be the last line");
  records.Expect(has_start, "the last episode has no R record");
  records.Expect(trace.episodes.size() == num_episodes, "the number of episodes is not that of T");
  records.Expect(steps == num_steps, "the number of steps is not that of T");
  return trace;
}

}  // namespace metronome
