#include "learner/self_test.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "learner/network.h"
#include "learner/static_learner.h"

namespace metronome {
namespace {

constexpr int kUpdates = 3;
// Of the largest number of its kind. A bias that is left out, a product over wrong rows, a sum that lacks a
// term are off by a tenth and more; another order of a sum by a millionth.
constexpr float kTolerance = 1e-3f;

void FillBatch(const BatchView& batch, std::int64_t actions, Rng& rng) {
  for (float& value : batch.observations) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
  for (float& value : batch.next_observations) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
  for (std::int32_t& action : batch.actions) action = static_cast<std::int32_t>(rng.UniformInt(actions));
  for (float& reward : batch.rewards) reward = static_cast<float>(rng.Uniform(-2.0, 2.0));
  for (float& discount : batch.discounts) discount = rng.UniformInt(4) == 0 ? 0.0f : 0.9f;
}

/// "" or what differs.
std::string Compare(const char* what, std::span<const float> want, std::span<const float> got,
                    float absolute = 0.0f) {
  float largest = 1e-6f;
  for (const float value : want) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::abs(got[i] - want[i]) <= kTolerance * largest + absolute) continue;  // so that a NaN differs
    char text[160];
    std::snprintf(text, sizeof(text), "%s: number %zu is %g and must be %g", what, i,
                  static_cast<double>(got[i]), static_cast<double>(want[i]));
    return text;
  }
  return "";
}

}  // namespace

std::string Differences(const NetworkSpec& spec, const LearnerConfig& config, Learner& reference,
                        Learner& candidate, std::uint64_t seed) {
  Rng rng(seed);
  const std::size_t size = reference.batch().observations.size() / reference.batch().rewards.size();
  std::vector<float> observation(size);
  std::vector<float> want_q(static_cast<std::size_t>(spec.num_actions)), got_q(want_q.size());
  std::string difference;
  const auto differs = [&](const char* what, std::span<const float> want, std::span<const float> got,
                           float absolute = 0.0f) {
    difference = Compare(what, want, got, absolute);
    return !difference.empty();
  };
  for (int update = 1; update <= kUpdates; ++update) {
    Rng same = rng;
    FillBatch(reference.batch(), spec.num_actions, rng);
    FillBatch(candidate.batch(), spec.num_actions, same);
    for (float& value : observation) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
    const UpdateResult want = reference.Update();
    reference.QValues(observation, want_q);
    const UpdateResult got = candidate.Update();
    candidate.QValues(observation, got_q);
    // Where a gradient is all but nothing, Adam makes a whole step of its rounding. A step at most, each
    // time.
    const auto step = static_cast<float>(2.0 * config.learning_rate * update);
    if (differs("Q-values of one observation", want_q, got_q, step) ||
        differs("loss", std::span(&want.loss, 1), std::span(&got.loss, 1)) ||
        differs("mean Q-value", std::span(&want.q_mean, 1), std::span(&got.q_mean, 1), step) ||
        differs("gradient's norm", std::span(&want.gradient_norm, 1), std::span(&got.gradient_norm, 1)) ||
        differs("first moment", reference.first_moment(), candidate.first_moment()) ||
        differs("second moment", reference.second_moment(), candidate.second_moment()) ||
        differs("weights", reference.online(), candidate.online(), step)) {
      return "update " + std::to_string(update) + ", " + difference;
    }
  }
  return "";
}

std::string SelfTest(const NetworkSpec& spec, const LearnerConfig& config,
                     const TensorLearnerOptions& options) {
  Rng rng(19);
  const std::vector<float> weights = InitialWeights(spec, rng);
  LearnerConfig small_steps = config;
  // So that the steps of Adam hide nothing; what they are otherwise is a number that all devices get.
  small_steps.learning_rate = std::min(config.learning_rate, 1e-4);
  std::string difference;
  for (const std::uint64_t seed : {20, 21}) {
    StaticLearner reference(spec, small_steps, 1, weights);
    const std::unique_ptr<Learner> candidate = MakeTensorLearner(spec, small_steps, options, weights);
    difference = Differences(spec, small_steps, reference, *candidate, seed);
    if (difference.empty()) break;
  }
  return difference;
}

}  // namespace metronome
