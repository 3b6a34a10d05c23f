#ifndef METRONOME_GAMES_REGISTRY_H_
#define METRONOME_GAMES_REGISTRY_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metronome/games/game.h"
#include "metronome/games/parameters.h"

namespace metronome {

/// A game's entry in the table of src/games/registry.cc.
struct GameInfo {
  std::string name;
  std::string summary;  ///< One line.
  std::vector<ParameterSpec> parameters;
  std::unique_ptr<Game> (*make)(const GameParameters&) = nullptr;
  /// nullptr where the game has no scripted player.
  std::unique_ptr<ScriptedPolicy> (*make_scripted_policy)(const GameParameters&) = nullptr;
};

/// All games, by name.
std::span<const GameInfo> Games();

/// Throws Error (kUsage) that names the nearest game when there is none called `name`.
const GameInfo& FindGame(std::string_view name);

/// REQUIRES (checked): `parameters` were made from FindGame(name).parameters.
std::unique_ptr<Game> MakeGame(std::string_view name, const GameParameters& parameters);
/// With the default parameters.
std::unique_ptr<Game> MakeGame(std::string_view name);

/// Which game, how set up: the [game] section of a config.
struct GameConfig {
  std::string name;
  GameParameters parameters;
  /// Steps after which an episode is truncated, 0 never; empty takes the game's own.
  std::optional<std::int64_t> max_episode_steps;
};

/// The game called `name` with its default parameters and its own step limit.
GameConfig MakeGameConfig(std::string_view name);

}  // namespace metronome

#endif  // METRONOME_GAMES_REGISTRY_H_
