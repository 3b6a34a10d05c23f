#include "train/run_loop.h"

#include <charconv>
#include <cstdio>
#include <utility>
#include <vector>

#include "metronome/core/allocation_counter.h"
#include "metronome/core/clock.h"
#include "metronome/core/error.h"
#include "metronome/core/memory.h"
#include "metronome/core/stop_signal.h"
#include "train/csv_row.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFlushNanoseconds =
    1'000'000'000;                                        // a kill loses at most the last two seconds of rows
constexpr std::int64_t kRateNanoseconds = 1'000'000'000;  // over which the live line's steps/s is taken

double Seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

template <typename... Values>
std::string Format(const char* format, Values... values) {
  std::array<char, 512> text;
  const int length = std::snprintf(text.data(), text.size(), format, values...);
  return {text.data(), static_cast<std::size_t>(std::clamp(length, 0, static_cast<int>(text.size()) - 1))};
}

constexpr const char* kEpisodesHeader =
    "step,episode,return,length,ending,epsilon,loss,q_mean,updates,target_syncs,step_us_p50,step_us_p99,"
    "step_us_max,rss_kib,replay_size,wall_s\n";
constexpr const char* kEvaluationsHeader = "step,episodes,mean,std,min,max,wall_s\n";

/// Creates the run's folder and returns its path.
fs::path MakeRunFolder(const RunRequest& request) {
  if (!request.folder.empty()) {
    if (CreateNewFolder(request.folder)) return request.folder;
    throw Error(ExitCode::kUsage, "--run " + request.folder.string() +
                                      ": exists already; an existing run is never overwritten");
  }
  for (std::int64_t number = 1;; ++number) {
    const fs::path folder = fs::path("runs") / (request.config.game.name + "-" + std::to_string(number));
    if (CreateNewFolder(folder)) return folder;
  }
}

/// Takes from a table, in whole, the rows that came after `step` (its first column), and a last row that was
/// cut.
void DropRowsAfter(const fs::path& path, std::int64_t step, const char* header) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    WriteFileWhole(path, header);
    return;
  }
  const std::string table = ReadFile(path);
  std::string kept = header;
  std::size_t at = table.find('\n');
  if (at == std::string::npos || table.substr(0, at + 1) != header) {
    throw Error(ExitCode::kBadCheckpoint, path.string() + ": its first line is not that of this version");
  }
  for (++at; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    if (end == std::string::npos) break;
    std::int64_t row_step = 0;
    const auto [unused, failure] = std::from_chars(table.data() + at, table.data() + end, row_step);
    if (failure != std::errc() || row_step > step) break;
    kept.append(table, at, end + 1 - at);
    at = end + 1;
  }
  if (kept != table) WriteFileWhole(path, kept);
}

/// The run's folder, its tables as they stood at the checkpoint.
fs::path PrepareRunFolder(const RunRequest& request, const Checkpoint* checkpoint,
                          std::optional<FolderLock>& lock) {
  if (checkpoint == nullptr) {
    const fs::path folder = MakeRunFolder(request);
    lock.emplace(folder);
    WriteFileWhole(folder / "episodes.csv", kEpisodesHeader);
    WriteFileWhole(folder / "evals.csv", kEvaluationsHeader);
    CreateFolders(folder / "checkpoints");
    return folder;
  }
  lock.emplace(request.folder);
  for (const char* part : {"", "checkpoints", "recordings"}) {
    WholeFolder::RemoveTemporaries(request.folder / part);
  }
  DropRowsAfter(request.folder / "episodes.csv", checkpoint->state.trainer.steps, kEpisodesHeader);
  DropRowsAfter(request.folder / "evals.csv", checkpoint->state.trainer.steps, kEvaluationsHeader);
  DropEventsAfter(request.folder, checkpoint->state.trainer.steps);
  return request.folder;
}

/// `game` with the limit that holds in this run.
GameConfig WithLimit(GameConfig game, std::int64_t max_steps) {
  game.max_episode_steps = max_steps;
  return game;
}

}  // namespace

RunLoop::RunLoop(const RunRequest& request)
    : RunLoop(request, MakeGame(request.config.game.name, request.config.game.parameters),
              MakeGame(request.config.game.name, request.config.game.parameters)) {}

RunLoop::RunLoop(const RunRequest& request, const Checkpoint& checkpoint,
                 const std::vector<std::string>& notes)
    : RunLoop(request, MakeGame(request.config.game.name, request.config.game.parameters),
              MakeGame(request.config.game.name, request.config.game.parameters), {}, &checkpoint) {
  notes_ = notes;
}

RunLoop::RunLoop(const RunRequest& request, std::unique_ptr<Game> game, std::unique_ptr<Game> evaluation_game,
                 const Watchdog::Options& watchdog, const Checkpoint* checkpoint)
    : request_(request),
      config_(request.config),
      trainer_(config_, std::move(game)),
      evaluation_environment_(std::move(evaluation_game), trainer_.max_episode_steps()),
      evaluation_stream_(static_cast<std::uint64_t>(config_.train.seed), "evaluation"),
      q_samples_(trainer_.network_spec().num_actions),
      greedy_(MakeGreedyPolicy(trainer_.learner(), trainer_.network_spec().num_actions, 0.0, Rng(0),
                               &q_samples_)),
      starting_point_(Restore(checkpoint)),
      folder_(PrepareRunFolder(request, checkpoint, lock_)),
      recordings_(folder_, WithLimit(config_.game, trainer_.max_episode_steps())),
      progress_({.log_file = folder_ / "log.txt",
                 .level = request.log_level,
                 .stop_on_error = config_.log.on_error == OnLogError::kStop}),
      episodes_csv_(folder_ / "episodes.csv"),
      evaluations_csv_(folder_ / "evals.csv"),
      archive_(trainer_.replay()),
      watchdog_(watchdog) {
  if (checkpoint != nullptr) {
    archive_.Adopt(checkpoint->path, checkpoint->parts);
    if (const auto message = recordings_.Restore()) progress_.Warn(*message);
    last_checkpoint_step_ = starting_point_.step;
  }
  WriteFileWhole(folder_ / "config.toml", request.config_text);
  if (config_.log.tensorboard) curves_.emplace(folder_);
}

RunLoop::StartingPoint RunLoop::Restore(const Checkpoint* checkpoint) {
  if (checkpoint == nullptr) return {};
  const std::string name = checkpoint->path.string();
  const CheckpointState& state = checkpoint->state;
  if (!state.replay) {
    throw Error(ExitCode::kBadCheckpoint, name + ": holds no replay, so a run can't go on from it");
  }
  RestoreLearner(*checkpoint, config_.game.name, trainer_.network_spec(), trainer_.learner());
  RestoreReplay(checkpoint->path, checkpoint->parts, state.replay->added, state.replay->size,
                trainer_.network_spec().num_actions, trainer_.mutable_replay());
  trainer_.RestoreState(state.trainer, name);
  const auto evaluation = state.trainer.streams.find("evaluation");
  if (evaluation == state.trainer.streams.end()) {
    throw Error(ExitCode::kBadCheckpoint, name + ": has no stream \"evaluation\"");
  }
  evaluation_stream_ = Rng::FromState(evaluation->second);
  return {state.trainer.steps, state.wall_seconds, state.best_mean, state.best_step, state.evaluation_due};
}

bool RunLoop::Step() {
  if (start_ == 0) {
    start_ = last_flush_ = rate_time_ = MonotonicNanoseconds();
    rate_step_ = trainer_.steps();
    LogStart();
    if (curves_) curves_->Start(request_, trainer_, start_);
    if (evaluation_due_ && config_.eval.period > 0) EvaluateNow();
  }
  if (trainer_.steps() >= config_.train.steps || reached_stop_return_ || StopSignal::received() != 0)
    return false;
  try {
    const AllocationScope allocations;
    const bool was_learning = trainer_.learner().updates() > 0;
    const Trainer::StepReport report = StepTrainer();
    // The first update makes what a learner makes once.
    if (was_learning) allocations_ += allocations.count();
    AfterStep(report, MonotonicNanoseconds());
  } catch (const Error&) {
    // The rows so far tell how it came to this; what went wrong is told by the error.
    try {
      FlushRows();
    } catch (const Error&) {
      // One reason is enough, and it is not this one.
    }
    progress_.Finish();
    throw;
  }
  return true;
}

Trainer::StepReport RunLoop::StepTrainer() {
  try {
    return trainer_.Step();
  } catch (const Error& error) {
    Rethrow(error, trainer_.episode_recording());
  }
}

void RunLoop::Rethrow(const Error& error, const Recording& episode) {
  if (error.code() != ExitCode::kNonFinite) throw error;
  std::string what = error.what();
  try {
    what += "; the episode up to there is " + recordings_.WriteNonFinite(episode).string();
  } catch (const Error& unwritten) {
    what += "; the episode is not saved: " + std::string(unwritten.what());
  }
  throw Error(error.code(), what);
}

int RunLoop::Finish() {
  if (curves_ && StopSignal::received() == 0) curves_->End();
  FlushRows();
  if (last_checkpoint_step_ != trainer_.steps()) SaveCheckpoint();
  progress_.Redraw(Status(RunPhase::kLearning));
  progress_.Finish();
  LogSummary();
  if (const int signal = StopSignal::received(); signal != 0) return 128 + signal;
  if (trainer_.learner().updates() == 0) {
    throw Error(ExitCode::kUsage, folder_.string() + ": the run ended at step " +
                                      std::to_string(trainer_.steps()) +
                                      " without a single update: it has learned nothing");
  }
  return static_cast<int>(ExitCode::kDone);
}

void RunLoop::LogStart() {
  const GameSpec& game = trainer_.game_spec();
  std::int64_t parameters = 0;
  for (const NamedTensor& tensor : trainer_.learner().tensors()) parameters += tensor.size;
  progress_.Info("run folder " + folder_.string());
  for (const std::string& note : notes_) progress_.Warn(note);
  if (starting_point_.step > 0) {
    progress_.Info(Format("goes on from step %lld, update %lld, with %lld transitions in the replay",
                          static_cast<long long>(starting_point_.step),
                          static_cast<long long>(trainer_.learner().updates()),
                          static_cast<long long>(trainer_.replay().size())));
  }
  progress_.Info(Format("game %s: observation of %lld, %d actions; network of %lld parameters",
                        game.name.c_str(), static_cast<long long>(game.observation.size()),
                        game.num_actions(), static_cast<long long>(parameters)));
  for (const std::string& note : trainer_.learner().notes()) {
    const bool is_warning = note.starts_with("warning: ");
    is_warning ? progress_.Warn(note.substr(9)) : progress_.Info(note);
  }
  progress_.Info("learner: " + trainer_.learner().description());
  progress_.Info(Format("replay: %lld transitions, %lld bytes (%s), taken now",
                        static_cast<long long>(trainer_.replay().capacity()),
                        static_cast<long long>(trainer_.replay().bytes()),
                        FormatBytes(trainer_.replay().bytes()).c_str()));
  progress_.Info("checkpoints: up to " + FormatBytes(MostCheckpointBytes(config_, game)) + " of disk");
}

void RunLoop::AfterStep(const Trainer::StepReport& report, std::int64_t now) {
  episode_steps_.Add(report.times.total);
  const bool learns = trainer_.learner().updates() > 0;
  (learns ? learning_ : collecting_).Add(report.times.total);
  if (report.updated) updating_.Add(report.times);
  if (curves_) curves_->AddStep(trainer_, report, now);
  // The learning phase begins with the first update; where an update is due only every few steps, those
  // between belong to it as well.
  if (learns) {
    // Episodes may be long, and the first tenth of the learning has a memory of its own.
    if (!has_noted_memory_) NoteMemory(ResidentBytes());
    // A step with its share of the update: among steps of two kinds the median is that of the commoner.
    since_update_.Add(report.times.total);
    if (report.updated) {
      flatness_.AddStep(static_cast<std::int64_t>(since_update_.MeanNanoseconds()));
      since_update_ = {};
    }
    Watch(report, now);
  }
  if (report.finished != nullptr) {
    recent_returns_.Add(report.finished->episode_return);
    if (const auto message = recordings_.EpisodeEnded(trainer_.episode_recording())) progress_.Warn(*message);
    WriteEpisodeRow(*report.finished, now);
    episode_steps_.Clear();
  }
  if (now - last_flush_ >= kFlushNanoseconds) {
    FlushRows();
    last_flush_ = now;
  }
  if (progress_.Due(now)) ShowProgress(now);
  log_nanoseconds_ += MonotonicNanoseconds() - now;

  const std::int64_t step = trainer_.steps();
  if (config_.eval.period > 0 && step % config_.eval.period == 0) EvaluateNow();
  if (config_.checkpoint.period > 0 && step % config_.checkpoint.period == 0) SaveCheckpoint();
}

void RunLoop::Watch(const Trainer::StepReport& report, std::int64_t now) {
  const auto watch = [&](Phase phase, std::int64_t nanoseconds) {
    if (const auto message = watchdog_.Add(phase, nanoseconds, trainer_.steps(), now))
      progress_.Warn(*message);
  };
  watch(Phase::kGame, report.times.game);
  // Random actions and steps without an update take next to nothing: mixed in, they would hide what the
  // others take.
  if (!report.explored) watch(Phase::kAct, report.times.act);
  if (!report.updated) return;
  watch(Phase::kReplay, report.times.replay);
  watch(Phase::kUpdate, report.times.update);
}

void RunLoop::NoteMemory(std::int64_t resident_bytes) {
  if (trainer_.learner().updates() == 0) return;
  has_noted_memory_ = true;
  flatness_.AddMemory(resident_bytes);
  if (const auto message = watchdog_.AddMemory(resident_bytes, trainer_.steps())) progress_.Warn(*message);
}

void RunLoop::WriteEpisodeRow(const FinishedEpisode& episode, std::int64_t now) {
  const std::int64_t resident = ResidentBytes();
  NoteMemory(resident);
  constexpr double kNanosecondsPerMicrosecond = 1000.0;
  CsvRow row;
  row.Add(trainer_.steps())
      .Add(episode.number)
      .Add(episode.episode_return)
      .Add(episode.length)
      .Add(std::string_view(episode.terminated ? "terminated" : "truncated"))
      .Add(episode.epsilon)
      .Add(episode.loss)
      .Add(episode.q_mean)
      .Add(trainer_.learner().updates())
      .Add(trainer_.learner().target_syncs())
      .Add(episode_steps_.QuantileNanoseconds(0.5) / kNanosecondsPerMicrosecond, 3)
      .Add(episode_steps_.QuantileNanoseconds(0.99) / kNanosecondsPerMicrosecond, 3)
      .Add(static_cast<double>(episode_steps_.max_nanoseconds()) / kNanosecondsPerMicrosecond, 3)
      .Add(resident / 1024)
      .Add(trainer_.replay().size())
      .Add(WallSeconds(now), 3);
  episodes_csv_.Append(row.Finish());
  if (progress_.debugs()) {
    progress_.Debug(Format("step %lld: episode %lld %s after %lld steps, return %.2f",
                           static_cast<long long>(trainer_.steps()), static_cast<long long>(episode.number),
                           episode.terminated ? "terminated" : "truncated",
                           static_cast<long long>(episode.length), episode.episode_return));
  }
  if (curves_) curves_->EpisodeEnded(trainer_.steps(), episode);
}

void RunLoop::EvaluateNow() {
  const std::int64_t begin = MonotonicNanoseconds();
  progress_.Redraw(Status(RunPhase::kEvaluating));
  recordings_.BeginEvaluation();
  q_samples_.Clear();
  const Rng stream_before = evaluation_stream_;
  std::optional<EvaluationResult> result;
  try {
    result =
        Evaluate(evaluation_environment_, *greedy_, config_.eval.episodes, evaluation_stream_, &recordings_);
  } catch (const Error& error) {
    Rethrow(error, recordings_.evaluation_episode(evaluation_environment_.game()));
  }
  const std::int64_t end = MonotonicNanoseconds();
  evaluation_nanoseconds_ += end - begin;
  evaluation_due_ = !result;
  if (!result) {  // a stop signal cut it short
    evaluation_stream_ = stream_before;
    return;
  }
  WriteEvaluationRow(*result, end);
  recordings_.WriteEvaluation();
  const bool is_best = !best_mean_ || result->mean > *best_mean_;
  progress_.Info(Format("step %lld: evaluation over %zu episodes: mean %.2f, std %.2f, min %.2f, max %.2f%s",
                        static_cast<long long>(trainer_.steps()), result->episodes.size(), result->mean,
                        result->std, result->min, result->max, is_best ? " (best so far)" : ""));
  if (is_best) {
    best_mean_ = result->mean;
    best_step_ = trainer_.steps();
    SaveBest();
  }
  if (config_.eval.stop_at_return && result->mean >= *config_.eval.stop_at_return) {
    progress_.Info("eval.stop_at_return reached: the run ends here");
    reached_stop_return_ = true;
  }
  ReturnFreeMemory();
}

void RunLoop::WriteEvaluationRow(const EvaluationResult& result, std::int64_t now) {
  CsvRow row;
  row.Add(trainer_.steps())
      .Add(static_cast<std::int64_t>(result.episodes.size()))
      .Add(result.mean)
      .Add(result.std)
      .Add(result.min)
      .Add(result.max)
      .Add(WallSeconds(now), 3);
  evaluations_csv_.Append(row.Finish());
  if (curves_) curves_->Evaluated(trainer_, result, q_samples_);
  FlushRows();
}

CheckpointState RunLoop::State() {
  CheckpointState state;
  state.trainer = trainer_.SaveState();
  state.trainer.streams["evaluation"] = evaluation_stream_.SaveState();
  state.updates = trainer_.learner().updates();
  state.target_syncs = trainer_.learner().target_syncs();
  state.best_mean = best_mean_;
  state.best_step = best_step_;
  state.evaluation_due = evaluation_due_;
  state.wall_seconds = WallSeconds(MonotonicNanoseconds());
  state.device = trainer_.learner().device();
  return state;
}

void RunLoop::SaveCheckpoint() {
  const std::int64_t begin = MonotonicNanoseconds();
  progress_.Redraw(Status(RunPhase::kSaving));
  // A checkpoint that survives a loss of power must not outlive the rows before it.
  FlushRows(/*to_disk=*/true);
  // Before the checkpoint: a run that goes on from it knows at least the best episode up to there.
  recordings_.WriteEpisodes();
  const fs::path folder = folder_ / "checkpoints" / std::to_string(trainer_.steps());
  CheckpointState state = State();
  state.replay = {trainer_.replay().added(), trainer_.replay().size()};
  const std::int64_t bytes = WriteCheckpoint(folder, trainer_.learner(), trainer_.game_spec(),
                                             trainer_.network_spec(), request_.config_text, state, &archive_);
  last_checkpoint_step_ = trainer_.steps();
  // The newest is whole by now, so the oldest may go.
  std::vector<fs::path> numbered = NumberedCheckpoints(folder_);
  for (std::size_t i = 0; i + static_cast<std::size_t>(config_.checkpoint.keep) < numbered.size(); ++i) {
    RemoveFolder(numbered[i]);
  }
  ReturnFreeMemory();
  const std::int64_t end = MonotonicNanoseconds();
  checkpoint_nanoseconds_ += end - begin;
  progress_.Info(Format("step %lld: checkpoint %s, %s in %.0f ms", static_cast<long long>(trainer_.steps()),
                        folder.string().c_str(), FormatBytes(bytes).c_str(), Seconds(end - begin) * 1e3));
}

void RunLoop::SaveBest() {
  const std::int64_t begin = MonotonicNanoseconds();
  WriteCheckpoint(folder_ / "checkpoints" / "best", trainer_.learner(), trainer_.game_spec(),
                  trainer_.network_spec(), request_.config_text, State());
  checkpoint_nanoseconds_ += MonotonicNanoseconds() - begin;
}

void RunLoop::ShowProgress(std::int64_t now) {
  if (now - rate_time_ >= kRateNanoseconds || steps_per_second_ == 0.0) {
    steps_per_second_ = static_cast<double>(trainer_.steps() - rate_step_) / Seconds(now - rate_time_);
    rate_step_ = trainer_.steps();
    rate_time_ = now;
  }
  NoteMemory(ResidentBytes());  // a game may have no episode ends for long
  progress_.Show(Status(trainer_.learner().updates() > 0 ? RunPhase::kLearning : RunPhase::kCollecting), now);
}

ProgressStatus RunLoop::Status(RunPhase phase) const {
  ProgressStatus status;
  status.step = trainer_.steps();
  status.total_steps = config_.train.steps;
  status.episodes = trainer_.episodes();
  status.updates = trainer_.learner().updates();
  status.steps_per_second = steps_per_second_;
  status.mean_return_100 = recent_returns_.mean();
  status.epsilon = trainer_.epsilon();
  status.resident_bytes = ResidentBytes();
  status.phase = phase;
  return status;
}

void RunLoop::FlushRows(bool to_disk) {
  const auto flush = [&](auto& file) {
    try {
      if constexpr (std::is_same_v<decltype(file), AppendFile&>) {
        if (to_disk) file.Sync();
      }
      file.Flush();
    } catch (const Error& error) {
      if (config_.log.on_error == OnLogError::kStop) throw;
      if (told_.insert(file.path()).second) progress_.Warn(std::string(error.what()) + "; the run goes on");
    }
  };
  flush(episodes_csv_);
  flush(evaluations_csv_);
  if (curves_) flush(*curves_);
}

void RunLoop::LogSummary() {
  const auto us = [](const DurationHistogram& phase) {
    return phase.count() == 0 ? 0.0 : phase.QuantileNanoseconds(0.5) / 1000.0;
  };
  if (const int signal = StopSignal::received(); signal != 0) {
    progress_.Info(Format("stopped by signal %d, saved", signal));
  }
  progress_.Info(
      Format("%lld steps, %lld episodes, %lld updates in %.1f s (evaluations %.1f s, checkpoints %.1f s, log "
             "%.1f s)",
             static_cast<long long>(trainer_.steps()), static_cast<long long>(trainer_.episodes()),
             static_cast<long long>(trainer_.learner().updates()), WallSeconds(MonotonicNanoseconds()),
             Seconds(evaluation_nanoseconds_), Seconds(checkpoint_nanoseconds_), Seconds(log_nanoseconds_)));
  for (const AppendFile* table : {&episodes_csv_, &evaluations_csv_}) {
    if (table->lost() == 0) continue;
    progress_.Warn(table->path().string() + ": " + std::to_string(table->lost()) +
                   " rows are missing, for want of room");
  }
  progress_.Info(best_mean_ ? Format("best evaluation: mean return %.2f at step %lld", *best_mean_,
                                     static_cast<long long>(best_step_))
                            : std::string("best evaluation: none was made"));
  progress_.Info(Format("steps/s: %.0f while collecting, %.0f while learning", collecting_.PerSecond(),
                        learning_.PerSecond()));
  if (updating_.total.count() > 0) {
    progress_.Info(Format("median step with update %.1f us: game %.2f, act %.2f, replay %.2f, update %.1f",
                          us(updating_.total), us(updating_.game), us(updating_.act), us(updating_.replay),
                          us(updating_.update)));
  }
  progress_.Info(AllocationScope::supported()
                     ? Format("heap blocks taken in the steps since learning began: %lld",
                              static_cast<long long>(allocations_))
                     : std::string("heap blocks taken in the steps: not counted in this build"));
  if (const std::optional<DeviceMemory> memory = trainer_.learner().device_memory()) {
    progress_.Info("memory of " + trainer_.learner().device() + ": " + FormatBytes(memory->in_tensors) +
                   " in tensors, " + FormatBytes(memory->reserved) + " taken from the driver");
  }
  const std::optional<FlatnessMonitor::Report> flatness = flatness_.report();
  if (!flatness) {
    progress_.Info("flatness: too few steps of learning to tell");
    return;
  }
  progress_.Info(Format(
      "flatness: median step %.1f us in the first tenth of learning, %.1f us in the last (ratio %.3f); "
      "memory %s and "
      "%s (ratio %.3f, %+lld KiB)",
      flatness->first.median_step_us, flatness->last.median_step_us, flatness->step_ratio,
      FormatBytes(flatness->first.resident_bytes).c_str(), FormatBytes(flatness->last.resident_bytes).c_str(),
      flatness->memory_ratio, static_cast<long long>(flatness->memory_growth_bytes / 1024)));
}

}  // namespace metronome
