#include "app/train_seeds.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/aggregate.h"
#include "app/child_process.h"
#include "app/seed_board.h"
#include "app/train_request.h"
#include "metronome/core/clock.h"
#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/memory.h"
#include "metronome/core/stop_signal.h"
#include "metronome/core/text.h"
#include "metronome/train/checkpoint.h"
#include "metronome/train/progress.h"
#include "train/trainer.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kFormatName = "metronome-seeds";
constexpr int kFormatVersion = 1;
constexpr std::size_t kMostSeeds = 1000;
constexpr std::int64_t kMostJobs = 1024;
constexpr int kShowMilliseconds = 500;

/// What is asked of all runs.
struct SeedSet {
  fs::path folder;
  std::vector<std::int64_t> seeds;
  std::int64_t threads = 1;  // of each run
  std::int64_t jobs = 1;     // runs at once
  std::int64_t total_steps = 0;
  std::optional<double> stop_at_return;
  LogLevel log_level = LogLevel::kInfo;
  std::vector<std::string> changes;  // --steps and --set, for each run
};

/// How far a run has come, by its newest good checkpoint.
struct RunResult {
  std::int64_t steps = 0;
  std::optional<double> best_mean;
  std::int64_t best_step = 0;
  double wall_seconds = 0.0;
};

fs::path FolderOf(const SeedSet& set, std::int64_t seed) {
  return set.folder / ("seed-" + std::to_string(seed));
}

std::optional<RunResult> ReadResult(const fs::path& run) {
  try {
    std::vector<std::string> faults;
    const CheckpointState state = ReadNewestCheckpoint(run, faults).state;
    return RunResult{state.trainer.steps, state.best_mean, state.best_step, state.wall_seconds};
  } catch (const Error&) {
    return std::nullopt;  // there is none
  }
}

bool HasEnded(const SeedSet& set, const RunResult& result) {
  return result.steps >= set.total_steps ||
         (set.stop_at_return && result.best_mean && *result.best_mean >= *set.stop_at_return);
}

std::int64_t Cores() { return std::max<std::int64_t>(std::thread::hardware_concurrency(), 1); }

/// --jobs, else as many as have cores of their own.
std::int64_t JobsFor(const TrainOptions& options, std::int64_t threads, std::size_t seeds) {
  const std::int64_t jobs = options.jobs ? ParseIntegerFlag("--jobs", *options.jobs, 1, kMostJobs)
                                         : std::max<std::int64_t>(Cores() / threads, 1);
  return std::min(jobs, static_cast<std::int64_t>(seeds));
}

/// What one run needs is checked by CheckMachine(); here, that so many fit.
void CheckRoom(const EffectiveConfig& effective, const SeedSet& set) {
  const GameSpec game = MakeGame(effective.config.game.name, effective.config.game.parameters)->spec();
  const std::int64_t replay = ReplayBuffer::BytesNeeded(ReplayOptionsFor(effective.config, game.observation));
  const std::optional<std::int64_t> memory = AvailableMemoryBytes();
  if (memory && replay > *memory / set.jobs) {
    throw Error(ExitCode::kUsage, "--jobs: " + std::to_string(set.jobs) + " runs at once need " +
                                      FormatBytes(replay) + " each for their replay, and " +
                                      FormatBytes(*memory) + " are available; try --jobs " +
                                      std::to_string(std::max<std::int64_t>(*memory / replay, 1)));
  }
  const std::int64_t disk = MostCheckpointBytes(effective.config, game);
  std::error_code error;
  fs::path place = fs::absolute(set.folder, error);
  while (!fs::exists(place, error) && place.has_relative_path()) place = place.parent_path();
  const fs::space_info space = fs::space(place, error);
  const auto seeds = static_cast<std::int64_t>(set.seeds.size());
  if (!error && space.available / static_cast<std::uintmax_t>(seeds) < static_cast<std::uintmax_t>(disk)) {
    throw Error(ExitCode::kInputOutput, place.string() + ": the checkpoints of " + std::to_string(seeds) +
                                            " runs need up to " + FormatBytes(disk) + " each, and " +
                                            FormatBytes(static_cast<std::int64_t>(space.available)) +
                                            " are free");
  }
}

std::string Describe(const SeedSet& set, const RunResult& result) {
  std::string text =
      std::to_string(result.steps) + " steps in " + FormatFixed(result.wall_seconds, 2) + " s, ";
  if (!result.best_mean) return text + "no evaluation";
  text += "best evaluation: mean return " + FormatFixed(*result.best_mean, 2) + " at step " +
          std::to_string(result.best_step);
  if (set.stop_at_return && *result.best_mean >= *set.stop_at_return) text += ", which is what was asked for";
  return text;
}

/// The runs of a set, until all have ended or a signal came.
class SeedRunner {
 public:
  explicit SeedRunner(const SeedSet& set) : set_(set), board_(set.folder / "log.txt", set.log_level) {}

  int Run() {
    StopSignal::Install();
    Prepare();
    while (!running_.empty() || (!waiting_.empty() && !stopping_)) {
      if (const int signal = StopSignal::received(); signal != 0 && !stopping_) {
        stopping_ = true;
        board_.Say("stopping by signal " + std::to_string(signal) + ": each run saves");
        for (Running& run : running_) run.process->Signal(signal);
      }
      StartWhatMay();
      Show();
      WaitForNews();
      Listen();
    }
    board_.Clear();
    if (const int signal = StopSignal::received(); signal != 0) {
      board_.Say("stopped; metronome train --resume " + set_.folder.string() + " goes on");
      return 128 + signal;
    }
    Finish();
    return code_;
  }

 private:
  struct Running {
    std::int64_t seed = 0;
    std::unique_ptr<ChildProcess> process;
  };

  /// Sorts out which seeds are still to do.
  void Prepare() {
    for (const std::int64_t seed : set_.seeds) {
      const std::optional<RunResult> result = ReadResult(FolderOf(set_, seed));
      if (result && HasEnded(set_, *result)) {
        codes_.emplace_back(seed, 0);
      } else {
        waiting_.push_back(seed);
      }
    }
    board_.Say("set of runs " + set_.folder.string() + ": " + std::to_string(set_.seeds.size()) + " seeds, " +
               std::to_string(codes_.size()) + " of them done; " + std::to_string(set_.jobs) +
               " at once, with " + std::to_string(set_.threads) +
               (set_.threads == 1 ? " thread each" : " threads each"));
  }

  void StartWhatMay() {
    while (!stopping_ && !waiting_.empty() && static_cast<std::int64_t>(running_.size()) < set_.jobs) {
      const std::int64_t seed = waiting_.front();
      waiting_.erase(waiting_.begin());
      Start(seed);
    }
  }

  void Start(std::int64_t seed) {
    const fs::path folder = FolderOf(set_, seed);
    std::vector<std::string> arguments = {"train"};
    if (ReadResult(folder)) {
      arguments.insert(arguments.end(), {"--resume", folder.string()});
    } else {
      SetAside(folder);
      arguments.insert(arguments.end(),
                       {"--config", (set_.folder / "config.toml").string(), "--run", folder.string(),
                        "--seed", std::to_string(seed), "--threads", std::to_string(set_.threads)});
    }
    arguments.insert(arguments.end(), set_.changes.begin(), set_.changes.end());
    arguments.insert(arguments.end(), {"--log-level", "warning"});
    running_.push_back({seed, std::make_unique<ChildProcess>(arguments)});
  }

  /// A run that ended before its first checkpoint can't be gone on from; it begins anew, beside what is left.
  void SetAside(const fs::path& folder) {
    if (!fs::exists(folder)) return;
    for (int number = 1;; ++number) {
      const fs::path aside = folder.string() + "-unfinished-" + std::to_string(number);
      if (fs::exists(aside)) continue;
      fs::rename(folder, aside);
      board_.Say(
          folder.string() + " holds no checkpoint: it is now " + aside.string() + ", and its run begins anew",
          LogLevel::kWarning);
      return;
    }
  }

  void Show() {
    const std::int64_t now = MonotonicNanoseconds();
    if (now < next_show_) return;
    next_show_ = now + std::int64_t{kShowMilliseconds} * 1'000'000;
    std::vector<std::string> lines;
    for (const Running& run : running_) {
      const std::string name = "seed " + std::to_string(run.seed) + " ";
      const int room = board_.width() - static_cast<int>(name.size());
      const ProgressStatus status = ReadStatus(FolderOf(set_, run.seed), set_.total_steps);
      lines.push_back(name + (status.step > 0 ? DescribeProgress(status, true, room) : "has begun"));
    }
    board_.Show(lines, now);
  }

  /// Until one of the runs prints or ends, or it is time to show how they stand.
  void WaitForNews() {
    std::vector<pollfd> prints;
    for (const Running& run : running_) prints.push_back({run.process->descriptor(), POLLIN, 0});
    poll(prints.data(), static_cast<nfds_t>(prints.size()), kShowMilliseconds / 5);
  }

  void Listen() {
    for (std::size_t i = 0; i < running_.size();) {
      Running& run = running_[i];
      const std::optional<int> code = run.process->ended();
      std::string last;
      for (const std::string& line : run.process->TakeLines()) {
        board_.Say("seed " + std::to_string(run.seed) + ": " + line, LogLevel::kWarning);
      }
      if (!code) {
        ++i;
        continue;
      }
      Ended(run.seed, *code);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void Ended(std::int64_t seed, int code) {
    codes_.emplace_back(seed, code);
    const std::string name = "seed " + std::to_string(seed) + ": ";
    const std::optional<RunResult> result = ReadResult(FolderOf(set_, seed));
    const std::string reached = result ? Describe(set_, *result) : std::string("no checkpoint");
    if (code == 0) {
      board_.Say(name + reached);
    } else if (!stopping_) {
      board_.Say(name + "ended with code " + std::to_string(code) + "; " + reached, LogLevel::kError);
      if (code_ == 0) code_ = code;
    }
  }

  /// The table of all runs, and what they reached together.
  void Finish() {
    std::sort(codes_.begin(), codes_.end());
    std::string table = "seed,steps,best_mean,best_step,wall_s,exit_code\n";
    std::vector<double> best;
    std::int64_t reached = 0;
    std::int64_t failed = 0;
    for (const auto& [seed, code] : codes_) {
      const RunResult result = ReadResult(FolderOf(set_, seed)).value_or(RunResult());
      std::vector<std::string> row = {
          std::to_string(seed), std::to_string(result.steps), "", "", FormatFixed(result.wall_seconds, 2),
          std::to_string(code)};
      if (result.best_mean) {
        row[2] = FormatDouble(*result.best_mean);
        row[3] = std::to_string(result.best_step);
      }
      table += Join(row, ",");
      table += '\n';
      if (code != 0) ++failed;
      if (code != 0 || !result.best_mean) continue;
      best.push_back(*result.best_mean);
      if (set_.stop_at_return && *result.best_mean >= *set_.stop_at_return) ++reached;
    }
    WriteFileWhole(set_.folder / "seeds.csv", table);
    ordered_json json = {{"seeds", set_.seeds}, {"failed", failed}, {"count", best.size()}};
    if (failed > 0) {
      board_.Say(std::to_string(failed) + " of " + std::to_string(codes_.size()) +
                     " runs failed; what follows is of the others",
                 LogLevel::kError);
    }
    if (best.empty()) {
      board_.Say("no run has both ended well and been evaluated: there is nothing to sum up",
                 LogLevel::kWarning);
    } else {
      const Aggregate all = AggregateOf(best);
      json["mean"] = all.mean;
      json["interquartile_mean"] = all.interquartile_mean;
      json["interquartile_mean_95"] = {all.interquartile_mean_low, all.interquartile_mean_high};
      json["median"] = all.median;
      json["min"] = all.min;
      json["max"] = all.max;
      board_.Say("best evaluations of " + std::to_string(all.count) + " seeds: mean " +
                 FormatFixed(all.mean, 2) + ", interquartile mean " + FormatFixed(all.interquartile_mean, 2) +
                 " (95 % interval " + FormatFixed(all.interquartile_mean_low, 2) + " to " +
                 FormatFixed(all.interquartile_mean_high, 2) + "), median " + FormatFixed(all.median, 2) +
                 ", min " + FormatFixed(all.min, 2) + ", max " + FormatFixed(all.max, 2));
    }
    if (set_.stop_at_return) {
      json["stop_at_return"] = *set_.stop_at_return;
      json["reached"] = reached;
      board_.Say("eval.stop_at_return = " + FormatDouble(*set_.stop_at_return) + " reached by " +
                 std::to_string(reached) + " of " + std::to_string(codes_.size()));
    }
    WriteFileWhole(set_.folder / "aggregate.json", json.dump(2) + "\n");
  }

  const SeedSet& set_;
  SeedBoard board_;
  std::vector<std::int64_t> waiting_;
  std::vector<Running> running_;
  std::vector<std::pair<std::int64_t, int>> codes_;  // of the runs that have ended
  bool stopping_ = false;
  int code_ = 0;
  std::int64_t next_show_ = 0;
};

fs::path FreeFolder(const std::string& game) {
  for (std::int64_t number = 1;; ++number) {
    fs::path folder = fs::path("runs") / (game + "-" + std::to_string(number));
    if (CreateNewFolder(folder)) return folder;
  }
}

[[noreturn]] void BadSet(const fs::path& path, const std::string& what) {
  throw Error(ExitCode::kBadCheckpoint, path.string() + ": " + what);
}

}  // namespace

std::vector<std::int64_t> ParseSeeds(const std::string& text) {
  const auto refuse = [&text](const std::string& what) {
    return Error(ExitCode::kUsage, "--seeds: found \"" + text + "\", " + what +
                                       "; must be seeds from 0 as 1..10 or 1,3,7, at most " +
                                       std::to_string(kMostSeeds));
  };
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> seeds;
  std::set<std::int64_t> seen;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t dots = part.find("..");
    const std::int64_t first = ParseIntegerFlag("--seeds", part.substr(0, dots), 0, kGreatest);
    const std::int64_t last =
        dots == std::string::npos ? first : ParseIntegerFlag("--seeds", part.substr(dots + 2), 0, kGreatest);
    if (last < first) throw refuse(part + " goes down");
    if (last - first >= static_cast<std::int64_t>(kMostSeeds - seeds.size()))
      throw refuse("which is too many");
    for (std::int64_t seed = first; seed <= last; ++seed) {
      if (!seen.insert(seed).second) throw refuse("which has " + std::to_string(seed) + " twice");
      seeds.push_back(seed);
    }
    begin = end + 1;
  }
  return seeds;
}

bool IsSeedSet(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "seeds.json", error);
}

int TrainSeeds(const TrainOptions& options) {
  if (options.config.seed) throw Error(ExitCode::kUsage, "--seed and --seeds: give one of the two");
  SeedSet set;
  set.seeds = ParseSeeds(*options.seeds);
  const EffectiveConfig effective = LoadNewConfig(options);
  set.log_level = ParseLogLevel(options);
  const int configured = effective.config.device.threads;
  set.jobs = JobsFor(options, std::max(configured, 1), set.seeds.size());
  // Side by side, a measured choice would measure the others as well.
  set.threads = configured > 0 ? configured : std::max<std::int64_t>(Cores() / set.jobs, 1);
  set.total_steps = effective.config.train.steps;
  set.stop_at_return = effective.config.eval.stop_at_return;
  set.folder = options.run.value_or("runs");
  CheckMachine(effective, set.folder);
  CheckRoom(effective, set);
  if (!options.run) {
    set.folder = FreeFolder(effective.config.game.name);
  } else if (!CreateNewFolder(set.folder)) {
    throw Error(ExitCode::kUsage,
                "--run: " + set.folder.string() + " exists already, and no run is ever overwritten");
  }
  const FolderLock lock(set.folder);
  WriteFileWhole(set.folder / "config.toml", FormatConfig(effective, false));
  const ordered_json json = {
      {"format", kFormatName}, {"version", kFormatVersion}, {"seeds", set.seeds}, {"threads", set.threads}};
  WriteFileWhole(set.folder / "seeds.json", json.dump(2) + "\n");
  return SeedRunner(set).Run();
}

int ResumeSeeds(const TrainOptions& options, const fs::path& folder) {
  const std::array<std::pair<const char*, bool>, 5> fixed = {
      {{"--config", options.config.config.has_value()},
       {"--seed", options.config.seed.has_value()},
       {"--seeds", options.seeds.has_value()},
       {"--device", options.config.device.has_value()},
       {"--threads", options.config.threads.has_value()}}};
  for (const auto& [flag, given] : fixed) {
    if (given) {
      throw Error(ExitCode::kUsage,
                  std::string(flag) + ": " + folder.string() +
                      " is a set of runs, which goes on as it began; --steps, --set and --jobs "
                      "may be given");
    }
  }
  SeedSet set;
  set.folder = folder;
  set.log_level = ParseLogLevel(options);
  const FolderLock lock(folder);
  const fs::path path = folder / "seeds.json";
  const nlohmann::json json = nlohmann::json::parse(ReadFile(path), nullptr, false);
  if (!json.is_object() || json.value("format", nlohmann::json()) != kFormatName)
    BadSet(path, "is no set of runs");
  if (json.value("version", nlohmann::json()) != kFormatVersion) {
    BadSet(path, "has another format version than " + std::to_string(kFormatVersion));
  }
  try {
    set.seeds = json.at("seeds").get<std::vector<std::int64_t>>();
    set.threads = json.at("threads").get<std::int64_t>();
  } catch (const nlohmann::json::exception&) {
    BadSet(path, "lacks its seeds or threads");
  }
  if (set.seeds.empty() || set.threads < 1) BadSet(path, "holds no seeds, or no threads");
  set.jobs = JobsFor(options, set.threads, set.seeds.size());
  const std::string text = ReadFile(folder / "config.toml");
  ParseSavedConfig(text, (folder / "config.toml").string());
  const EffectiveConfig effective = LoadConfig(options.config, text);
  set.total_steps = effective.config.train.steps;
  set.stop_at_return = effective.config.eval.stop_at_return;
  if (options.config.steps) set.changes.insert(set.changes.end(), {"--steps", *options.config.steps});
  for (const std::string& change : options.config.set)
    set.changes.insert(set.changes.end(), {"--set", change});
  CheckRoom(effective, set);
  return SeedRunner(set).Run();
}

}  // namespace metronome
