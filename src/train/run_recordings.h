#ifndef METRONOME_TRAIN_RUN_RECORDINGS_H_
#define METRONOME_TRAIN_RUN_RECORDINGS_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "metronome/games/recording.h"
#include "metronome/train/evaluate.h"

namespace metronome {

/// An episode kept in memory that was taken once. Keep() allocates nothing.
class KeptEpisode {
 public:
  explicit KeptEpisode(std::int64_t most_steps);
  /// REQUIRES: of at most `most_steps` steps.
  void Keep(const Recording& recording);
  void Clear() { full_ = false; }
  bool full() const { return full_; }
  double episode_return() const { return recording_.episode_return; }
  /// As a file of a game that was set up as `game`.
  void Write(const GameConfig& game, const std::filesystem::path& path) const;

 private:
  Recording recording_;  // without its game
  bool full_ = false;
};

/// The episodes in `<run>/recordings`, five files at most:
///   best.recording        the training episode with the largest return so far
///   latest.recording      the newest training episode
///   eval-best.recording   of the newest evaluation the episode with the largest return, the first of several
///   eval-worst.recording  and the one with the least
///   nonfinite.recording   the episode, of training or evaluation, that led to a number that is not finite
/// Training episodes are kept in memory and reach the disk with the next checkpoint, or at the end of the
/// run. An episode of more than kMostSteps steps is left out.
class RunRecordings : public EvaluationObserver {
 public:
  static constexpr std::int64_t kMostSteps = 100'000;  ///< A file of some 300 KiB.

  /// `game` with the run's own step limit.
  RunRecordings(std::filesystem::path run, GameConfig game);

  /// Takes the best episode of the run so far from its file, for a run that goes on. Returns a line to be
  /// told when there is a file that can't be used.
  std::optional<std::string> Restore();

  /// A training episode has ended. Returns a line to be told, once, when one is left out. Allocates nothing
  /// else.
  std::optional<std::string> EpisodeEnded(const Recording& recording);

  /// Brings the training episodes to the disk, those that are new. Throws Error (kInputOutput).
  void WriteEpisodes();
  /// And those of the evaluation that has just ended.
  void WriteEvaluation();
  /// Saves the episode that ended the run, and returns its path.
  std::filesystem::path WriteNonFinite(const Recording& recording) const;
  /// The episode in hand of the evaluation that has been begun.
  const Recording& evaluation_episode(const Game& game) { return evaluation_recorder_.recording(game); }

  // From an evaluation.
  void BeginEpisode(std::uint64_t seed) override;
  void AfterStep(int action, const EpisodeStep& step, const Game& game) override;
  void EndEpisode(const Game& game) override;
  void BeginEvaluation();

 private:
  const std::filesystem::path folder_;
  const GameConfig game_;
  std::optional<double> best_return_;
  KeptEpisode best_;
  KeptEpisode latest_;
  bool told_ = false;
  std::int64_t evaluation_steps_ = 0;  // of the episode in hand
  Recorder evaluation_recorder_;
  KeptEpisode evaluation_best_;
  KeptEpisode evaluation_worst_;
};

}  // namespace metronome

#endif  // METRONOME_TRAIN_RUN_RECORDINGS_H_
