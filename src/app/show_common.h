#ifndef METRONOME_APP_SHOW_COMMON_H_
#define METRONOME_APP_SHOW_COMMON_H_

#include <optional>
#include <string>
#include <vector>

#include "metronome/games/registry.h"
#include "metronome/viewer/session.h"

namespace metronome {

/// What `watch` and `play` share.

/// Pixels, or points on a high-resolution screen.
struct PictureSize {
  int width = 1280;
  int height = 800;
};
/// Of "WIDTHxHEIGHT", both even. Throws Error (kUsage).
PictureSize ParseSize(const std::optional<std::string>& text);

/// A game with its settings from the command line, each "game.KEY=VALUE".
GameConfig GameFromCommandLine(const std::string& command, const std::string& game,
                               const std::vector<std::string>& set);

/// Shows a session in a window and returns the exit code.
int ShowInWindow(Session& session, const std::string& title, PictureSize size, bool whole, bool senses);

}  // namespace metronome

#endif  // METRONOME_APP_SHOW_COMMON_H_
