#ifndef METRONOME_GAMES_TIME_LIMIT_H_
#define METRONOME_GAMES_TIME_LIMIT_H_

#include <cstdint>
#include <memory>

#include "metronome/games/game.h"
#include "metronome/games/registry.h"

namespace metronome {

/// How an episode stands after a step. Both flags can be up at once: it then counts as terminated.
struct EpisodeStep {
  float reward = 0.0f;
  bool terminated = false;  ///< The game's rules ended it: nothing is earned afterwards.
  bool truncated = false;   ///< The step limit cut it off: the values go on.
  bool ended() const { return terminated || truncated; }
};

/// A game whose episodes are cut after a number of steps, counted here and not in the game.
class TimeLimit {
 public:
  /// `max_steps` 0 sets no limit.
  TimeLimit(std::unique_ptr<Game> game, std::int64_t max_steps);
  /// The game and limit of a config.
  explicit TimeLimit(const GameConfig& config);

  void Reset(std::uint64_t seed);
  /// REQUIRES (checked): the episode has not ended.
  EpisodeStep Step(int action);

  Game& game() { return *game_; }
  const Game& game() const { return *game_; }
  std::int64_t max_steps() const { return max_steps_; }
  /// Steps since Reset().
  std::int64_t steps() const { return steps_; }

 private:
  std::unique_ptr<Game> game_;
  std::int64_t max_steps_;
  std::int64_t steps_ = 0;
  bool ended_ = true;
};

}  // namespace metronome

#endif  // METRONOME_GAMES_TIME_LIMIT_H_
