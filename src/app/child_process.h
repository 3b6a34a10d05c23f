#ifndef METRONOME_APP_CHILD_PROCESS_H_
#define METRONOME_APP_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace metronome {

/// This program once more, in a process of its own. What it prints, on either output, is read here; it has no
/// input. Where the system can (Linux), it gets SIGTERM should this process end before it.
class ChildProcess {
 public:
  /// Throws Error (kInputOutput) when it can't be started.
  explicit ChildProcess(const std::vector<std::string>& arguments);
  ~ChildProcess();  ///< Kills it when it still runs.
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The whole lines that it has printed since the last call; at its end also one without a line end.
  std::vector<std::string> TakeLines();

  /// Its exit code once it has ended, 128 + n where signal n ended it; empty while it runs.
  std::optional<int> ended();

  void Signal(int number);

  /// Becomes readable with each print and with its end; for poll().
  int descriptor() const { return descriptor_; }

 private:
  pid_t pid_ = -1;
  int descriptor_ = -1;
  std::string unread_;  // a line that isn't whole yet
  std::optional<int> code_;
};

}  // namespace metronome

#endif  // METRONOME_APP_CHILD_PROCESS_H_
