#ifndef METRONOME_LEARNER_NETWORK_H_
#define METRONOME_LEARNER_NETWORK_H_

#include <cstdint>
#include <vector>

#include "metronome/core/rng.h"
#include "metronome/learner/learner.h"

namespace metronome {

/// One convolution layer over a (channels, height, width) grid, without padding:
///   y[f][i][j] = b[f] + sum over c, u, v of W[f][c][u][v] x[c][i * stride + u][j * stride + v]
struct ConvShape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t filters = 0;
  std::int64_t kernel = 0;
  std::int64_t stride = 0;

  std::int64_t out_height() const { return (height - kernel) / stride + 1; }
  std::int64_t out_width() const { return (width - kernel) / stride + 1; }
  std::int64_t positions() const { return out_height() * out_width(); }
  /// Inputs of one output: channels * kernel^2.
  std::int64_t fan_in() const { return channels * kernel * kernel; }
};

/// One fully connected layer: y = x W^T + b.
struct DenseShape {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

/// Numbers of one observation.
std::int64_t ObservationSize(const NetworkSpec& spec);

/// The convolution layers of `spec`.  REQUIRES (checked): a grid where there are any, and kernels that fit.
std::vector<ConvShape> ConvShapes(const NetworkSpec& spec);

/// The hidden layers of `spec` and then the output layer. The first one's inputs are the observation, or what
/// the last convolution gives, in the order (filters, height, width).
std::vector<DenseShape> DenseShapes(const NetworkSpec& spec);

/// Elements of one flat vector.
std::int64_t FlatSize(const std::vector<NamedTensor>& tensors);

/// Fresh weights in that layout: each layer's weights, then its biases, uniform in +-1/sqrt(inputs).
std::vector<float> InitialWeights(const NetworkSpec& spec, Rng& rng);

}  // namespace metronome

#endif  // METRONOME_LEARNER_NETWORK_H_
