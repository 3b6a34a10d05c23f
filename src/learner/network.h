#ifndef METRONOME_LEARNER_NETWORK_H_
#define METRONOME_LEARNER_NETWORK_H_

#include <cstdint>
#include <vector>

#include "metronome/core/rng.h"
#include "metronome/learner/learner.h"

namespace metronome {

/// One fully connected layer: y = x W^T + b.
struct DenseShape {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

/// The hidden layers of `spec` and then the output layer.
std::vector<DenseShape> DenseShapes(const NetworkSpec& spec);

/// Elements of one flat vector.
std::int64_t FlatSize(const std::vector<NamedTensor>& tensors);

/// Fresh weights in that layout: each layer's weights, then its biases, uniform in +-1/sqrt(inputs).
std::vector<float> InitialWeights(const NetworkSpec& spec, Rng& rng);

}  // namespace metronome

#endif  // METRONOME_LEARNER_NETWORK_H_
