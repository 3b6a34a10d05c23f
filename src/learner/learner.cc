#include "metronome/learner/learner.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "learner/autograd_learner.h"
#include "learner/device_choice.h"
#include "learner/network.h"
#include "learner/static_learner.h"
#include "learner/tensor_learner.h"
#include "metronome/core/error.h"
#include "metronome/core/text.h"
#include "metronome/learner/device.h"

namespace metronome {

std::unique_ptr<Learner> MakeLearner(const NetworkSpec& spec, const LearnerConfig& config,
                                     const DeviceConfig& device, Rng& weights) {
  const std::vector<std::string> found = DevicesFound();
  if (device.name != "auto" && std::find(found.begin(), found.end(), device.name) == found.end()) {
    throw Error(ExitCode::kNoDevice,
                "device.name: \"" + device.name + "\" is not on this machine (found: " + Join(found) + ")");
  }
  const std::vector<float> initial = InitialWeights(spec, weights);
  SeedTorch(0);
  // libtorch's own threads make small products slower, not faster.
  SetTorchThreads(1);
  if (config.engine == Engine::kAutograd) {
    return MakeAutogradLearner(spec, config, std::max(device.threads, 1), initial);
  }
  DeviceChoice choice = ChooseDevice(spec, config, device, found, initial);
  std::unique_ptr<Learner> learner = MakeStaticEngine(spec, config, choice.candidate, initial);
  learner->set_notes(std::move(choice.notes));
  return learner;
}

}  // namespace metronome
