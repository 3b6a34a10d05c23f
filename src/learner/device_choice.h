#ifndef METRONOME_LEARNER_DEVICE_CHOICE_H_
#define METRONOME_LEARNER_DEVICE_CHOICE_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "metronome/learner/learner.h"

namespace metronome {

/// One way to compute with the static engine.
struct Candidate {
  std::string device = "cpu";
  bool is_generic = false;  ///< Generic ops, else the fused ones of the processor.
  bool is_careful = false;  ///< See TensorLearnerOptions.
  int threads = 1;          ///< On the CPU.

  /// "cpu, fused ops, 2 threads".
  std::string name() const;
};

std::unique_ptr<Learner> MakeStaticEngine(const NetworkSpec& spec, const LearnerConfig& config,
                                          const Candidate& candidate, std::span<const float> weights);

struct DeviceChoice {
  Candidate candidate;
  std::vector<std::string> notes;  ///< For the log: what was measured and why this one.
};

/// Settles what `device` and `config.ops` leave open, by measuring the whole step (an update and an act) of
/// this very network on each device of `found` and with 1, 2, 4, ... threads: under three seconds, beside
/// what a device needs to start. A device named is taken without a comparison. Every device but the processor
/// must pass the self-test first: one that fails it is left out, or if named, refused with Error (kNoDevice).
DeviceChoice ChooseDevice(const NetworkSpec& spec, const LearnerConfig& config, const DeviceConfig& device,
                          const std::vector<std::string>& found, std::span<const float> weights);

/// The index of the fastest of `microseconds`, but that a larger team of threads must be worth a tenth more
/// speed than a smaller one, since it takes cores from others.  REQUIRES: not empty, and of one size.
std::size_t FastestOf(const std::vector<Candidate>& candidates, const std::vector<double>& microseconds);

/// Microseconds of a step, one for each candidate: `measure(i)` measures some milliseconds of candidate i, is
/// called for each in turn, several times, and its best counts. What else the machine did for a moment must
/// not decide a run of hours. Where a larger team of threads is not the fastest, `renew()` is called and all
/// is measured again, up to kMostAttempts times while `seconds` last: a system can leave a new thread on the
/// core of its team's first for a long time, and then two threads look no better than one.
std::vector<double> MeasureInTurn(const std::vector<Candidate>& candidates,
                                  const std::function<double(std::size_t)>& measure,
                                  const std::function<void()>& renew,
                                  const std::function<double()>& seconds_left);

}  // namespace metronome

#endif  // METRONOME_LEARNER_DEVICE_CHOICE_H_
