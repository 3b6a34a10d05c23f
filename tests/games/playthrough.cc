#include "games/playthrough.h"

#include <cstdint>
#include <cstdio>
#include <memory>

#include "metronome/core/rng.h"
#include "metronome/games/registry.h"
#include "metronome/games/time_limit.h"
#include "support/ascii_raster.h"

namespace metronome {
namespace {

constexpr std::int64_t kSteps = 60;
constexpr std::int64_t kStepsPerPicture = 12;
constexpr double kDisturbance = 0.1;  // share of random actions among those of the scripted player
constexpr int kColumns = 72;

std::string Short(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g", value + 0.0);  // + 0.0: no "-0"
  return text;
}

std::string HashLine(const Game& game) {
  char text[40];
  std::snprintf(text, sizeof text, "  hash %016llx", static_cast<unsigned long long>(game.StateHash()));
  return text;
}

class Playthrough {
 public:
  explicit Playthrough(std::string_view name)
      : info_(FindGame(name)),
        game_(MakeGame(name), kSteps),
        observation_(static_cast<std::size_t>(game_.game().spec().observation.size())),
        raster_(game_.game().spec().draw_width, game_.game().spec().draw_height, kColumns) {}

  std::vector<std::string> Make() {
    const GameParameters parameters(info_.parameters);
    Line("# Playthrough of " + info_.name +
         ". scripts/update_golden.sh writes it; a test compares it line by line.");
    for (std::size_t i = 0; i < parameters.specs().size(); ++i) {
      Line("parameter " + parameters.specs()[i].name + " = " + FormatParameterValue(parameters.values()[i]));
    }
    const bool scripted = info_.make_scripted_policy != nullptr;
    std::unique_ptr<ScriptedPolicy> policy;
    if (scripted) policy = info_.make_scripted_policy(parameters);
    Episode(1, policy.get());
    Episode(2, nullptr);
    Line("");
    for (const std::string& line : raster_.Legend()) Line(line);
    return lines_;
  }

 private:
  void Episode(std::uint64_t seed, ScriptedPolicy* policy) {
    Line("");
    Line("episode with seed " + std::to_string(seed) + ", actions by " +
         (policy != nullptr ? "the scripted player and some by chance" : "chance"));
    Rng rng(seed, "playthrough");
    game_.Reset(seed);
    if (policy != nullptr) policy->Reset();
    State(/*with_picture=*/true);
    double total = 0.0;
    EpisodeStep step;
    while (!step.ended()) {
      int action = 0;
      if (policy == nullptr || rng.Uniform() < kDisturbance) {
        action = static_cast<int>(rng.UniformInt(game_.game().spec().num_actions()));
      } else {
        action = policy->Act(observation_);
      }
      step = game_.Step(action);
      total += static_cast<double>(step.reward);
      Line("step " + std::to_string(game_.steps()) + ": " +
           game_.game().spec().actions[static_cast<std::size_t>(action)].name + ", reward " +
           Short(static_cast<double>(step.reward)) + (step.terminated ? ", terminated" : "") +
           (step.truncated ? ", truncated" : ""));
      State(step.ended() || game_.steps() % kStepsPerPicture == 0);
    }
    Line("return " + Short(total) + ", length " + std::to_string(game_.steps()));
  }

  void State(bool with_picture) {
    game_.game().WriteObservation(observation_);
    Line("  observation" + (game_.game().spec().observation.is_grid() ? GridText() : VectorText()));
    Line(HashLine(game_.game()));
    if (!with_picture) return;
    DrawList list;
    game_.game().Draw(list);
    game_.game().DrawOverlay(list);
    for (const std::string& row : raster_.Paint(list)) Line(std::string("    |").append(row));
  }

  std::string VectorText() const {
    std::string text;
    for (const float value : observation_) text.append(" ").append(Short(static_cast<double>(value)));
    return text;
  }

  /// Channel by channel the cells that are not 0, each as row * width + column, with its value where that is
  /// not 1.
  std::string GridText() const {
    const ObservationSpec& spec = game_.game().spec().observation;
    const std::size_t cells = observation_.size() / spec.features.size();
    std::string text;
    for (std::size_t i = 0; i < observation_.size(); ++i) {
      if (i % cells == 0) text.append(i == 0 ? " " : ", ").append(spec.features[i / cells].name);
      if (observation_[i] == 0.0f) continue;
      text.append(" ").append(std::to_string(i % cells));
      if (observation_[i] != 1.0f) text.append("=").append(Short(static_cast<double>(observation_[i])));
    }
    return text;
  }

  void Line(std::string text) { lines_.push_back(std::move(text)); }

  const GameInfo& info_;
  TimeLimit game_;
  std::vector<float> observation_;
  AsciiRaster raster_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> MakePlaythrough(std::string_view game) { return Playthrough(game).Make(); }

std::string PlaythroughPath(std::string_view game) {
  return std::string(METRONOME_SOURCE_DIR) + "/tests/golden/playthroughs/" + std::string(game) + ".txt";
}

}  // namespace metronome
