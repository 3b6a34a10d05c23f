#include <algorithm>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/agent.h"
#include "app/commands.h"
#include "metronome/core/error.h"
#include "metronome/core/rng.h"
#include "metronome/core/stop_signal.h"
#include "metronome/core/text.h"
#include "metronome/learner/learner.h"
#include "metronome/train/checkpoint.h"
#include "metronome/train/evaluate.h"
#include "train/trainer.h"

namespace metronome {
namespace {

constexpr std::int64_t kDefaultEpisodes = 20;
constexpr std::int64_t kMostEpisodes = 1'000'000;
constexpr std::int64_t kDefaultSeed = 1;

/// Who plays, and where they come from.
struct Player {
  GameConfig game;
  std::unique_ptr<Learner> learner;  // what a greedy policy asks
  std::unique_ptr<Policy> policy;
  std::string kind;    // greedy, random, scripted
  std::string source;  // the checkpoint, empty for none
  std::optional<std::int64_t> step;
};

std::string Ending(const EpisodeOutcome& episode) { return episode.terminated ? "terminated" : "truncated"; }

Player LoadTrainedPlayer(const EvalOptions& options, double epsilon, std::uint64_t seed) {
  if (!options.set.empty()) {
    throw Error(ExitCode::kUsage,
                "--set " + options.set.front() +
                    ": goes with --policy; a trained agent plays the game that it was trained on");
  }
  const bool is_game = std::any_of(Games().begin(), Games().end(),
                                   [&](const GameInfo& info) { return info.name == options.target; });
  if (is_game && !std::filesystem::exists(options.target)) {
    throw Error(ExitCode::kUsage, "eval: " + options.target +
                                      " is a game: say who plays it, --policy random or --policy scripted");
  }
  const std::filesystem::path path = FindCheckpoint(options.target);
  Agent agent = LoadAgent(path);

  Player player;
  player.learner = std::move(agent.learner);
  player.policy =
      MakeGreedyPolicy(*player.learner, agent.network.num_actions, epsilon, Rng(seed, "eval exploration"));
  player.game = agent.config.game;
  player.kind = "greedy";
  player.source = path.string();
  player.step = agent.step;
  return player;
}

Player LoadPolicy(const EvalOptions& options, std::uint64_t seed) {
  if (options.epsilon) {
    throw Error(ExitCode::kUsage, "--epsilon: goes with a trained agent, not with --policy");
  }
  std::vector<std::string> set = options.set;
  for (const std::string& text : set) {
    if (ParseSetOption(text).section != "game") {
      throw Error(ExitCode::kUsage,
                  "--set " + text + ": eval takes settings of the game alone, --set game.KEY=VALUE");
    }
  }
  FindGame(options.target);
  set.push_back("game.name=" + options.target);
  ConfigOptions config;
  config.set = set;

  Player player;
  player.game = LoadConfig(config).config.game;
  player.kind = *options.policy;
  if (player.kind == "random") {
    const int num_actions = MakeGame(player.game.name, player.game.parameters)->spec().num_actions();
    player.policy = MakeRandomPolicy(num_actions, Rng(seed, "eval exploration"));
  } else if (player.kind == "scripted") {
    player.policy = MakeScriptedPolicy(player.game);
  } else {
    throw Error(ExitCode::kUsage, "--policy: found \"" + player.kind + "\", must be random or scripted");
  }
  return player;
}

void PrintText(const Player& player, double epsilon, std::int64_t seed, const EvaluationResult& result) {
  std::cout << player.game.name << ", " << player.kind << " policy";
  if (player.step) {
    std::cout << " of " << player.source << " (step " << *player.step << "), epsilon " << epsilon;
  }
  std::cout << ", seed " << seed << "\n";
  for (std::size_t i = 0; i < result.episodes.size(); ++i) {
    const EpisodeOutcome& episode = result.episodes[i];
    std::cout << "episode " << i + 1 << ": return " << FormatFixed(episode.episode_return, 2) << ", length "
              << episode.length << ", " << Ending(episode) << "\n";
  }
  std::cout << result.episodes.size() << " episodes: mean " << FormatFixed(result.mean, 2) << ", std "
            << FormatFixed(result.std, 2) << ", min " << FormatFixed(result.min, 2) << ", max "
            << FormatFixed(result.max, 2) << "\n";
}

void PrintJson(const Player& player, double epsilon, std::int64_t seed, const EvaluationResult& result) {
  nlohmann::ordered_json json;
  json["game"] = player.game.name;
  json["policy"] = player.kind;
  if (player.step) {
    json["checkpoint"] = player.source;
    json["step"] = *player.step;
    json["epsilon"] = epsilon;
  }
  json["seed"] = seed;
  json["mean"] = result.mean;
  json["std"] = result.std;
  json["min"] = result.min;
  json["max"] = result.max;
  for (const EpisodeOutcome& episode : result.episodes) {
    json["episodes"].push_back({{"seed", episode.seed},
                                {"return", episode.episode_return},
                                {"length", episode.length},
                                {"ending", Ending(episode)}});
  }
  // A path need not be UTF-8.
  std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

}  // namespace

int RunEval(const EvalOptions& options) {
  const std::int64_t episodes = options.episodes
                                    ? ParseIntegerFlag("--episodes", *options.episodes, 1, kMostEpisodes)
                                    : kDefaultEpisodes;
  const std::int64_t seed =
      options.seed ? ParseIntegerFlag("--seed", *options.seed, 0, std::numeric_limits<std::int64_t>::max())
                   : kDefaultSeed;
  const double epsilon = options.epsilon ? ParseNumberFlag("--epsilon", *options.epsilon, 0.0, 1.0) : 0.0;
  StopSignal::Install();

  const auto stream_seed = static_cast<std::uint64_t>(seed);
  const Player player =
      options.policy ? LoadPolicy(options, stream_seed) : LoadTrainedPlayer(options, epsilon, stream_seed);
  // A stream of its own: these episodes are none of those that chose a run's best checkpoint.
  Rng seeds(stream_seed, "eval episodes");
  const std::optional<EvaluationResult> result = Evaluate(player.game, *player.policy, episodes, seeds);
  if (!result) {
    constexpr int kStoppedBySignal = 128;
    return kStoppedBySignal + StopSignal::received();
  }
  if (options.json) {
    PrintJson(player, epsilon, seed, *result);
  } else {
    PrintText(player, epsilon, seed, *result);
  }
  return 0;
}

}  // namespace metronome
