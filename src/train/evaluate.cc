#include "metronome/train/evaluate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/stop_signal.h"
#include "metronome/games/time_limit.h"

namespace metronome {
namespace {

class GreedyPolicy : public Policy {
 public:
  GreedyPolicy(Learner& learner, std::int64_t num_actions, double epsilon, Rng exploration,
               QObserver* observer)
      : learner_(learner),
        epsilon_(epsilon),
        exploration_(exploration),
        observer_(observer),
        q_values_(static_cast<std::size_t>(num_actions)) {}

  int Act(std::span<const float> observation) override {
    if (epsilon_ > 0.0 && exploration_.Uniform() < epsilon_) {
      return static_cast<int>(exploration_.UniformInt(static_cast<std::int64_t>(q_values_.size())));
    }
    learner_.QValues(observation, q_values_);
    if (observer_ != nullptr) observer_->Add(q_values_);
    return static_cast<int>(std::max_element(q_values_.begin(), q_values_.end()) - q_values_.begin());
  }

 private:
  Learner& learner_;
  const double epsilon_;
  Rng exploration_;
  QObserver* const observer_;
  std::vector<float> q_values_;
};

class RandomPolicy : public Policy {
 public:
  RandomPolicy(std::int64_t num_actions, Rng exploration)
      : num_actions_(num_actions), exploration_(exploration) {}
  int Act(std::span<const float>) override { return static_cast<int>(exploration_.UniformInt(num_actions_)); }

 private:
  const std::int64_t num_actions_;
  Rng exploration_;
};

class GameScriptedPolicy : public Policy {
 public:
  explicit GameScriptedPolicy(std::unique_ptr<ScriptedPolicy> player) : player_(std::move(player)) {}
  void BeginEpisode() override { player_->Reset(); }
  int Act(std::span<const float> observation) override { return player_->Act(observation); }

 private:
  std::unique_ptr<ScriptedPolicy> player_;
};

void Summarise(EvaluationResult& result) {
  const auto count = static_cast<double>(result.episodes.size());
  result.min = result.max = result.episodes.front().episode_return;
  for (const EpisodeOutcome& episode : result.episodes) {
    result.mean += episode.episode_return / count;
    result.min = std::min(result.min, episode.episode_return);
    result.max = std::max(result.max, episode.episode_return);
  }
  double squares = 0.0;
  for (const EpisodeOutcome& episode : result.episodes) {
    squares += (episode.episode_return - result.mean) * (episode.episode_return - result.mean);
  }
  result.std = std::sqrt(squares / count);
}

}  // namespace

std::unique_ptr<Policy> MakeGreedyPolicy(Learner& learner, std::int64_t num_actions, double epsilon,
                                         Rng exploration, QObserver* observer) {
  return std::make_unique<GreedyPolicy>(learner, num_actions, epsilon, exploration, observer);
}

std::unique_ptr<Policy> MakeRandomPolicy(std::int64_t num_actions, Rng exploration) {
  return std::make_unique<RandomPolicy>(num_actions, exploration);
}

std::unique_ptr<Policy> MakeScriptedPolicy(const GameConfig& game) {
  const GameInfo& info = FindGame(game.name);
  if (info.make_scripted_policy == nullptr) {
    throw Error(ExitCode::kUsage,
                "--policy scripted: " + game.name + " has no scripted player (allowed: random)");
  }
  return std::make_unique<GameScriptedPolicy>(info.make_scripted_policy(game.parameters));
}

std::optional<EvaluationResult> Evaluate(const GameConfig& game, Policy& policy, std::int64_t episodes,
                                         Rng& seeds) {
  TimeLimit environment(game);
  return Evaluate(environment, policy, episodes, seeds);
}

std::optional<EvaluationResult> Evaluate(TimeLimit& environment, Policy& policy, std::int64_t episodes,
                                         Rng& seeds, EvaluationObserver* observer) {
  METRONOME_CHECK_GT(episodes, 0);
  std::vector<float> observation(static_cast<std::size_t>(environment.game().spec().observation.size()));
  EvaluationResult result;
  result.episodes.reserve(static_cast<std::size_t>(episodes));
  for (std::int64_t number = 1; number <= episodes; ++number) {
    EpisodeOutcome outcome;
    outcome.seed = seeds.NextBits();
    environment.Reset(outcome.seed);
    policy.BeginEpisode();
    if (observer != nullptr) observer->BeginEpisode(outcome.seed);
    for (EpisodeStep step; !step.ended();) {
      // Looked at in each step, since a game without a time limit may go on forever.
      if (StopSignal::received() != 0) return std::nullopt;
      environment.game().WriteObservation(observation);
      const bool finite_observation = std::all_of(observation.begin(), observation.end(),
                                                  [](float value) { return std::isfinite(value); });
      int action = 0;
      if (finite_observation) {
        action = policy.Act(observation);
        step = environment.Step(action);
      }
      if (!finite_observation || !std::isfinite(step.reward)) {
        throw Error(ExitCode::kNonFinite, "evaluation episode " + std::to_string(number) + ", step " +
                                              std::to_string(environment.steps()) + ": the " +
                                              (finite_observation ? "reward" : "observation") +
                                              " is not finite");
      }
      outcome.episode_return += static_cast<double>(step.reward);
      outcome.terminated = step.terminated;
      if (observer != nullptr) observer->AfterStep(action, step, environment.game());
    }
    if (observer != nullptr) observer->EndEpisode(environment.game());
    outcome.length = environment.steps();
    result.episodes.push_back(outcome);
  }
  Summarise(result);
  return result;
}

}  // namespace metronome
