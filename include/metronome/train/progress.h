#ifndef METRONOME_TRAIN_PROGRESS_H_
#define METRONOME_TRAIN_PROGRESS_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace metronome {

/// Which messages are shown: of this weight and heavier.
enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// What a run is doing.
enum class RunPhase { kCollecting, kLearning, kEvaluating, kSaving };

/// Where a run stands; what the live line shows.
struct ProgressStatus {
  std::int64_t step = 0;         ///< Environment steps done.
  std::int64_t total_steps = 0;  ///< Environment steps of the whole run.
  std::int64_t episodes = 0;     ///< Episodes ended.
  std::int64_t updates = 0;
  double steps_per_second = 0.0;          ///< Of late; 0 while there is nothing to go by.
  std::optional<double> mean_return_100;  ///< Mean return of the last 100 episodes; empty before the first.
  double epsilon = 0.0;                   ///< As used at this step.
  std::int64_t resident_bytes = 0;
  RunPhase phase = RunPhase::kCollecting;  ///< Until updates begin the replay is being filled.
};

/// Where a run stands, in at most `width` characters (1 to 250): whole figures, the most important of them.
std::string DescribeProgress(const ProgressStatus& status, bool with_bar, int width);

/// Whether `descriptor` is a terminal that may get escape codes: not with NO_COLOR set or TERM=dumb.
bool TerminalTakesEscapes(int descriptor);

/// In characters; 80 where that isn't known.
int TerminalWidth(int descriptor);

/// The run's messages, on the terminal and in its log.txt, and the line that shows how far it is.
///
/// On a terminal that is one line at the bottom (bar, steps/s, time left, mean return, epsilon, memory),
/// redrawn at most 10 times a second, to which the terminal's present width decides how many of the figures
/// belong; messages appear above it. Where standard error is no terminal, the same figures are a log message
/// every 5 seconds. Escape codes appear on a terminal alone, and not with NO_COLOR set or TERM=dumb.
///
/// Every message is in log.txt when Info() or Warn() returns, so a kill loses none. A log.txt that has grown
/// to its bound becomes log.1.txt, that log.2.txt and so on to log.3.txt, whose predecessor goes. Show()
/// allocates nothing after its first call. Not thread-safe.
class Progress {
 public:
  struct Options {
    std::filesystem::path log_file;  ///< Appended to; empty for none.
    /// Of the terminal, which has no live line above kInfo. The file has kInfo and heavier at any level, and
    /// kDebug when that is asked for.
    LogLevel level = LogLevel::kInfo;
    int descriptor = 2;                     ///< Where the terminal is: standard error.
    std::int64_t most_log_bytes = 8 << 20;  ///< Of each log file; the last message may exceed it.
    bool stop_on_error = false;             ///< Whether a log file that can't be written is an Error.
  };

  /// Throws Error (kInputOutput) when the log file can't be opened.
  explicit Progress(const Options& options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether Show() would show anything at this time (MonotonicNanoseconds()); cheap, for every step.
  bool Due(std::int64_t now_nanoseconds) const { return now_nanoseconds >= next_show_; }

  /// Shows `status`, if it is due.
  void Show(const ProgressStatus& status, std::int64_t now_nanoseconds);

  /// The same at once, on a terminal with a live line; for what takes long between two steps.
  void Redraw(const ProgressStatus& status);

  /// Whether Debug() would do anything.
  bool debugs() const;

  /// A message is one line. When the log file can't be written, that is told on the terminal, once, or with
  /// stop_on_error thrown as Error (kInputOutput).
  void Debug(std::string_view message);
  void Info(std::string_view message);
  void Warn(std::string_view message);

  /// Leaves the last live line as it stands and goes to the next line.
  void Finish();

 private:
  struct Implementation;

  std::unique_ptr<Implementation> implementation_;
  std::int64_t next_show_;
};

}  // namespace metronome

#endif  // METRONOME_TRAIN_PROGRESS_H_
