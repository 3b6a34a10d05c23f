#ifndef METRONOME_VIEWER_WINDOW_H_
#define METRONOME_VIEWER_WINDOW_H_

#include <functional>
#include <memory>
#include <string>

#include "metronome/viewer/session.h"

namespace metronome {

/// A session in a window, on whatever screen there is. On the main thread only; one at a time.
///
/// The game's pace is that of the clock: a fast screen shows the same tick twice, a slow one leaves some out.
/// Events are read in every frame. While nothing moves (paused, minimised) it sleeps until an event comes,
/// and a minimised window lets no time pass.
class Window {
 public:
  struct Options {
    std::string title;
    int width = 1280;  ///< In the screen's own units: points on a high-resolution one.
    int height = 800;
    bool vsync = true;     ///< Waits for the screen where that is possible.
    bool paced = true;     ///< Else frames follow each other as fast as they can; for tests.
    bool close_up = true;  ///< To begin with; keys change it.
    bool senses = false;
    /// For what the window fell back to, one line each.
    std::function<void(const std::string&)> on_message;
  };

  /// Throws Error (kInputOutput), one line, when there is no screen. A driver without a screen ("dummy",
  /// "offscreen") counts as one when SDL_VIDEODRIVER asks for it.
  Window(Session& session, Options options);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// One frame: reads all events, lets the session advance, and shows it. False when the window was closed
  /// or the session is over.
  bool Frame();

  /// Frames until then, or until a stop signal. The exit code: 0, or 128 + n for signal n.
  int Run();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace metronome

#endif  // METRONOME_VIEWER_WINDOW_H_
