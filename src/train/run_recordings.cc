#include "train/run_recordings.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/file.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBest = "best.recording";
constexpr const char* kLatest = "latest.recording";
constexpr const char* kEvaluationBest = "eval-best.recording";
constexpr const char* kEvaluationWorst = "eval-worst.recording";
constexpr const char* kNonFinite = "nonfinite.recording";

/// Steps to take memory for: an episode's limit, where it is a low one.
std::int64_t StepsToKeep(const GameConfig& game) {
  METRONOME_CHECK(game.max_episode_steps.has_value());
  const std::int64_t limit = *game.max_episode_steps;
  return limit > 0 ? std::min(limit, RunRecordings::kMostSteps) : RunRecordings::kMostSteps;
}

}  // namespace

KeptEpisode::KeptEpisode(std::int64_t most_steps) {
  recording_.actions.reserve(static_cast<std::size_t>(most_steps));
  recording_.hashes.reserve(static_cast<std::size_t>(most_steps / Recording::kStepsPerHash + 1));
  recording_.ending.reserve(std::string("terminated").size());
}

void KeptEpisode::Keep(const Recording& recording) {
  METRONOME_CHECK_LE(recording.actions.size(), recording_.actions.capacity());
  recording_.seed = recording.seed;
  recording_.actions = recording.actions;
  recording_.hashes = recording.hashes;
  recording_.episode_return = recording.episode_return;
  recording_.ending = recording.ending;
  full_ = true;
}

void KeptEpisode::Write(const GameConfig& game, const fs::path& path) const {
  METRONOME_CHECK(full_);
  Recording recording = recording_;
  recording.game = game;
  WriteRecording(recording, path);
}

RunRecordings::RunRecordings(fs::path run, GameConfig game)
    : folder_(std::move(run) / "recordings"),
      game_(std::move(game)),
      best_(StepsToKeep(game_)),
      latest_(StepsToKeep(game_)),
      evaluation_recorder_(game_, StepsToKeep(game_)),
      evaluation_best_(StepsToKeep(game_)),
      evaluation_worst_(StepsToKeep(game_)) {
  CreateFolders(folder_);
}

std::optional<std::string> RunRecordings::Restore() {
  std::error_code error;
  if (!fs::exists(folder_ / kBest, error)) return std::nullopt;
  try {
    best_return_ = ReadRecording(folder_ / kBest).episode_return;
  } catch (const Error& unusable) {
    return std::string(unusable.what()) + "; the run's best episode is looked for anew";
  }
  return std::nullopt;
}

std::optional<std::string> RunRecordings::EpisodeEnded(const Recording& recording) {
  if (static_cast<std::int64_t>(recording.actions.size()) > kMostSteps) {
    if (std::exchange(told_, true)) return std::nullopt;
    return "an episode of " + std::to_string(recording.actions.size()) +
           " steps is not saved as a recording, nor are others of more than " + std::to_string(kMostSteps);
  }
  latest_.Keep(recording);
  if (!best_return_ || recording.episode_return > *best_return_) {
    best_return_ = recording.episode_return;
    best_.Keep(recording);
  }
  return std::nullopt;
}

void RunRecordings::WriteEpisodes() {
  if (latest_.full()) latest_.Write(game_, folder_ / kLatest);
  if (best_.full()) best_.Write(game_, folder_ / kBest);
  latest_.Clear();
  best_.Clear();
}

fs::path RunRecordings::WriteNonFinite(const Recording& recording) const {
  Recording written = recording;
  written.game = game_;
  WriteRecording(written, folder_ / kNonFinite);
  return folder_ / kNonFinite;
}

void RunRecordings::BeginEvaluation() {
  evaluation_best_.Clear();
  evaluation_worst_.Clear();
}

void RunRecordings::BeginEpisode(std::uint64_t seed) {
  evaluation_steps_ = 0;
  evaluation_recorder_.Begin(seed);
}

void RunRecordings::AfterStep(int action, const EpisodeStep& step, const Game& game) {
  // Beyond the limit nothing more is kept in memory.
  if (++evaluation_steps_ <= kMostSteps) evaluation_recorder_.Add(action, step, game);
}

void RunRecordings::EndEpisode(const Game& game) {
  if (evaluation_steps_ > kMostSteps) return;
  const Recording& recording = evaluation_recorder_.recording(game);
  if (!evaluation_best_.full() || recording.episode_return > evaluation_best_.episode_return()) {
    evaluation_best_.Keep(recording);
  }
  if (!evaluation_worst_.full() || recording.episode_return < evaluation_worst_.episode_return()) {
    evaluation_worst_.Keep(recording);
  }
}

void RunRecordings::WriteEvaluation() {
  if (!evaluation_best_.full()) return;
  evaluation_best_.Write(game_, folder_ / kEvaluationBest);
  evaluation_worst_.Write(game_, folder_ / kEvaluationWorst);
}

}  // namespace metronome
