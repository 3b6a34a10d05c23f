#ifndef METRONOME_TRAIN_RUN_CURVES_H_
#define METRONOME_TRAIN_RUN_CURVES_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "metronome/learner/learner.h"
#include "metronome/train/evaluate.h"
#include "metronome/train/run.h"
#include "metronome/train/tensorboard.h"
#include "train/run_statistics.h"
#include "train/trainer.h"

namespace metronome {

/// The Q-values of an evaluation's decisions: all of them while there are few, and else every second, fourth
/// and so on, in memory taken once (16 KiB for each action).
class QSamples : public QObserver {
 public:
  static constexpr std::int64_t kMost = 4096;  ///< Decisions kept.

  explicit QSamples(std::int64_t num_actions);
  void Clear();
  void Add(std::span<const float> q_values) override;
  /// Of one action, in the order of the decisions kept.
  std::span<const float> values(std::int64_t action) const;

 private:
  std::span<float> MutableValues(std::int64_t action);

  const std::int64_t num_actions_;
  std::vector<float> values_;  // (num_actions, kMost)
  std::int64_t held_ = 0;      // decisions
  std::int64_t seen_ = 0;
  std::int64_t period_ = 1;  // of those seen, one in so many is kept
};

/// What a run shows in TensorBoard; docs/reading-a-run.md has the list.
///   each episode's end                  episode/return, episode/length, train/epsilon, and where there were
///                                       updates train/loss, train/q_mean, train/gradient_norm
///   each evaluation                     eval/*, and histograms: weights/<tensor>, q/<action>
///   each kWindowSteps environment steps time/*, memory/resident_mib, replay/size
///   each start                          the configuration as text; the first also the settings, for
///   comparison
/// Allocates nothing but in Start() and End().
class RunCurves {
 public:
  static constexpr std::int64_t kWindowSteps = 1000;

  explicit RunCurves(const std::filesystem::path& folder) : writer_(folder) {}

  /// Where this process begins, at step 0 in a new run; `now` as MonotonicNanoseconds().
  void Start(const RunRequest& request, const Trainer& trainer, std::int64_t now);
  void AddStep(const Trainer& trainer, const Trainer::StepReport& report, std::int64_t now);
  void EpisodeEnded(std::int64_t step, const FinishedEpisode& episode);
  /// Throws Error (kNonFinite) when a weight or Q-value is not finite.
  void Evaluated(Trainer& trainer, const EvaluationResult& result, const QSamples& q_samples);
  void End() { writer_.AddEnd(); }
  void Flush() { writer_.Flush(); }
  const std::filesystem::path& path() const { return writer_.path(); }

 private:
  void WriteWindow(const Trainer& trainer, std::int64_t now);

  TensorboardWriter writer_;
  // Made once: evaluations, of which a run may have thousands, leave the heap as it is.
  std::vector<std::string> weight_tags_;
  std::vector<std::string> q_tags_;
  StepStatistics window_;  // of the steps since window_start_
  std::int64_t window_start_ = 0;
  std::int64_t window_steps_ = 0;
};

}  // namespace metronome

#endif  // METRONOME_TRAIN_RUN_CURVES_H_
