#ifndef METRONOME_LEARNER_SELF_TEST_H_
#define METRONOME_LEARNER_SELF_TEST_H_

#include <cstdint>
#include <string>

#include "learner/tensor_learner.h"
#include "metronome/learner/learner.h"

namespace metronome {

/// What `candidate` gets wrong of what `reference` computes, in a few words with numbers; "" when nothing:
/// three updates of a random batch, and after each the Q-values of one observation. Both must have the same
/// weights, with biases that are not 0. Wrong is what no other order of a sum explains.
std::string Differences(const NetworkSpec& spec, const LearnerConfig& config, Learner& reference,
                        Learner& candidate, std::uint64_t seed = 20);

/// The same of the generic ops on a device, against the fused ones on the processor, for this very network.
/// Twice if the first time something is wrong: two actions of equal value to the last digit are two right
/// answers, once in hundreds of tests. Correctness there hangs on the versions of libtorch, of the system and
/// of the chip: no table tells. Throws Error (kNoDevice) when the device fails altogether.
std::string SelfTest(const NetworkSpec& spec, const LearnerConfig& config,
                     const TensorLearnerOptions& options);

}  // namespace metronome

#endif  // METRONOME_LEARNER_SELF_TEST_H_
