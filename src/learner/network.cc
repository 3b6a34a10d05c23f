#include "learner/network.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "metronome/core/check.h"

namespace metronome {

std::int64_t ObservationSize(const NetworkSpec& spec) {
  return std::accumulate(spec.observation_shape.begin(), spec.observation_shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

std::vector<ConvShape> ConvShapes(const NetworkSpec& spec) {
  std::vector<ConvShape> shapes;
  if (spec.layers.conv.empty()) return shapes;
  METRONOME_CHECK_EQ(spec.observation_shape.size(), std::size_t{3});
  std::int64_t channels = spec.observation_shape[0];
  std::int64_t height = spec.observation_shape[1];
  std::int64_t width = spec.observation_shape[2];
  for (const auto& [filters, kernel, stride] : spec.layers.conv) {
    METRONOME_CHECK_GT(filters, 0);
    METRONOME_CHECK_GT(kernel, 0);
    METRONOME_CHECK_GT(stride, 0);
    METRONOME_CHECK_LE(kernel, std::min(height, width));
    shapes.push_back({channels, height, width, filters, kernel, stride});
    channels = filters;
    height = shapes.back().out_height();
    width = shapes.back().out_width();
  }
  return shapes;
}

std::vector<DenseShape> DenseShapes(const NetworkSpec& spec) {
  METRONOME_CHECK_GT(spec.num_actions, 0);
  std::int64_t inputs = ObservationSize(spec);
  const std::vector<ConvShape> convolutions = ConvShapes(spec);
  if (!convolutions.empty()) inputs = convolutions.back().filters * convolutions.back().positions();
  METRONOME_CHECK_GT(inputs, 0);
  std::vector<DenseShape> shapes;
  for (const std::int64_t width : spec.layers.hidden) {
    METRONOME_CHECK_GT(width, 0);
    shapes.push_back({inputs, width});
    inputs = width;
  }
  shapes.push_back({inputs, spec.num_actions});
  return shapes;
}

std::vector<NamedTensor> TensorsOf(const NetworkSpec& spec) {
  const std::vector<DenseShape> shapes = DenseShapes(spec);
  std::vector<NamedTensor> tensors;
  std::int64_t offset = 0;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape, std::int64_t size) {
    tensors.push_back({name, std::move(shape), offset, size});
    offset += size;
  };
  const std::vector<ConvShape> convolutions = ConvShapes(spec);
  for (std::size_t i = 0; i < convolutions.size(); ++i) {
    const ConvShape& shape = convolutions[i];
    const std::string layer = "conv." + std::to_string(i);
    add(layer + ".weight", {shape.filters, shape.channels, shape.kernel, shape.kernel},
        shape.filters * shape.fan_in());
    add(layer + ".bias", {shape.filters}, shape.filters);
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto [inputs, outputs] = shapes[i];
    const std::string layer = i + 1 == shapes.size() ? "output" : "hidden." + std::to_string(i);
    add(layer + ".weight", {outputs, inputs}, outputs * inputs);
    add(layer + ".bias", {outputs}, outputs);
  }
  return tensors;
}

std::int64_t FlatSize(const std::vector<NamedTensor>& tensors) {
  return tensors.back().offset + tensors.back().size;
}

double UpdateFlops(const NetworkSpec& spec, const LearnerConfig& config) {
  double forward = 0.0;
  double backward = 0.0;
  bool is_first = true;
  const auto add = [&](std::int64_t multiplications) {
    const auto products = static_cast<double>(multiplications);
    forward += products;
    backward += is_first ? products : 2.0 * products;
    is_first = false;
  };
  for (const ConvShape& shape : ConvShapes(spec)) add(shape.positions() * shape.fan_in() * shape.filters);
  for (const auto [inputs, outputs] : DenseShapes(spec)) add(inputs * outputs);
  const double passes = config.double_dqn ? 3.0 : 2.0;
  return 2.0 * static_cast<double>(config.batch_size) * (passes * forward + backward);
}

std::vector<float> InitialWeights(const NetworkSpec& spec, Rng& rng) {
  std::vector<float> weights;
  const auto add = [&](std::int64_t inputs, std::int64_t outputs) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
    for (std::int64_t i = 0; i < outputs * inputs + outputs; ++i) {
      weights.push_back(static_cast<float>(rng.Uniform(-bound, bound)));
    }
  };
  for (const ConvShape& shape : ConvShapes(spec)) add(shape.fan_in(), shape.filters);
  for (const auto [inputs, outputs] : DenseShapes(spec)) add(inputs, outputs);
  return weights;
}

}  // namespace metronome
