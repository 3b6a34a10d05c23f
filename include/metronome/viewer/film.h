#ifndef METRONOME_VIEWER_FILM_H_
#define METRONOME_VIEWER_FILM_H_

#include <cstdint>
#include <filesystem>

#include "metronome/viewer/session.h"

namespace metronome {

/// How a session is filmed. What `path` ends in says as what: ".mp4" and ".gif" through the ffmpeg program,
/// anything else is a folder of PNG files.
struct FilmOptions {
  std::filesystem::path path;
  int width = 1280;  ///< Pixels, both even.
  int height = 800;
  double speed = 1.0;  ///< Of the game in the film.
  bool close_up = true;
  bool senses = false;
};

/// Frames of a film that last one second: 25 of a GIF, else 60.
double FramesPerSecond(const std::filesystem::path& path);

/// Throws Error before anything is played: kUsage when `path` exists already, kInputOutput when it needs
/// ffmpeg and there is none in PATH.
void CheckFilmPath(const std::filesystem::path& path);

/// Plays the session to its end as fast as the machine can, without a screen, and films every moment of it.
/// Under its name the film is whole or absent. Returns the number of frames; 0 when a stop signal came, and
/// then there is no film. Throws Error (kInputOutput).
std::int64_t Film(Session& session, const FilmOptions& options);

}  // namespace metronome

#endif  // METRONOME_VIEWER_FILM_H_
