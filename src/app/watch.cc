#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "app/agent.h"
#include "app/commands.h"
#include "app/show.h"
#include "app/show_common.h"
#include "metronome/core/error.h"
#include "metronome/core/rng.h"
#include "metronome/core/stop_signal.h"
#include "metronome/core/text.h"
#include "metronome/games/recording.h"
#include "metronome/train/checkpoint.h"
#include "metronome/train/evaluate.h"
#include "metronome/viewer/film.h"
#include "metronome/viewer/session.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostEpisodes = 1'000'000;
constexpr std::int64_t kDefaultSeed = 1;  // that of eval, whose episodes these then are
constexpr int kStoppedBySignal = 128;
constexpr auto kWaitForCheckpoint = std::chrono::milliseconds(100);

/// The largest of a network's Q-values, or with probability epsilon any action. An episode's random actions
/// follow from its seed, so it can be shown again.
class AgentPlayer : public Player {
 public:
  /// With `run`, each new episode is played by the newest checkpoint there.
  AgentPlayer(Agent agent, fs::path checkpoint, double epsilon, fs::path run)
      : agent_(std::move(agent)),
        checkpoint_(std::move(checkpoint)),
        epsilon_(epsilon),
        run_(std::move(run)) {}

  std::string name() const override { return "agent"; }

  void BeginEpisode(std::uint64_t seed) override {
    // The same episode again is played by the same network.
    if (!run_.empty() && seed != seed_) TakeNewest();
    seed_ = seed;
    exploration_ = Rng(seed, "watch exploration");
  }

  Decision Decide(std::span<const float> observation, std::span<float> q_values) override {
    agent_.learner->QValues(observation, q_values);
    Decision decision;
    decision.has_q_values = true;
    decision.random = epsilon_ > 0.0 && exploration_.Uniform() < epsilon_;
    decision.action =
        decision.random
            ? static_cast<int>(exploration_.UniformInt(static_cast<std::int64_t>(q_values.size())))
            : static_cast<int>(std::max_element(q_values.begin(), q_values.end()) - q_values.begin());
    return decision;
  }

  std::optional<std::int64_t> checkpoint_step() const override { return agent_.step; }
  std::optional<double> epsilon() const override { return epsilon_; }

 private:
  void TakeNewest() {
    // The run removes old checkpoints; one that goes while it is read has a newer one beside it.
    constexpr int kTries = 3;
    for (int attempt = 1;; ++attempt) {
      const std::vector<fs::path> numbered = NumberedCheckpoints(run_);
      if (numbered.empty() || numbered.back() == checkpoint_) return;
      try {
        ReplaceNetwork(numbered.back(), agent_);
        checkpoint_ = numbered.back();
        return;
      } catch (const Error& error) {
        if (attempt < kTries) continue;
        std::cerr << "metronome: going on with the checkpoint of step " << agent_.step << ": " << error.what()
                  << std::endl;
        return;
      }
    }
  }

  Agent agent_;
  fs::path checkpoint_;
  const double epsilon_;
  const fs::path run_;
  std::optional<std::uint64_t> seed_;
  Rng exploration_{0};
};

class ScriptedPlayer : public Player {
 public:
  explicit ScriptedPlayer(const GameConfig& game) : policy_(MakeScriptedPolicy(game)) {}
  std::string name() const override { return "scripted player"; }
  void BeginEpisode(std::uint64_t) override { policy_->BeginEpisode(); }
  Decision Decide(std::span<const float> observation, std::span<float>) override {
    return {.action = policy_->Act(observation)};
  }

 private:
  std::unique_ptr<Policy> policy_;
};

class RandomPlayer : public Player {
 public:
  std::string name() const override { return "random player"; }
  void BeginEpisode(std::uint64_t seed) override { exploration_ = Rng(seed, "watch exploration"); }
  Decision Decide(std::span<const float>, std::span<float> q_values) override {
    return {.action = static_cast<int>(exploration_.UniformInt(static_cast<std::int64_t>(q_values.size()))),
            .random = true};
  }

 private:
  Rng exploration_{0};
};

class RecordingPlayer : public Player {
 public:
  explicit RecordingPlayer(Recording recording) : recording_(std::move(recording)) {}
  std::string name() const override { return "recording"; }
  bool can_be_taken_over() const override { return false; }
  void BeginEpisode(std::uint64_t) override { next_ = 0; }
  Decision Decide(std::span<const float>, std::span<float>) override {
    if (next_ == recording_.actions.size()) return {};
    return {.action = recording_.actions[next_++]};
  }
  const Recording& recording() const { return recording_; }

 private:
  const Recording recording_;
  std::size_t next_ = 0;
};

/// What is to be watched.
struct Show {
  GameConfig game;
  std::unique_ptr<Player> player;
  std::function<std::uint64_t()> next_seed;
  bool is_recording = false;
};

void RefuseFlag(bool given, const std::string& flag, const std::string& why) {
  if (given) throw Error(ExitCode::kUsage, flag + ": " + why);
}

Show ShowRecording(const WatchOptions& options) {
  const std::string why = "goes with an agent; a recording shows what was played";
  RefuseFlag(options.seed.has_value(), "--seed", why);
  RefuseFlag(options.epsilon.has_value(), "--epsilon", why);
  RefuseFlag(options.follow, "--follow", "goes with a run folder, not with a recording");
  Recording recording = ReadRecording(options.target);
  // Proves it before anything is shown: every hash, the return and the end.
  Replay(recording, options.target);
  Show show;
  show.game = recording.game;
  show.next_seed = [seed = recording.seed] { return seed; };
  show.player = std::make_unique<RecordingPlayer>(std::move(recording));
  show.is_recording = true;
  return show;
}

/// The first checkpoint of a run that may not have one yet; empty when a stop signal came.
std::optional<fs::path> WaitForCheckpoint(const fs::path& run) {
  std::error_code unused;
  if (!fs::is_directory(run / "checkpoints", unused)) {
    throw Error(ExitCode::kInputOutput, run.string() + ": not a run folder: it has no folder checkpoints");
  }
  bool told = false;
  while (StopSignal::received() == 0) {
    const std::vector<fs::path> numbered = NumberedCheckpoints(run);
    if (!numbered.empty()) return numbered.back();
    if (fs::is_directory(run / "checkpoints" / "best", unused)) return run / "checkpoints" / "best";
    if (!told) {
      std::cerr << "metronome: waiting for the first checkpoint of " << run.string() << std::endl;
      told = true;
    }
    std::this_thread::sleep_for(kWaitForCheckpoint);
  }
  return std::nullopt;
}

std::optional<Show> ShowAgent(const WatchOptions& options, std::uint64_t seed) {
  const double epsilon = options.epsilon ? ParseNumberFlag("--epsilon", *options.epsilon, 0.0, 1.0) : 0.0;
  fs::path path;
  if (options.follow) {
    const std::optional<fs::path> first = WaitForCheckpoint(options.target);
    if (!first) return std::nullopt;
    path = *first;
  } else {
    path = FindCheckpoint(options.target);
  }
  Agent agent = LoadAgent(path);
  Show show;
  show.game = agent.config.game;
  show.player = std::make_unique<AgentPlayer>(std::move(agent), path, epsilon,
                                              options.follow ? fs::path(options.target) : fs::path());
  show.next_seed = [seeds = Rng(seed, "eval episodes")]() mutable { return seeds.NextBits(); };
  return show;
}

Show ShowPolicy(const WatchOptions& options, std::uint64_t seed) {
  RefuseFlag(options.epsilon.has_value(), "--epsilon", "goes with a trained agent, not with --policy");
  RefuseFlag(options.follow, "--follow", "goes with a run folder, not with --policy");
  Show show;
  show.game = GameFromCommandLine("watch", options.target, options.set);
  if (*options.policy == "random") {
    show.player = std::make_unique<RandomPlayer>();
  } else if (*options.policy == "scripted") {
    show.player = std::make_unique<ScriptedPlayer>(show.game);
  } else {
    throw Error(ExitCode::kUsage, "--policy: found \"" + *options.policy + "\", must be random or scripted");
  }
  show.next_seed = [seeds = Rng(seed, "eval episodes")]() mutable { return seeds.NextBits(); };
  return show;
}

std::optional<Show> MakeShow(const WatchOptions& options, std::uint64_t seed) {
  if (options.policy) return ShowPolicy(options, seed);
  if (!options.set.empty()) {
    throw Error(ExitCode::kUsage,
                "--set " + options.set.front() +
                    ": goes with --policy; a trained agent plays the game that it was trained on");
  }
  std::error_code unused;
  const bool exists = fs::exists(options.target, unused);
  const bool is_game = std::any_of(Games().begin(), Games().end(),
                                   [&](const GameInfo& info) { return info.name == options.target; });
  if (is_game && !exists) {
    throw Error(ExitCode::kUsage,
                "watch: " + options.target +
                    " is a game: say who plays it, --policy random or --policy scripted, or "
                    "play it yourself with metronome play " +
                    options.target);
  }
  if (exists && !fs::is_directory(options.target, unused)) return ShowRecording(options);
  return ShowAgent(options, seed);
}

void PrintEpisode(const EpisodeReport& report) {
  std::cout << "episode " << report.number << ": return " << FormatFixed(report.episode_return, 2)
            << ", length " << report.length << ", " << report.ending << ", seed " << report.seed;
  if (report.checkpoint_step) std::cout << ", checkpoint of step " << *report.checkpoint_step;
  if (report.by_hand) std::cout << ", partly by hand";
  std::cout << std::endl;
}

double ParseSpeed(const std::optional<std::string>& text) {
  if (!text) return 1.0;
  if (*text == "fastest") return Session::kFastest;
  try {
    return ParseNumberFlag("--speed", *text, Session::kLeastSpeed, Session::kMostSpeed);
  } catch (const Error& error) {
    throw Error(error.code(), std::string(error.what()) + ", or fastest");
  }
}

}  // namespace

int RunWatch(const WatchOptions& options) {
  const std::int64_t asked_episodes =
      options.episodes ? ParseIntegerFlag("--episodes", *options.episodes, 1, kMostEpisodes) : 0;
  const double speed = ParseSpeed(options.speed);
  const std::int64_t seed =
      options.seed ? ParseIntegerFlag("--seed", *options.seed, 0, std::numeric_limits<std::int64_t>::max())
                   : kDefaultSeed;
  const PictureSize size = ParseSize(options.size);
  if (options.record) {
    if (speed == Session::kFastest) {
      throw Error(ExitCode::kUsage, "--speed fastest: goes with a window; a film needs a number");
    }
    CheckFilmPath(*options.record);
  }
  StopSignal::Install();
  std::optional<Show> show = MakeShow(options, static_cast<std::uint64_t>(seed));
  if (!show) return kStoppedBySignal + StopSignal::received();

  Session::Options session_options;
  session_options.game = show->game;
  session_options.player = show->player.get();
  session_options.next_seed = show->next_seed;
  session_options.speed = speed;
  // A film must end; a recording is shown once, and stays until the window is closed.
  session_options.episodes = asked_episodes > 0 ? asked_episodes : (options.record ? 1 : 0);
  session_options.waits_at_end = show->is_recording && asked_episodes == 0 && !options.record;
  session_options.on_episode_end = [](const EpisodeReport& report) {
    PrintEpisode(report);
    return std::vector<std::string>();
  };
  Session session(std::move(session_options));
  if (!options.record) {
    const std::string title = "Metronome: " + show->game.name + ", " + options.target;
    return ShowInWindow(session, title, size, options.whole, options.senses);
  }
  FilmOptions film;
  film.path = *options.record;
  film.width = size.width;
  film.height = size.height;
  film.speed = speed;
  film.close_up = !options.whole;
  film.senses = options.senses;
  const std::int64_t frames = Film(session, film);
  if (const int signal = StopSignal::received(); signal != 0) return kStoppedBySignal + signal;
  std::cout << "recorded " << frames << " frames, " << FramesPerSecond(film.path) << " a second, to "
            << film.path.string() << std::endl;
  return 0;
}

}  // namespace metronome
