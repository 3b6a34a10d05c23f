#ifndef METRONOME_TRAIN_RUN_LOOP_H_
#define METRONOME_TRAIN_RUN_LOOP_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/histogram.h"
#include "metronome/core/rng.h"
#include "metronome/games/time_limit.h"
#include "metronome/train/checkpoint.h"
#include "metronome/train/evaluate.h"
#include "metronome/train/progress.h"
#include "metronome/train/run.h"
#include "train/flatness.h"
#include "train/replay_archive.h"
#include "train/run_curves.h"
#include "train/run_recordings.h"
#include "train/run_statistics.h"
#include "train/trainer.h"
#include "train/watchdog.h"

namespace metronome {

/// One run, from its folder to its summary, a step at a time.
class RunLoop {
 public:
  /// Makes everything that the run needs, its folder last. `request` must outlive the loop.
  explicit RunLoop(const RunRequest& request);
  /// Goes on from a checkpoint of the run in `request.folder`: see ResumeTraining().
  RunLoop(const RunRequest& request, const Checkpoint& checkpoint, const std::vector<std::string>& notes);
  /// On games that are not in the registry, one to train on and one for evaluations.
  RunLoop(const RunRequest& request, std::unique_ptr<Game> game, std::unique_ptr<Game> evaluation_game,
          const Watchdog::Options& watchdog = {}, const Checkpoint* checkpoint = nullptr);

  /// One environment step and what is due after it. False when there is none to do: the last step has been
  /// done, an evaluation reached eval.stop_at_return, or a stop signal came. Allocates nothing but in an
  /// evaluation, in a checkpoint and in a message to the log.
  bool Step();

  /// Saves, writes the summary and returns the exit code. Once, after the last Step().
  int Finish();

  const Trainer& trainer() const { return trainer_; }

 private:
  void LogStart();
  Trainer::StepReport StepTrainer();
  void AfterStep(const Trainer::StepReport& report, std::int64_t now);
  void Watch(const Trainer::StepReport& report, std::int64_t now);
  void NoteMemory(std::int64_t resident_bytes);
  void WriteEpisodeRow(const FinishedEpisode& episode, std::int64_t now);
  void EvaluateNow();
  void WriteEvaluationRow(const EvaluationResult& result, std::int64_t now);
  void SaveCheckpoint();
  void SaveBest();
  void ShowProgress(std::int64_t now);
  ProgressStatus Status(RunPhase phase) const;
  /// Hands the rows to the system, with `to_disk` to the disk itself. What can't be written is told once a
  /// file; whether it ends the run is log.on_error's business.
  void FlushRows(bool to_disk = false);
  /// Throws `error` again; where a number was not finite, with the recording of the episode saved.
  [[noreturn]] void Rethrow(const Error& error, const Recording& episode);
  void LogSummary();
  CheckpointState State();

  /// Where this process began: at the start of the run, or at a checkpoint.
  struct StartingPoint {
    std::int64_t step = 0;
    double wall_seconds = 0.0;
    std::optional<double> best_mean;
    std::int64_t best_step = 0;
    bool evaluation_due = false;
  };
  /// Brings trainer and streams to the checkpoint, if there is one.
  StartingPoint Restore(const Checkpoint* checkpoint);

  /// Seconds spent on the run, those before a resume included.
  double WallSeconds(std::int64_t now) const {
    return starting_point_.wall_seconds + 1e-9 * static_cast<double>(now - start_);
  }

  const RunRequest& request_;
  const RunConfig& config_;
  std::vector<std::string> notes_;  // told at the start
  Trainer trainer_;                 // before the folder: what can't run creates nothing
  TimeLimit evaluation_environment_;
  Rng evaluation_stream_;
  QSamples q_samples_;  // of the newest evaluation
  std::unique_ptr<Policy> greedy_;
  const StartingPoint starting_point_;
  std::optional<FolderLock> lock_;  // of the folder
  const std::filesystem::path folder_;
  RunRecordings recordings_;
  Progress progress_;
  AppendFile episodes_csv_;
  AppendFile evaluations_csv_;
  std::optional<RunCurves> curves_;

  ReplayArchive archive_;
  std::int64_t start_ = 0;
  std::int64_t last_flush_ = 0;
  std::int64_t rate_time_ = 0;
  std::int64_t rate_step_ = 0;
  double steps_per_second_ = 0.0;
  RecentReturns recent_returns_;
  DurationHistogram episode_steps_;  // step times of the episode in progress
  StepRate collecting_;              // before the first update
  StepRate learning_;                // from then on
  StepRate since_update_;            // the steps up to and with the next update
  StepStatistics updating_;          // of the steps with an update
  FlatnessMonitor flatness_;
  Watchdog watchdog_;
  bool has_noted_memory_ = false;  // since learning began
  std::int64_t allocations_ = 0;   // heap blocks taken in the trainer's steps once learning has begun
  std::optional<double> best_mean_ = starting_point_.best_mean;
  std::int64_t best_step_ = starting_point_.best_step;
  bool reached_stop_return_ = false;
  bool evaluation_due_ = starting_point_.evaluation_due;  // that of this step was cut short
  std::set<std::filesystem::path> told_;                  // files that can't be written
  std::int64_t last_checkpoint_step_ = -1;
  std::int64_t evaluation_nanoseconds_ = 0;
  std::int64_t checkpoint_nanoseconds_ = 0;
  std::int64_t log_nanoseconds_ = 0;  // rows, events and the live line
};

}  // namespace metronome

#endif  // METRONOME_TRAIN_RUN_LOOP_H_
