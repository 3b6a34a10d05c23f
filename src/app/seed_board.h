#ifndef METRONOME_APP_SEED_BOARD_H_
#define METRONOME_APP_SEED_BOARD_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "metronome/core/file.h"
#include "metronome/train/progress.h"

namespace metronome {

/// What is said of several runs: messages, also in a log, and on a terminal below them one line for each run
/// that is under way. Without a terminal, with NO_COLOR or TERM=dumb, those lines come every 10 seconds.
class SeedBoard {
 public:
  SeedBoard(const std::filesystem::path& log, LogLevel level, int descriptor = 2);

  /// Throws Error (kInputOutput) when the log can't be written.
  void Say(const std::string& message, LogLevel weight = LogLevel::kInfo);

  /// The lines as they stand now; `now` as MonotonicNanoseconds().
  void Show(const std::vector<std::string>& lines, std::int64_t now);

  /// Takes the lines away.
  void Clear();

  /// Characters that a line has room for.
  int width() const;

 private:
  std::string Erasure() const;
  std::string Drawing() const;

  AppendFile log_;
  const LogLevel level_;
  const int descriptor_;
  const bool live_;
  std::vector<std::string> lines_;  // on the screen
  std::int64_t next_message_ = 0;
};

/// Where the run in `folder` stands, by its episodes.csv; steps a second are those of its last 100 episodes.
ProgressStatus ReadStatus(const std::filesystem::path& folder, std::int64_t total_steps);

}  // namespace metronome

#endif  // METRONOME_APP_SEED_BOARD_H_
