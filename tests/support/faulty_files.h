#ifndef METRONOME_TESTS_SUPPORT_FAULTY_FILES_H_
#define METRONOME_TESTS_SUPPORT_FAULTY_FILES_H_

#include <cstdint>
#include <string>

namespace metronome {

/// Counts the calls by which core/ changes what is on the disk, and lets one of them go wrong, while it
/// lives. One at a time.
class FaultyFiles {
 public:
  /// What goes wrong.
  enum class Fault {
    kNone,
    kKill,       ///< The process ends before the call, as by SIGKILL, with the exit code kKilled.
    kPowerLoss,  ///< The same, and what was written and not yet synced is gone from the files.
    kError,      ///< The call fails, and nothing else does.
    kStaysFull,  ///< It and all later ones that need room fail; those that make room don't.
  };
  struct Plan {
    Fault fault = Fault::kNone;
    std::int64_t at = 0;  ///< Number of the call, from 1.
    int error = 0;        ///< errno of a call that fails.
  };
  static constexpr int kKilled = 77;

  explicit FaultyFiles(const Plan& plan);
  ~FaultyFiles();
  FaultyFiles(const FaultyFiles&) = delete;
  FaultyFiles& operator=(const FaultyFiles&) = delete;

  std::int64_t calls() const;  ///< So far.
  /// The first call that failed, "unlink runs/1/checkpoints/.tmp-50-12"; empty while none has.
  const std::string& failed() const;
};

}  // namespace metronome

#endif  // METRONOME_TESTS_SUPPORT_FAULTY_FILES_H_
