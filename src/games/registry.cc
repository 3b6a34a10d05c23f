#include "metronome/games/registry.h"

#include <algorithm>

#include "games/cartpole.h"
#include "games/minatar/asterix.h"
#include "games/minatar/breakout.h"
#include "games/minatar/freeway.h"
#include "games/minatar/seaquest.h"
#include "games/minatar/space_invaders.h"
#include "games/racer.h"
#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/text.h"

namespace metronome {

std::span<const GameInfo> Games() {
  // The table of all games, in alphabetical order. Registering objects would be dropped by the linker when
  // nothing else of their file is used. One a line, so that a new game is a line.
  // clang-format off
  static const std::vector<GameInfo> games = {
      AsterixInfo(),
      BreakoutInfo(),
      CartpoleInfo(),
      FreewayInfo(),
      RacerInfo(),
      SeaquestInfo(),
      SpaceInvadersInfo(),
  };
  // clang-format on
  return games;
}

const GameInfo& FindGame(std::string_view name) {
  const std::span<const GameInfo> games = Games();
  const auto found =
      std::find_if(games.begin(), games.end(), [&](const GameInfo& info) { return info.name == name; });
  if (found != games.end()) return *found;
  std::vector<std::string> names;
  for (const GameInfo& info : games) names.push_back(info.name);
  throw Error(ExitCode::kUsage, "no game is called \"" + std::string(name) + "\"; the nearest is \"" +
                                    NearestName(name, names) + "\"; there are: " + Join(names));
}

std::unique_ptr<Game> MakeGame(std::string_view name, const GameParameters& parameters) {
  const GameInfo& info = FindGame(name);
  // Values made for another game would be read under the wrong names.
  METRONOME_CHECK(std::equal(
      parameters.specs().begin(), parameters.specs().end(), info.parameters.begin(), info.parameters.end(),
      [](const ParameterSpec& left, const ParameterSpec& right) { return left.name == right.name; }));
  return info.make(parameters);
}

std::unique_ptr<Game> MakeGame(std::string_view name) {
  return MakeGame(name, GameParameters(FindGame(name).parameters));
}

GameConfig MakeGameConfig(std::string_view name) {
  const GameInfo& info = FindGame(name);
  return {
      .name = info.name, .parameters = GameParameters(info.parameters), .max_episode_steps = std::nullopt};
}

}  // namespace metronome
