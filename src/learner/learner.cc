#include "metronome/learner/learner.h"

#include <algorithm>
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
constexpr int kMeasuredRounds = 9;
constexpr std::int64_t kNanosecondsPerRound = 4'000'000;

/// Nanoseconds of one update of a scratch learner with so many threads: the median over rounds of some
/// milliseconds.
double MeasureUpdate(const NetworkSpec& spec, const LearnerConfig& config, int threads,
                     std::span<const float> weights) {
  StaticLearner learner(spec, config, threads, weights);
  Rng rng(0);
  for (float& value : learner.batch().observations) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
  for (float& value : learner.batch().next_observations) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
  std::vector<double> rounds;
  for (int round = 0; round <= kMeasuredRounds; ++round) {
    const std::int64_t start = MonotonicNanoseconds();
    std::int64_t now = start;
    int updates = 0;
    do {
      learner.Update();
      ++updates;
      now = MonotonicNanoseconds();
    } while (now - start < kNanosecondsPerRound);
    if (round > 0) rounds.push_back(static_cast<double>(now - start) / updates);  // the first one warms up
  }
  std::nth_element(rounds.begin(), rounds.begin() + kMeasuredRounds / 2, rounds.end());
  return rounds[kMeasuredRounds / 2];
}

/// The number of threads with the fastest update, of 1, 2, 4, ... up to the machine's. A larger team must be
/// worth a tenth more speed, since it takes cores from others.
int ChooseThreads(const NetworkSpec& spec, const LearnerConfig& config, std::span<const float> weights) {
  const int cores =
      std::max(1, std::min(static_cast<int>(std::thread::hardware_concurrency()), kMaxMeasuredThreads));
  int best = 1;
  double best_time = 0.0;
  for (int threads = 1; threads <= cores; threads *= 2) {
    const double time = MeasureUpdate(spec, config, threads, weights);
    if (threads == 1 || time < 0.9 * best_time) {
      best = threads;
      best_time = time;
    }
  }
  return best;
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
