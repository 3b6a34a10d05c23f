#include "games/minatar/minatar_trace.h"

#include <cstdlib>

#include "games/trace_records.h"

namespace metronome {
namespace {

constexpr int kMaxChannels = 100;

class Parser {
 public:
  explicit Parser(std::string_view text) : records_(text) {}

  MinatarTrace Parse() {
    records_.Next();
    records_.Expect(records_[0] == "T" && records_.size() == 6 && records_[1] == "1",
                    "the first record must be \"T 1 <game> <channels> <episodes> <steps>\"");
    trace_.game = std::string(records_[2]);
    trace_.channels = static_cast<int>(records_.Count(3));
    records_.Expect(trace_.channels > 0 && trace_.channels <= kMaxChannels, "no number of channels");
    const std::size_t num_episodes = records_.Count(4);
    const std::size_t num_steps = records_.Count(5);
    std::size_t steps = 0;
    bool has_start = true;
    for (records_.Next(); records_[0] != "Z"; records_.Next()) {
      if (records_[0] == "E") {
        records_.Expect(has_start, "the episode before has no R record");
        ParseEpisode();
        has_start = false;
      } else if (records_[0] == "R") {
        records_.Expect(!has_start, "R comes once, after E");
        trace_.episodes.back().start = ParseMoment(1);
        has_start = true;
      } else {
        records_.Expect(records_[0] == "S", "no such record");
        records_.Expect(has_start && !trace_.episodes.empty(), "S comes after R");
        ParseStep();
        ++steps;
      }
    }
    records_.Expect(records_.size() == 1 && records_.at_end(), "Z must be the last line");
    records_.Expect(has_start, "the last episode has no R record");
    records_.Expect(trace_.episodes.size() == num_episodes, "the number of episodes is not that of T");
    records_.Expect(steps == num_steps, "the number of steps is not that of T");
    return std::move(trace_);
  }

 private:
  void ParseEpisode() {
    records_.Expect(records_.size() == 6 && records_.Count(1) == trace_.episodes.size(),
                    "E needs the next number and four fields more");
    records_.Expect(records_[2] == "new" || records_[2] == "same", "must be \"new\" or \"same\"");
    MinatarTrace::Episode episode;
    episode.is_new = records_[2] == "new";
    records_.Expect(episode.is_new || !trace_.episodes.empty(), "there is no episode to go on from");
    episode.options.difficulty_ramping = records_.Flag(3);
    episode.options.sticky_action_probability = records_.Number(4);
    episode.label = std::string(records_[5]);
    trace_.episodes.push_back(episode);
  }

  void ParseStep() {
    MinatarTrace::Step step;
    step.requested = ParseAction(1);
    step.executed = ParseAction(2);
    step.reward = static_cast<int>(records_.Count(3));
    step.terminated = records_.Flag(4);
    step.after = ParseMoment(5);
    trace_.episodes.back().steps.push_back(step);
  }

  MinatarAction ParseAction(std::size_t field) const {
    const std::size_t action = records_.Count(field);
    records_.Expect(action < 6, "no such action");
    return static_cast<MinatarAction>(action);
  }

  /// The draws and the observation, which begin at a field and end the record.
  MinatarTrace::Moment ParseMoment(std::size_t field) const {
    MinatarTrace::Moment moment;
    moment.line = records_.line();
    const std::size_t num_draws = records_.Count(field++);
    for (std::size_t i = 0; i < num_draws; ++i) {
      records_.Expect(field < records_.size(), "a draw is missing");
      MinatarTrace::Draw draw;
      draw.is_integer = records_[field] == "i";
      if (draw.is_integer) {
        draw.low = static_cast<int>(records_.Count(field + 1));
        draw.high = static_cast<int>(records_.Count(field + 2));
        draw.value = static_cast<int>(records_.Count(field + 3));
        records_.Expect(draw.low <= draw.value && draw.value < draw.high, "a draw outside its range");
        field += 4;
      } else {
        records_.Expect(records_[field] == "u", "a draw is \"u\" or \"i\"");
        draw.uniform = records_.Number(field + 1);
        records_.Expect(draw.uniform >= 0.0 && draw.uniform < 1.0, "a draw outside its range");
        field += 2;
      }
      moment.draws.push_back(draw);
    }
    records_.Expect(field + 1 == records_.size(), "the observation must be the last field");
    moment.observation = ParseObservation(records_[field]);
    return moment;
  }

  std::vector<std::uint8_t> ParseObservation(std::string_view digits) const {
    const auto channels = static_cast<std::size_t>(trace_.channels);
    records_.Expect(digits.size() == 25 * channels, "the observation has another number of digits");
    records_.Expect(digits.find_first_not_of("0123456789abcdef") == std::string_view::npos,
                    "the observation is not hexadecimal");
    std::vector<std::uint8_t> observation(CellSet::kCells * channels);
    for (std::size_t bit = 0; bit < observation.size(); ++bit) {
      const char digit = digits[bit / 4];
      const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
      const std::size_t cell = bit / channels;
      const std::size_t channel = bit % channels;
      observation[CellSet::kCells * channel + cell] = static_cast<std::uint8_t>(value >> (3 - bit % 4) & 1);
    }
    return observation;
  }

  TraceRecords records_;
  MinatarTrace trace_;
};

}  // namespace

MinatarTrace ParseMinatarTrace(std::string_view text) { return Parser(text).Parse(); }

}  // namespace metronome
