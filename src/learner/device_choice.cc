#include "learner/device_choice.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "learner/self_test.h"
#include "learner/static_learner.h"
#include "learner/tensor_learner.h"
#include "metronome/core/check.h"
#include "metronome/core/clock.h"
#include "metronome/core/error.h"
#include "metronome/core/text.h"
#include "metronome/learner/device.h"

namespace metronome {
namespace {

constexpr int kMaxMeasuredThreads = 8;
constexpr int kPasses = 8;
constexpr int kMostAttempts = 4;
constexpr std::int64_t kNanosecondsPerPass = 20'000'000;
// Of all measuring together; one step of a candidate may begin just before the end.
constexpr double kSeconds = 2.2;
// A device other than the processor compiles or records its work in the first steps.
constexpr int kWarmUpSteps = 50;
constexpr std::int64_t kWarmUpNanoseconds = 400'000'000;
// How much faster a larger team of threads must be.
constexpr double kWorthMoreThreads = 0.9;

/// A learner to measure, with something in its batch.
struct Scratch {
  std::unique_ptr<Learner> learner;
  std::vector<float> observation;
  std::vector<float> q_values;

  Scratch(const NetworkSpec& spec, const LearnerConfig& config, const Candidate& candidate,
          std::span<const float> weights)
      : learner(MakeStaticEngine(spec, config, candidate, weights)),
        observation(learner->batch().observations.size() / learner->batch().rewards.size()),
        q_values(static_cast<std::size_t>(spec.num_actions)) {
    Rng rng(0);
    for (float& value : learner->batch().observations) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
    for (float& value : learner->batch().next_observations) {
      value = static_cast<float>(rng.Uniform(-1.0, 1.0));
    }
  }

  void Step() { learner->UpdateAndQValues(observation, q_values); }

  void WarmUp() {
    const std::int64_t start = MonotonicNanoseconds();
    for (int step = 0; step < kWarmUpSteps && MonotonicNanoseconds() - start < kWarmUpNanoseconds; ++step) {
      Step();
    }
  }

  /// Microseconds of one step, the mean over some milliseconds.
  double Measure() {
    const std::int64_t start = MonotonicNanoseconds();
    std::int64_t now = start;
    int steps = 0;
    do {
      Step();
      ++steps;
      now = MonotonicNanoseconds();
    } while (now - start < kNanosecondsPerPass);
    return static_cast<double>(now - start) / 1e3 / steps;
  }
};

/// What a device needs to be computed on: "" and `careful` settled, or why it can't be.
std::string FaultOf(const std::string& device, const NetworkSpec& spec, const LearnerConfig& config,
                    bool& careful) {
  careful = device == "mps" && !MpsTakesTransposed(TorchVersion());
  std::string fault;
  try {
    fault = SelfTest(spec, config, {.device = device, .careful = careful});
    if (!fault.empty() && !careful) {
      careful = true;
      fault = SelfTest(spec, config, {.device = device, .careful = true});
    }
  } catch (const Error& error) {
    return error.what();
  }
  if (fault.empty()) return fault;
  const std::string macos = MacosVersion();
  return device + " computes wrongly with libtorch " + TorchVersion() +
         (macos.empty() ? "" : " on macOS " + macos) + ": " + fault;
}

std::vector<int> ThreadsToMeasure() {
  const int cores = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxMeasuredThreads);
  std::vector<int> counts;
  for (int threads = 1; threads <= cores; threads *= 2) counts.push_back(threads);
  return counts;
}

void AddWhy(const std::vector<Candidate>& candidates, const std::vector<double>& microseconds,
            std::size_t chosen, std::vector<std::string>& notes) {
  notes.push_back("measured, a step with its update and act, in us:");
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    notes.push_back("  " + candidates[i].name() + ": " + FormatFixed(microseconds[i], 1));
  }
  std::string why;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i == chosen) continue;
    const double ratio = microseconds[i] / microseconds[chosen];
    why += (why.empty() ? "" : ", ") + FormatFixed(ratio, 2) + " times as fast as " + candidates[i].name();
  }
  notes.push_back("chosen: " + candidates[chosen].name() + "; " + why +
                  " (more threads only where they are a tenth faster)");
}

}  // namespace

std::string Candidate::name() const {
  std::string text = device;
  if (device == "cpu")
    text += is_generic ? ", generic ops, " + FormatCount(threads, "thread")
                       : ", fused ops, " + FormatCount(threads, "thread");
  return text;
}

std::unique_ptr<Learner> MakeStaticEngine(const NetworkSpec& spec, const LearnerConfig& config,
                                          const Candidate& candidate, std::span<const float> weights) {
  if (!candidate.is_generic) return std::make_unique<StaticLearner>(spec, config, candidate.threads, weights);
  TensorLearnerOptions options;
  options.device = candidate.device;
  options.threads = candidate.threads;
  options.careful = candidate.is_careful;
  return MakeTensorLearner(spec, config, options, weights);
}

std::size_t FastestOf(const std::vector<Candidate>& candidates, const std::vector<double>& microseconds) {
  METRONOME_CHECK(!candidates.empty() && candidates.size() == microseconds.size());
  std::size_t best = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    const bool is_larger_team = candidates[i].device == candidates[best].device &&
                                candidates[i].is_generic == candidates[best].is_generic &&
                                candidates[i].threads > candidates[best].threads;
    if (microseconds[i] < (is_larger_team ? kWorthMoreThreads : 1.0) * microseconds[best]) best = i;
  }
  return best;
}

std::vector<double> MeasureInTurn(const std::vector<Candidate>& candidates,
                                  const std::function<double(std::size_t)>& measure,
                                  const std::function<void()>& renew,
                                  const std::function<double()>& seconds_left) {
  std::vector<double> times(candidates.size(), std::numeric_limits<double>::infinity());
  const int most_threads = std::max_element(candidates.begin(), candidates.end(),
                                            [](const Candidate& left, const Candidate& right) {
                                              return left.threads < right.threads;
                                            })
                               ->threads;
  for (int attempt = 1; attempt <= kMostAttempts; ++attempt) {
    const double before = seconds_left();
    if (attempt > 1) renew();
    for (int pass = 0; pass < kPasses; ++pass) {
      // Once each, however long it takes.
      if ((attempt > 1 || pass > 0) && seconds_left() <= 0.0) return times;
      for (std::size_t i = 0; i < candidates.size(); ++i) times[i] = std::min(times[i], measure(i));
    }
    const Candidate& fastest = candidates[FastestOf(candidates, times)];
    if (fastest.device != "cpu" || fastest.threads == most_threads) break;
    if (before - seconds_left() > seconds_left()) break;  // another attempt would not be a whole one
  }
  return times;
}

DeviceChoice ChooseDevice(const NetworkSpec& spec, const LearnerConfig& config, const DeviceConfig& device,
                          const std::vector<std::string>& found, std::span<const float> weights) {
  DeviceChoice choice;
  const bool is_auto = device.name == "auto";
  std::vector<Candidate> candidates;
  for (const std::string& name : found) {
    if (!is_auto && name != device.name) continue;
    Candidate candidate;
    candidate.device = name;
    if (name == "cpu") {
      candidate.is_generic = config.ops == Ops::kGeneric;
      // Sums of libtorch may come out differently with another number of threads, and a run must not: so no
      // choice by measurement for the generic ops.
      const std::vector<int> counts = device.threads > 0     ? std::vector<int>{device.threads}
                                      : candidate.is_generic ? std::vector<int>{1}
                                                             : ThreadsToMeasure();
      for (const int threads : counts) {
        candidate.threads = threads;
        candidates.push_back(candidate);
      }
      continue;
    }
    if (config.ops == Ops::kFused) {
      if (!is_auto) throw Error(ExitCode::kUsage, "learner.ops: fused ops are for the cpu, not for " + name);
      choice.notes.push_back(name + " is left out: fused ops are for the cpu");
      continue;
    }
    const std::vector<std::string> warnings = DeviceWarnings(name);
    for (const std::string& warning : warnings) choice.notes.push_back("warning: " + warning);
    if (is_auto && !warnings.empty()) {
      choice.notes.push_back(name + " is left out for that; device.name = \"" + name +
                             "\" takes it all the same");
      continue;
    }
    candidate.is_generic = true;
    const std::string fault = FaultOf(name, spec, config, candidate.is_careful);
    if (!fault.empty()) {
      if (!is_auto) throw Error(ExitCode::kNoDevice, "device.name: " + fault);
      choice.notes.push_back("warning: " + name + " is left out: " + fault);
      continue;
    }
    candidates.push_back(candidate);
  }
  if (is_auto && found.size() == 1) {
    choice.notes.push_back("device auto: cpu, the only device that libtorch " + TorchVersion() +
                           " finds here");
  }
  METRONOME_CHECK(!candidates.empty());
  if (candidates.size() == 1) {
    choice.candidate = candidates.front();
    return choice;
  }

  std::vector<std::unique_ptr<Scratch>> scratches;
  const auto renew = [&] {
    scratches.clear();  // before the new ones, so that only one set of threads is there
    for (const Candidate& candidate : candidates) {
      scratches.push_back(std::make_unique<Scratch>(spec, config, candidate, weights));
      if (candidate.device != "cpu") scratches.back()->WarmUp();
    }
  };
  renew();
  const std::int64_t start = MonotonicNanoseconds();
  const auto measure = [&](std::size_t i) { return scratches[i]->Measure(); };
  const auto seconds_left = [&] {
    return kSeconds - 1e-9 * static_cast<double>(MonotonicNanoseconds() - start);
  };
  const std::vector<double> microseconds = MeasureInTurn(candidates, measure, renew, seconds_left);
  const std::size_t chosen = FastestOf(candidates, microseconds);
  AddWhy(candidates, microseconds, chosen, choice.notes);
  choice.candidate = candidates[chosen];
  return choice;
}

}  // namespace metronome
