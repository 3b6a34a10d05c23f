#ifndef METRONOME_LEARNER_AUTOGRAD_LEARNER_H_
#define METRONOME_LEARNER_AUTOGRAD_LEARNER_H_

#include <memory>
#include <span>

#include "metronome/learner/learner.h"

namespace metronome {

/// The oracle: the same network as a torch module, trained by autograd and torch::optim::Adam, written the
/// way a textbook would. Allocates in every call. `weights` is one flat vector in the layout of tensors().
std::unique_ptr<Learner> MakeAutogradLearner(const NetworkSpec& spec, const LearnerConfig& config,
                                             int threads, std::span<const float> weights);

}  // namespace metronome

#endif  // METRONOME_LEARNER_AUTOGRAD_LEARNER_H_
