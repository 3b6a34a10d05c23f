#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "app/commands.h"
#include "app/show.h"
#include "app/show_common.h"
#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/hash.h"
#include "metronome/core/rng.h"
#include "metronome/core/stop_signal.h"
#include "metronome/core/text.h"
#include "metronome/games/recording.h"
#include "metronome/viewer/session.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

bool SameRules(const GameConfig& left, const GameConfig& right) {
  return left.name == right.name && left.parameters == right.parameters &&
         left.max_episode_steps == right.max_episode_steps;
}

/// The return that a recording tells of, if it is one of the same game under the same rules. The file is the
/// user's and may be anything.
std::optional<double> ReturnOf(const fs::path& path, const GameConfig& game) {
  std::error_code unused;
  if (!fs::is_regular_file(path, unused)) return std::nullopt;
  try {
    const Recording recording = ReadRecording(path);
    if (!SameRules(recording.game, game)) return std::nullopt;
    return recording.episode_return;
  } catch (const Error& error) {
    std::cerr << "metronome: left out: " << error.what() << std::endl;
    return std::nullopt;
  }
}

/// plays/<game>, and for other settings than the game's own plays/<game>-<hash of the settings>.
fs::path FolderFor(const GameConfig& game, const GameConfig& plain) {
  std::string name = game.name;
  if (!SameRules(game, plain)) {
    std::string settings = std::to_string(*game.max_episode_steps);
    for (const ParameterValue& value : game.parameters.values()) {
      settings.append(1, ' ').append(FormatParameterValue(value));
    }
    char text[20];
    std::snprintf(text, sizeof text, "-%08x", static_cast<unsigned>(Checksum(settings) & 0xffffffffu));
    name.append(text);
  }
  return fs::path("plays") / name;
}

/// The best episode of any agent: what training and evaluation recorded in the run folders here.
std::optional<double> BestAgent(const GameConfig& game) {
  std::optional<double> best;
  std::error_code error;
  for (fs::directory_iterator run("runs", error), end; !error && run != end; run.increment(error)) {
    for (const char* const name : {"best.recording", "eval-best.recording"}) {
      const std::optional<double> value = ReturnOf(run->path() / "recordings" / name, game);
      if (value && (!best || *value > *best)) best = value;
    }
  }
  return best;
}

std::string Standing(const char* who, std::optional<double> value) {
  return std::string(who) + (value ? FormatFixed(*value, 2) : "none yet");
}

}  // namespace

int RunPlay(const PlayOptions& options) {
  GameConfig game = GameFromCommandLine("play", options.game, options.set);
  GameConfig plain = MakeGameConfig(game.name);
  const std::int64_t own_limit = MakeGame(game.name)->spec().default_max_episode_steps;
  if (!game.max_episode_steps) game.max_episode_steps = own_limit;
  plain.max_episode_steps = own_limit;
  const PictureSize size = ParseSize(options.size);
  // Without a seed each sitting has other episodes; which, the panel and the recording say.
  std::uint64_t seed = 0;
  if (options.seed) {
    seed = static_cast<std::uint64_t>(
        ParseIntegerFlag("--seed", *options.seed, 0, std::numeric_limits<std::int64_t>::max()));
  } else {
    std::random_device device;
    seed = (std::uint64_t{device()} << 32) | device();
  }
  StopSignal::Install();

  const fs::path folder = FolderFor(game, plain);
  const std::optional<double> best_agent = BestAgent(game);
  std::optional<double> best_human = ReturnOf(folder / "best.recording", game);

  Session::Options session_options;
  session_options.game = game;
  session_options.next_seed = [seeds = Rng(seed, "play episodes")]() mutable { return seeds.NextBits(); };
  session_options.waits_for_key = true;
  session_options.waits_at_end = true;
  session_options.on_episode_end = [&](const EpisodeReport& report) {
    CreateFolders(folder);
    WriteRecording(*report.recording, folder / "latest.recording");
    const bool is_best = !best_human || report.episode_return > *best_human;
    if (is_best) {
      WriteRecording(*report.recording, folder / "best.recording");
      best_human = report.episode_return;
    }
    std::cout << "episode " << report.number << ": return " << FormatFixed(report.episode_return, 2)
              << ", length " << report.length << ", " << report.ending << ", seed " << report.seed
              << (is_best ? ", best so far" : "") << std::endl;
    std::vector<std::string> lines;
    lines.push_back(is_best ? "The best by hand so far" : Standing("best by hand ", best_human));
    lines.push_back(Standing("best agent ", best_agent));
    lines.push_back("N next, R the same again, Q quit");
    return lines;
  };
  Session session(std::move(session_options));
  std::cout << Standing("best by hand: ", best_human) << ", " << Standing("best agent: ", best_agent)
            << "; episodes are saved in " << folder.string() << std::endl;
  return ShowInWindow(session, "Metronome: " + game.name, size, false, false);
}

}  // namespace metronome
