#include "metronome/games/time_limit.h"

#include <utility>

#include "metronome/core/check.h"

namespace metronome {

TimeLimit::TimeLimit(std::unique_ptr<Game> game, std::int64_t max_steps)
    : game_(std::move(game)), max_steps_(max_steps) {
  METRONOME_CHECK(game_ != nullptr);
  METRONOME_CHECK_GE(max_steps_, 0);
}

TimeLimit::TimeLimit(const GameConfig& config)
    : game_(MakeGame(config.name, config.parameters)),
      max_steps_(config.max_episode_steps.value_or(game_->spec().default_max_episode_steps)) {
  METRONOME_CHECK_GE(max_steps_, 0);
}

void TimeLimit::Reset(std::uint64_t seed) {
  game_->Reset(seed);
  steps_ = 0;
  ended_ = false;
}

EpisodeStep TimeLimit::Step(int action) {
  METRONOME_CHECK(!ended_);
  const StepResult result = game_->Step(action);
  ++steps_;
  EpisodeStep step;
  step.reward = result.reward;
  step.terminated = result.terminated;
  step.truncated = max_steps_ > 0 && steps_ >= max_steps_;
  ended_ = step.ended();
  return step;
}

}  // namespace metronome
