#ifndef METRONOME_APP_SHOW_H_
#define METRONOME_APP_SHOW_H_

#include <optional>
#include <string>
#include <vector>

namespace metronome {

/// What `watch` was asked for, as text and not yet judged.
struct WatchOptions {
  std::string target;  ///< A run folder, a checkpoint or a recording; with `policy`, a game.
  std::optional<std::string> policy;
  std::vector<std::string> set;
  std::optional<std::string> episodes;
  std::optional<std::string> speed;
  std::optional<std::string> seed;
  std::optional<std::string> epsilon;
  std::optional<std::string> record;
  std::optional<std::string> size;
  bool follow = false;
  bool whole = false;
  bool senses = false;
};
/// In a build without the viewer both throw Error (kUsage).
int RunWatch(const WatchOptions& options);

struct PlayOptions {
  std::string game;
  std::vector<std::string> set;
  std::optional<std::string> seed;
  std::optional<std::string> size;
};
int RunPlay(const PlayOptions& options);

}  // namespace metronome

#endif  // METRONOME_APP_SHOW_H_
