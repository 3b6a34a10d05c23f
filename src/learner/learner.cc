#include "metronome/learner/learner.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "learner/autograd_learner.h"
#include "learner/network.h"
#include "learner/static_learner.h"
#include "metronome/core/clock.h"
#include "metronome/core/error.h"
#include "metronome/core/text.h"
#include "metronome/learner/device.h"

namespace metronome {
namespace {

constexpr int kMaxMeasuredThreads = 8;
constexpr int kMeasuredPasses = 8;
constexpr int kMeasuredRounds = 5;
constexpr std::int64_t kNanosecondsPerRound = 4'000'000;

/// Nanoseconds of one update: the median over rounds of some milliseconds.
double MeasureUpdate(StaticLearner& learner) {
  std::vector<double> rounds;
  for (int round = 0; round < kMeasuredRounds; ++round) {
    const std::int64_t start = MonotonicNanoseconds();
    std::int64_t now = start;
    int updates = 0;
    do {
      learner.Update();
      ++updates;
      now = MonotonicNanoseconds();
    } while (now - start < kNanosecondsPerRound);
    rounds.push_back(static_cast<double>(now - start) / updates);
  }
  std::nth_element(rounds.begin(), rounds.begin() + kMeasuredRounds / 2, rounds.end());
  return rounds[kMeasuredRounds / 2];
}

/// A learner to measure, with something in its batch.
std::unique_ptr<StaticLearner> MakeScratchLearner(const NetworkSpec& spec, const LearnerConfig& config,
                                                  int threads, std::span<const float> weights) {
  auto learner = std::make_unique<StaticLearner>(spec, config, threads, weights);
  Rng rng(0);
  for (float& value : learner->batch().observations) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
  for (float& value : learner->batch().next_observations) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
  return learner;
}

/// The number of threads with the fastest update, of 1, 2, 4, ... up to the machine's. A larger team must be
/// worth a tenth more speed, since it takes cores from others.
int ChooseThreads(const NetworkSpec& spec, const LearnerConfig& config, std::span<const float> weights) {
  const int cores =
      std::max(1, std::min(static_cast<int>(std::thread::hardware_concurrency()), kMaxMeasuredThreads));
  std::vector<std::unique_ptr<StaticLearner>> learners;
  for (int threads = 1; threads <= cores; threads *= 2) {
    learners.push_back(MakeScratchLearner(spec, config, threads, weights));
  }
  // Each in turn, several times, and its best counts: what else the machine did for a moment must not decide
  // a run of hours. The same threads all the time, since the system takes a while to give a new thread a core
  // of its own.
  std::vector<double> times(learners.size(), std::numeric_limits<double>::infinity());
  for (int pass = 0; pass < kMeasuredPasses; ++pass) {
    for (std::size_t i = 0; i < learners.size(); ++i) {
      times[i] = std::min(times[i], MeasureUpdate(*learners[i]));
    }
  }
  std::size_t best = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i] < 0.9 * times[best]) best = i;
  }
  return learners[best]->threads();
}

}  // namespace

std::unique_ptr<Learner> MakeLearner(const NetworkSpec& spec, const LearnerConfig& config,
                                     const DeviceConfig& device, Rng& weights) {
  const std::vector<std::string> found = DevicesFound();
  if (device.name != "auto" && std::find(found.begin(), found.end(), device.name) == found.end()) {
    throw Error(ExitCode::kNoDevice,
                "device.name: \"" + device.name + "\" is not on this machine (found: " + Join(found) + ")");
  }
  if (device.name != "auto" && device.name != "cpu") {
    throw Error(ExitCode::kNoDevice,
                "device.name: this version trains on the cpu only, not yet on \"" + device.name + "\"");
  }
  const std::vector<float> initial = InitialWeights(spec, weights);
  // libtorch's own threads make small products slower, not faster.
  SetTorchThreads(1);
  if (config.engine == Engine::kAutograd) {
    return MakeAutogradLearner(spec, config, std::max(device.threads, 1), initial);
  }
  const int threads = device.threads > 0 ? device.threads : ChooseThreads(spec, config, initial);
  return std::make_unique<StaticLearner>(spec, config, threads, initial);
}

}  // namespace metronome
