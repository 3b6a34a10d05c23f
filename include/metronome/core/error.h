#ifndef METRONOME_CORE_ERROR_H_
#define METRONOME_CORE_ERROR_H_

#include <stdexcept>
#include <string>

namespace metronome {

/// The program's exit codes. A run stopped by signal n ends with 128 + n after saving.
enum class ExitCode : int {
  kDone = 0,
  kInputOutput = 1,    ///< A file or disk failed.
  kUsage = 2,          ///< Bad command line or configuration.
  kBadCheckpoint = 3,  ///< Bad or foreign checkpoint or recording.
  kNonFinite = 4,      ///< A NaN or an infinity.
  kNoDevice = 5,       ///< The device asked for is not there.
};

/// What a user can set right: the message is one line that names the file, key or step, what was found and
/// what is allowed. `main` prints it on standard error and returns the code.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace metronome

#endif  // METRONOME_CORE_ERROR_H_
