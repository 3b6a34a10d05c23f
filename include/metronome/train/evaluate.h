#ifndef METRONOME_TRAIN_EVALUATE_H_
#define METRONOME_TRAIN_EVALUATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "metronome/core/rng.h"
#include "metronome/games/game.h"
#include "metronome/games/registry.h"
#include "metronome/games/time_limit.h"
#include "metronome/learner/learner.h"

namespace metronome {

/// Whoever chooses the actions of an evaluation.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual void BeginEpisode() {}
  virtual int Act(std::span<const float> observation) = 0;
};

/// Sees the Q-values of each greedy decision.
class QObserver {
 public:
  virtual ~QObserver() = default;
  virtual void Add(std::span<const float> q_values) = 0;
};

/// The action with the largest Q-value (the first of several), or with probability `epsilon` any action.
/// The learner and the observer must outlive it.
std::unique_ptr<Policy> MakeGreedyPolicy(Learner& learner, std::int64_t num_actions, double epsilon,
                                         Rng exploration, QObserver* observer = nullptr);
/// Any action, each equally likely.
std::unique_ptr<Policy> MakeRandomPolicy(std::int64_t num_actions, Rng exploration);
/// The game's scripted player.  Throws Error (kUsage) when it has none.
std::unique_ptr<Policy> MakeScriptedPolicy(const GameConfig& game);

struct EpisodeOutcome {
  std::uint64_t seed = 0;  ///< What Reset() was given.
  double episode_return = 0.0;
  std::int64_t length = 0;  ///< Steps.
  bool terminated = false;  ///< Else truncated.
};

/// Of the returns of `episodes`, which are never empty. `std` is over these episodes (divided by their
/// number).
struct EvaluationResult {
  std::vector<EpisodeOutcome> episodes;
  double mean = 0.0;
  double std = 0.0;
  double min = 0.0;
  double max = 0.0;
};

/// Sees every step of an evaluation, for whoever records it.
class EvaluationObserver {
 public:
  virtual ~EvaluationObserver() = default;
  virtual void BeginEpisode(std::uint64_t seed) = 0;
  virtual void AfterStep(int action, const EpisodeStep& step, const Game& game) = 0;
  virtual void EndEpisode(const Game& game) = 0;
};

/// Plays whole episodes on `environment`, or on a game of its own; each one's seed is the next number of
/// `seeds`. Changes nothing but `seeds` and the policy. Empty when a stop signal came before the last episode
/// ended.  REQUIRES: episodes > 0. Throws Error (kNonFinite) that names episode and step when a reward or
/// observation is not finite.
std::optional<EvaluationResult> Evaluate(TimeLimit& environment, Policy& policy, std::int64_t episodes,
                                         Rng& seeds, EvaluationObserver* observer = nullptr);
std::optional<EvaluationResult> Evaluate(const GameConfig& game, Policy& policy, std::int64_t episodes,
                                         Rng& seeds);

}  // namespace metronome

#endif  // METRONOME_TRAIN_EVALUATE_H_
