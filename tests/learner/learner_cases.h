#ifndef METRONOME_TESTS_LEARNER_LEARNER_CASES_H_
#define METRONOME_TESTS_LEARNER_LEARNER_CASES_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "metronome/core/rng.h"
#include "metronome/learner/learner.h"

namespace metronome {

/// A network on a vector of so many numbers.
inline NetworkSpec VectorNetwork(std::int64_t observation, std::vector<std::int64_t> hidden,
                                 std::int64_t actions) {
  NetworkSpec spec;
  spec.observation_shape = {observation};
  spec.num_actions = actions;
  spec.layers.hidden = std::move(hidden);
  return spec;
}

/// A network with convolutions, [filters, kernel, stride] each, on a grid (channels, height, width).
inline NetworkSpec GridNetwork(std::vector<std::int64_t> grid, std::vector<std::array<std::int64_t, 3>> conv,
                               std::vector<std::int64_t> hidden, std::int64_t actions) {
  NetworkSpec spec;
  spec.observation_shape = std::move(grid);
  spec.num_actions = actions;
  spec.layers.conv = std::move(conv);
  spec.layers.hidden = std::move(hidden);
  return spec;
}

/// Fills the batch with random transitions, some of them terminal.
inline void FillBatch(const BatchView& batch, std::int64_t actions, Rng& rng) {
  for (float& value : batch.observations) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
  for (float& value : batch.next_observations) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
  for (std::int32_t& action : batch.actions) action = static_cast<std::int32_t>(rng.UniformInt(actions));
  for (float& reward : batch.rewards) reward = static_cast<float>(rng.Uniform(-3.0, 3.0));
  for (float& discount : batch.discounts) discount = rng.UniformInt(5) == 0 ? 0.0f : 0.9f;
}

/// Holds the norms of two learners' gradients together over a run: within 1e-4, but that ten may be off by a
/// hundredth. A gradient jumps where a unit is about to open or to close, and there the last digit of a
/// sum, which is another with every BLAS, decides on which side one row is. The loss has no such jumps.
class NormsTogether {
 public:
  bool Add(float got, float want) {
    const float difference = std::abs(got - want);
    if (difference <= 1e-4f * (1.0f + want)) return true;
    return difference <= 1e-2f * want && ++jumps_ <= 10;
  }
  /// How far weights may lie apart at the end: with a jump on the way some of Adam's steps were other ones.
  float weight_tolerance() const { return jumps_ == 0 ? 2e-4f : 2e-3f; }

 private:
  int jumps_ = 0;
};

inline std::vector<float> Copy(std::span<const float> values) { return {values.begin(), values.end()}; }

}  // namespace metronome

#endif  // METRONOME_TESTS_LEARNER_LEARNER_CASES_H_
