#include "learner/network.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "metronome/core/check.h"

namespace metronome {

std::vector<DenseShape> DenseShapes(const NetworkSpec& spec) {
  METRONOME_CHECK(spec.layers.conv.empty());
  METRONOME_CHECK_GT(spec.num_actions, 0);
  std::int64_t inputs = std::accumulate(spec.observation_shape.begin(), spec.observation_shape.end(),
                                        std::int64_t{1}, std::multiplies<>());
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
  for (const auto [inputs, outputs] : DenseShapes(spec)) {
    const auto weights = static_cast<double>(inputs * outputs);
    forward += weights;
    backward += is_first ? weights : 2.0 * weights;
    is_first = false;
  }
  const double passes = config.double_dqn ? 3.0 : 2.0;
  return 2.0 * static_cast<double>(config.batch_size) * (passes * forward + backward);
}

std::vector<float> InitialWeights(const NetworkSpec& spec, Rng& rng) {
  std::vector<float> weights;
  for (const auto [inputs, outputs] : DenseShapes(spec)) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
    for (std::int64_t i = 0; i < outputs * inputs + outputs; ++i) {
      weights.push_back(static_cast<float>(rng.Uniform(-bound, bound)));
    }
  }
  return weights;
}

}  // namespace metronome
