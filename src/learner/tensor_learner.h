#ifndef METRONOME_LEARNER_TENSOR_LEARNER_H_
#define METRONOME_LEARNER_TENSOR_LEARNER_H_

#include <memory>
#include <span>
#include <string>

#include "metronome/learner/learner.h"

namespace metronome {

struct TensorLearnerOptions {
  std::string device = "cpu";  ///< "cpu", "mps" or "cuda".
  int threads = 1;             ///< Of libtorch, on the CPU.
  /// The slower way, for a device that gets the other one wrong: every operand of a product is contiguous (a
  /// transposed one is copied first), and a bias is added by an op of its own.
  bool careful = false;
  /// Replays recorded work where the device can (CUDA graphs); else every op is sent anew.
  bool record = true;
};

/// The static plan in ops that every device has: the generic ops. The same update as StaticLearner's, written
/// by hand over tensors that are made once, all float32, contiguous and of one shape for good:
///   - products of two matrices only, of two rows or more (one row alone loses its bias on some Macs);
///   - convolutions by gathering patches into a matrix (index_select), and back by another gather and a sum,
///     so that their gradient has one order too;
///   - Q(s, a) by a product with a one-hot row and not by a gather;
///   - no number of the host that changes (MPS compiles an op anew for each value): what changes comes in the
///     upload.
/// One upload and one read-back make an update, an act, or both at once.
///
/// Equals StaticLearner but for rounding; a gradient whose norm is above 1.8e19 counts as infinite, since its
/// square is summed in float32.
///
/// Throws Error (kNoDevice) in one line when the device fails.
std::unique_ptr<Learner> MakeTensorLearner(const NetworkSpec& spec, const LearnerConfig& config,
                                           const TensorLearnerOptions& options,
                                           std::span<const float> weights);

}  // namespace metronome

#endif  // METRONOME_LEARNER_TENSOR_LEARNER_H_
