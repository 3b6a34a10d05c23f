#ifndef METRONOME_GAMES_RECORDING_H_
#define METRONOME_GAMES_RECORDING_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "metronome/games/game.h"
#include "metronome/games/registry.h"
#include "metronome/games/time_limit.h"

namespace metronome {

/// One episode, or its beginning: everything that a game's state is a function of, and hashes to prove it.
///
/// The file: one line "metronome-recording <version> <checksum of all that follows, 16 hexadecimal digits>",
/// then one JSON object with the keys game, parameters, max_episode_steps, seed, return, ending, actions,
/// hashes, metronome_version.
struct Recording {
  static constexpr int kFormatVersion = 1;
  /// A hash of the state is kept after every so many steps, and after the last one; of the state after
  /// Reset() where there is no step yet.
  static constexpr std::int64_t kStepsPerHash = 64;

  GameConfig game;         ///< With max_episode_steps set.
  std::uint64_t seed = 0;  ///< What Reset() was given.
  std::vector<std::int32_t> actions;
  std::vector<std::uint64_t> hashes;
  double episode_return = 0.0;  ///< Sum of the rewards of all actions.
  std::string ending;           ///< "terminated", "truncated", or "unfinished".
};

/// Records one episode after another into the same memory. Begin(), Add() and recording() allocate nothing as
/// long as episodes stay within `reserved_steps`; a longer one grows the vectors, once.
class Recorder {
 public:
  Recorder(const GameConfig& game, std::int64_t reserved_steps);
  void Begin(std::uint64_t seed);
  /// After each step; `game` as the step left it.
  void Add(int action, const EpisodeStep& step, const Game& game);
  /// What was recorded so far: its last hash is that of `game` now. The recording can go on after it.
  const Recording& recording(const Game& game);

 private:
  Recording recording_;
  bool last_hash_is_early_ = false;  // by recording(), between two multiples of kStepsPerHash
};

/// Throws Error (kNonFinite) when the return is not finite.
std::string SerializeRecording(const Recording& recording);
/// Throws Error (kBadCheckpoint), one line that begins with `name`: wrong format, version or checksum,
/// unknown game or parameter, an action that the game has not, a missing or foreign key.
Recording ParseRecording(std::string_view bytes, const std::string& name);
void WriteRecording(const Recording& recording, const std::filesystem::path& path);
Recording ReadRecording(const std::filesystem::path& path);

/// Plays all actions on a fresh game and leaves it where they end. Throws Error (kBadCheckpoint) that names
/// the step where a hash, the return or the end differs.
TimeLimit Replay(const Recording& recording, const std::string& name);

}  // namespace metronome

#endif  // METRONOME_GAMES_RECORDING_H_
