#include "train/run_curves.h"

#include <array>
#include <string_view>

#include "metronome/core/check.h"
#include "metronome/core/memory.h"

namespace metronome {
namespace {

/// By which TensorBoard's table compares runs.
constexpr std::array<std::string_view, 3> kMetrics = {"eval/mean_return", "episode/return",
                                                      "time/steps_per_second"};

/// Points of one record, in fixed memory.
class Points {
 public:
  void Add(std::string_view tag, double value) {
    METRONOME_CHECK_LT(count_, points_.size());
    points_[count_++] = {tag, value};
  }
  std::span<const ScalarPoint> all() const { return {points_.data(), count_}; }

 private:
  std::array<ScalarPoint, TensorboardWriter::kMaxScalars> points_;
  std::size_t count_ = 0;
};

/// A text as Markdown that is shown as it stands: a code block, indented.
std::string AsCode(std::string_view text) {
  std::string code = "    ";
  for (const char character : text) {
    code += character;
    if (character == '\n') code += "    ";
  }
  return code;
}

}  // namespace

QSamples::QSamples(std::int64_t num_actions)
    : num_actions_(num_actions), values_(static_cast<std::size_t>(num_actions * kMost)) {}

void QSamples::Clear() {
  held_ = seen_ = 0;
  period_ = 1;
}

std::span<float> QSamples::MutableValues(std::int64_t action) {
  return {values_.data() + action * kMost, static_cast<std::size_t>(kMost)};
}

std::span<const float> QSamples::values(std::int64_t action) const {
  return {values_.data() + action * kMost, static_cast<std::size_t>(held_)};
}

void QSamples::Add(std::span<const float> q_values) {
  METRONOME_DCHECK(static_cast<std::int64_t>(q_values.size()) == num_actions_);
  if (seen_++ % period_ != 0) return;
  if (held_ == kMost) {
    for (std::int64_t action = 0; action < num_actions_; ++action) {
      const std::span<float> all = MutableValues(action);
      for (std::size_t i = 0; i < all.size() / 2; ++i) all[i] = all[2 * i];
    }
    held_ /= 2;
    period_ *= 2;
  }
  for (std::int64_t action = 0; action < num_actions_; ++action) {
    MutableValues(action)[static_cast<std::size_t>(held_)] = q_values[static_cast<std::size_t>(action)];
  }
  ++held_;
}

void RunCurves::Start(const RunRequest& request, const Trainer& trainer, std::int64_t now) {
  const std::int64_t step = trainer.steps();
  for (const NamedTensor& tensor : trainer.learner().tensors()) {
    weight_tags_.push_back("weights/" + tensor.name);
  }
  for (const ActionSpec& action : trainer.game_spec().actions) q_tags_.push_back("q/" + action.name);
  if (step == 0) {
    writer_.AddHyperparameters(request.hyperparameters, kMetrics);
  } else {
    writer_.AddRestart(step);
  }
  writer_.AddText("config", step, AsCode(request.config_text));
  writer_.Flush();
  window_start_ = now;
}

void RunCurves::AddStep(const Trainer& trainer, const Trainer::StepReport& report, std::int64_t now) {
  ++window_steps_;
  window_.total.Add(report.times.total);
  window_.game.Add(report.times.game);
  // Random actions and steps without an update take next to nothing, and would hide what the others take.
  if (!report.explored) window_.act.Add(report.times.act);
  if (report.updated) {
    window_.replay.Add(report.times.replay);
    window_.update.Add(report.times.update);
  }
  if (trainer.steps() % kWindowSteps == 0) WriteWindow(trainer, now);
}

void RunCurves::WriteWindow(const Trainer& trainer, std::int64_t now) {
  constexpr double kMicrosecond = 1e3;  // in nanoseconds
  Points points;
  const auto add = [&](const DurationHistogram& times, std::string_view median, std::string_view high,
                       std::string_view most) {
    if (times.count() == 0) return;
    points.Add(median, times.QuantileNanoseconds(0.5) / kMicrosecond);
    points.Add(high, times.QuantileNanoseconds(0.99) / kMicrosecond);
    points.Add(most, static_cast<double>(times.max_nanoseconds()) / kMicrosecond);
  };
  if (now > window_start_) {
    points.Add("time/steps_per_second",
               1e9 * static_cast<double>(window_steps_) / static_cast<double>(now - window_start_));
  }
  add(window_.total, "time/step_us_p50", "time/step_us_p99", "time/step_us_max");
  add(window_.game, "time/game_us_p50", "time/game_us_p99", "time/game_us_max");
  add(window_.act, "time/act_us_p50", "time/act_us_p99", "time/act_us_max");
  add(window_.replay, "time/replay_us_p50", "time/replay_us_p99", "time/replay_us_max");
  add(window_.update, "time/update_us_p50", "time/update_us_p99", "time/update_us_max");
  points.Add("memory/resident_mib", static_cast<double>(ResidentBytes()) / (1 << 20));
  points.Add("replay/size", static_cast<double>(trainer.replay().size()));
  writer_.AddScalars(trainer.steps(), points.all());
  window_.Clear();
  window_start_ = now;
  window_steps_ = 0;
}

void RunCurves::EpisodeEnded(std::int64_t step, const FinishedEpisode& episode) {
  Points points;
  points.Add("episode/return", episode.episode_return);
  points.Add("episode/length", static_cast<double>(episode.length));
  points.Add("train/epsilon", episode.epsilon);
  if (episode.loss) points.Add("train/loss", *episode.loss);
  if (episode.q_mean) points.Add("train/q_mean", *episode.q_mean);
  if (episode.gradient_norm) points.Add("train/gradient_norm", *episode.gradient_norm);
  writer_.AddScalars(step, points.all());
}

void RunCurves::Evaluated(Trainer& trainer, const EvaluationResult& result, const QSamples& q_samples) {
  const std::int64_t step = trainer.steps();
  Points points;
  points.Add("eval/mean_return", result.mean);
  points.Add("eval/std_return", result.std);
  points.Add("eval/min_return", result.min);
  points.Add("eval/max_return", result.max);
  writer_.AddScalars(step, points.all());
  const std::span<const float> weights = trainer.learner().online();
  const std::span<const NamedTensor> tensors = trainer.learner().tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    writer_.AddHistogram(weight_tags_[i], step,
                         weights.subspan(static_cast<std::size_t>(tensors[i].offset),
                                         static_cast<std::size_t>(tensors[i].size)));
  }
  for (std::size_t i = 0; i < q_tags_.size(); ++i) {
    const std::span<const float> values = q_samples.values(static_cast<std::int64_t>(i));
    if (!values.empty()) writer_.AddHistogram(q_tags_[i], step, values);
  }
}

}  // namespace metronome
