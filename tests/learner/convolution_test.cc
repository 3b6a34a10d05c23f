#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "learner/autograd_learner.h"
#include "learner/learner_cases.h"
#include "learner/network.h"
#include "learner/static_learner.h"
#include "metronome/learner/learner.h"
#include "support/allocation_counter.h"

namespace metronome {
namespace {

// Kernels and strides that leave a rest, filters below, at and above a vector, stacks, and no hidden layer.
std::vector<NetworkSpec> Networks() {
  return {
      GridNetwork({4, 10, 10}, {{16, 3, 1}}, {20}, 6),
      GridNetwork({1, 1, 1}, {{1, 1, 1}}, {}, 2),
      GridNetwork({3, 9, 11}, {{5, 3, 2}}, {13}, 3),
      GridNetwork({2, 7, 13}, {{33, 2, 3}}, {}, 4),
      GridNetwork({2, 8, 7}, {{20, 2, 1}, {33, 3, 1}, {4, 2, 2}}, {17, 9}, 3),
      GridNetwork({3, 12, 12}, {{16, 4, 2}, {32, 3, 1}}, {}, 2),
      GridNetwork({10, 10, 10}, {{16, 3, 1}, {16, 3, 2}}, {32}, 6),
      GridNetwork({2, 5, 6}, {{7, 5, 1}}, {8}, 2),
      GridNetwork({2, 5, 6}, {}, {8}, 3),
  };
}

std::string Name(const NetworkSpec& spec) {
  std::ostringstream name;
  for (const auto& [filters, kernel, stride] : spec.layers.conv) {
    name << '[' << filters << ", " << kernel << ", " << stride << "] ";
  }
  name << spec.layers.hidden.size() << " hidden layers";
  return name.str();
}

/// One observation with about this share of floats that are not zero, since few are another path than many.
void FillObservation(std::span<float> observation, double share, Rng& rng) {
  for (float& value : observation) {
    value = rng.Uniform(0.0, 1.0) < share ? static_cast<float>(rng.Uniform(-1.0, 1.0)) : 0.0f;
  }
}

/// FillBatch() with observations full, sparse and empty.
void FillMixedBatch(const BatchView& batch, std::int64_t actions, Rng& rng) {
  FillBatch(batch, actions, rng);
  const std::size_t size = batch.observations.size() / batch.actions.size();
  for (std::size_t row = 0; row < batch.actions.size(); ++row) {
    const double share = row % 4 == 0 ? 1.0 : 0.1 * static_cast<double>(row % 4 - 1);
    FillObservation(batch.observations.subspan(row * size, size), share, rng);
    FillObservation(batch.next_observations.subspan(row * size, size), 0.2 - 0.5 * (share - 1.0), rng);
  }
}

/// The network as its definition reads, in double precision, over weights as torch lays them out.
std::vector<double> NaiveQValues(const NetworkSpec& spec, const std::vector<float>& weights,
                                 const std::vector<float>& observation) {
  std::vector<double> x(observation.begin(), observation.end());
  std::size_t offset = 0;
  std::int64_t channels = spec.observation_shape[0];
  std::int64_t height = spec.observation_shape[1];
  std::int64_t width = spec.observation_shape[2];
  for (const auto& [filters, kernel, stride] : spec.layers.conv) {
    const std::int64_t out_height = (height - kernel) / stride + 1;
    const std::int64_t out_width = (width - kernel) / stride + 1;
    const auto bias = offset + static_cast<std::size_t>(filters * channels * kernel * kernel);
    std::vector<double> y;
    for (std::int64_t f = 0; f < filters; ++f) {
      for (std::int64_t i = 0; i < out_height; ++i) {
        for (std::int64_t j = 0; j < out_width; ++j) {
          double sum = static_cast<double>(weights[bias + static_cast<std::size_t>(f)]);
          for (std::int64_t c = 0; c < channels; ++c) {
            for (std::int64_t u = 0; u < kernel; ++u) {
              for (std::int64_t v = 0; v < kernel; ++v) {
                const std::int64_t weight = ((f * channels + c) * kernel + u) * kernel + v;
                const std::int64_t pixel = (c * height + i * stride + u) * width + j * stride + v;
                sum += static_cast<double>(weights[offset + static_cast<std::size_t>(weight)]) *
                       x[static_cast<std::size_t>(pixel)];
              }
            }
          }
          y.push_back(std::max(sum, 0.0));
        }
      }
    }
    offset = bias + static_cast<std::size_t>(filters);
    x = y;
    channels = filters;
    height = out_height;
    width = out_width;
  }
  std::vector<std::int64_t> widths = spec.layers.hidden;
  widths.push_back(spec.num_actions);
  for (std::size_t layer = 0; layer < widths.size(); ++layer) {
    const auto outputs = static_cast<std::size_t>(widths[layer]);
    std::vector<double> y(outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      y[o] = static_cast<double>(weights[offset + outputs * x.size() + o]);
      for (std::size_t i = 0; i < x.size(); ++i) {
        y[o] += static_cast<double>(weights[offset + o * x.size() + i]) * x[i];
      }
      if (layer + 1 < widths.size()) y[o] = std::max(y[o], 0.0);
    }
    offset += outputs * x.size() + outputs;
    x = y;
  }
  EXPECT_EQ(offset, weights.size());
  return x;
}

TEST(ConvolutionTest, QValuesAreThoseOfTheDefinition) {
  for (const NetworkSpec& spec : Networks()) {
    Rng rng(1);
    const std::vector<float> weights = InitialWeights(spec, rng);
    LearnerConfig config;
    config.batch_size = 2;
    StaticLearner learner(spec, config, 1, weights);
    const auto oracle = MakeAutogradLearner(spec, config, 1, weights);
    std::vector<float> observation(static_cast<std::size_t>(ObservationSize(spec)));
    for (const double share : {1.0, 0.4, 0.2, 0.05, 0.0}) {
      FillObservation(observation, share, rng);
      const std::vector<double> want = NaiveQValues(spec, weights, observation);
      std::vector<float> q(want.size());
      learner.QValues(observation, q);
      EXPECT_THAT(q, testing::Pointwise(testing::FloatNear(1e-5f), want)) << Name(spec) << ", " << share;
      oracle->QValues(observation, q);
      EXPECT_THAT(q, testing::Pointwise(testing::FloatNear(1e-5f), want)) << Name(spec) << ", " << share;
    }
  }
}

TEST(ConvolutionTest, OneFilterOverThreeByThreeIsAsOnPaper) {
  // x = 1 2 3 / 4 5 6 / 7 8 9, W = 1 0 / 0 -1, b = 5: each output is x[i][j] - x[i+1][j+1] + 5 = 1. With the
  // output weights 1, 2, 3, 4 and the bias 0.5, Q = 10.5.
  const NetworkSpec spec = GridNetwork({1, 3, 3}, {{1, 2, 1}}, {}, 1);
  const std::vector<float> weights = {1, 0, 0, -1, 5, 1, 2, 3, 4, 0.5};
  LearnerConfig config;
  config.batch_size = 1;
  StaticLearner learner(spec, config, 1, weights);
  std::vector<float> q(1);
  learner.QValues(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}, q);
  EXPECT_EQ(q[0], 10.5f);
  EXPECT_EQ(Copy(learner.online()), weights);
}

TEST(ConvolutionTest, StaticFollowsAutogradOver200UpdatesForEveryNetwork) {
  for (const NetworkSpec& spec : Networks()) {
    for (const bool plain : {false, true}) {
      LearnerConfig config;
      config.batch_size = 37;  // the last block of rows is not whole
      config.learning_rate = 1e-3;
      config.target_update_period = 30;
      if (plain) {
        config.loss = Loss::kMse;
        config.double_dqn = false;
        config.max_gradient_norm = 0.05;
        config.target_update_rate = 0.1;
      }
      Rng rng(9);
      const std::vector<float> weights = InitialWeights(spec, rng);
      StaticLearner hand(spec, config, 1, weights);
      const auto oracle = MakeAutogradLearner(spec, config, 1, weights);
      const std::string name = Name(spec) + (plain ? ", plain" : ", double");
      Rng same = rng;
      for (int update = 1; update <= 200; ++update) {
        FillMixedBatch(hand.batch(), spec.num_actions, rng);
        FillMixedBatch(oracle->batch(), spec.num_actions, same);
        const UpdateResult got = hand.Update();
        const UpdateResult want = oracle->Update();
        ASSERT_NEAR(got.loss, want.loss, 1e-4f * (1.0f + want.loss)) << name << ", update " << update;
        ASSERT_NEAR(got.q_mean, want.q_mean, 1e-4f) << name << ", update " << update;
        ASSERT_NEAR(got.gradient_norm, want.gradient_norm, 1e-4f * (1.0f + want.gradient_norm))
            << name << ", update " << update;
        if (update == 1) {
          // Before rounding has been multiplied by Adam, the whole gradient: m = (1 - beta1) g.
          ASSERT_THAT(Copy(hand.first_moment()),
                      testing::Pointwise(testing::FloatNear(1e-6f), Copy(oracle->first_moment())))
              << name;
        }
        if (update % 20 != 0) continue;
        ASSERT_THAT(Copy(hand.online()),
                    testing::Pointwise(testing::FloatNear(2e-4f), Copy(oracle->online())))
            << name << ", update " << update;
        ASSERT_THAT(Copy(hand.target()),
                    testing::Pointwise(testing::FloatNear(2e-4f), Copy(oracle->target())))
            << name << ", update " << update;
        // From the same state again: a deep network multiplies what rounding differs, and that is no fault.
        oracle->Restore(Copy(hand.online()), Copy(hand.target()), Copy(hand.first_moment()),
                        Copy(hand.second_moment()), hand.updates(), hand.target_syncs());
      }
    }
  }
}

TEST(ConvolutionTest, ResultIsTheSameToTheLastBitForAnyNumberOfThreads) {
  LearnerConfig config;
  config.batch_size = 37;
  config.target_update_period = 9;
  const NetworkSpec spec = GridNetwork({3, 10, 10}, {{16, 3, 1}, {24, 3, 2}}, {33}, 3);
  std::vector<std::vector<float>> weights;
  for (const int threads : {1, 2, 3, 7}) {
    Rng rng(10);
    StaticLearner learner(spec, config, threads, InitialWeights(spec, rng));
    for (int update = 0; update < 50; ++update) {
      FillMixedBatch(learner.batch(), 3, rng);
      learner.Update();
    }
    weights.push_back(Copy(learner.online()));
    EXPECT_EQ(weights.back(), weights.front()) << threads << " threads";
  }
}

TEST(ConvolutionTest, RestoredLearnerGoesOnToTheLastBit) {
  for (const NetworkSpec& spec : Networks()) {
    LearnerConfig config;
    config.batch_size = 20;
    config.target_update_period = 7;
    Rng rng(5);
    StaticLearner whole(spec, config, 1, InitialWeights(spec, rng));
    for (int update = 0; update < 10; ++update) {
      FillMixedBatch(whole.batch(), spec.num_actions, rng);
      whole.Update();
    }
    Rng other_weights(6);
    StaticLearner resumed(spec, config, 1, InitialWeights(spec, other_weights));
    resumed.Restore(Copy(whole.online()), Copy(whole.target()), Copy(whole.first_moment()),
                    Copy(whole.second_moment()), whole.updates(), whole.target_syncs());
    Rng same = rng;
    for (int update = 0; update < 10; ++update) {
      FillMixedBatch(whole.batch(), spec.num_actions, rng);
      FillMixedBatch(resumed.batch(), spec.num_actions, same);
      whole.Update();
      resumed.Update();
    }
    EXPECT_EQ(Copy(resumed.online()), Copy(whole.online())) << Name(spec);
    EXPECT_EQ(Copy(resumed.second_moment()), Copy(whole.second_moment())) << Name(spec);
  }
}

TEST(ConvolutionTest, QValuesOfOneObservationEqualThoseInABatch) {
  LearnerConfig config;
  config.batch_size = 1;
  const NetworkSpec spec = GridNetwork({4, 10, 10}, {{16, 3, 1}}, {33}, 1);
  Rng rng(11);
  StaticLearner learner(spec, config, 1, InitialWeights(spec, rng));
  FillMixedBatch(learner.batch(), 1, rng);
  std::vector<float> q(1);
  learner.QValues(learner.batch().observations, q);
  EXPECT_EQ(learner.Update().q_mean, q[0]);
}

TEST(ConvolutionTest, UpdateAndQValuesAllocateNothing) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  LearnerConfig config;
  config.target_update_period = 10;
  const NetworkSpec spec = GridNetwork({4, 10, 10}, {{16, 3, 1}, {16, 3, 1}}, {64}, 6);
  for (const int threads : {1, 2}) {
    Rng rng(12);
    StaticLearner learner(spec, config, threads, InitialWeights(spec, rng));
    FillMixedBatch(learner.batch(), 6, rng);
    std::vector<float> observation(400), q(6);
    const AllocationScope scope;
    for (int update = 0; update < 30; ++update) {
      learner.QValues(observation, q);
      learner.Update();
    }
    const std::int64_t count = scope.count();
    EXPECT_EQ(count, 0) << threads << " threads";
  }
}

TEST(ConvolutionTest, TensorsComeBeforeTheHiddenLayersWithTorchsNamesAndShapes) {
  const std::vector<NamedTensor> tensors = TensorsOf(GridNetwork({4, 10, 10}, {{16, 3, 1}}, {128}, 6));
  ASSERT_EQ(tensors.size(), 6u);
  EXPECT_EQ(tensors[0].name, "conv.0.weight");
  EXPECT_THAT(tensors[0].shape, testing::ElementsAre(16, 4, 3, 3));
  EXPECT_EQ(tensors[1].name, "conv.0.bias");
  EXPECT_THAT(tensors[1].shape, testing::ElementsAre(16));
  EXPECT_EQ(tensors[2].name, "hidden.0.weight");
  EXPECT_THAT(tensors[2].shape, testing::ElementsAre(128, 1024));
  EXPECT_EQ(FlatSize(tensors), 16 * 36 + 16 + 1024 * 128 + 128 + 128 * 6 + 6);
}

TEST(ConvolutionTest, OperationsOfAnUpdateAreThoseOfItsProducts) {
  // A row's forward pass: 64 positions * 36 * 16 = 36,864 multiply-adds, 1024 * 128 = 131,072, 128 * 6 = 768:
  // 168,704. The gradients of all weights are as many, and those of activations 131,072 + 768. With three
  // forward passes (4 * 168,704 + 131,840) * 128 * 2 = 206.5 million.
  EXPECT_DOUBLE_EQ(UpdateFlops(GridNetwork({4, 10, 10}, {{16, 3, 1}}, {128}, 6), LearnerConfig()),
                   206'503'936.0);
}

TEST(ConvolutionTest, InitialWeightsAreWithinOneOverTheRootOfThePatch) {
  const NetworkSpec spec = GridNetwork({4, 10, 10}, {{64, 5, 1}}, {}, 2);
  Rng rng(13);
  const std::vector<float> weights = InitialWeights(spec, rng);
  float largest = 0.0f;
  for (std::size_t i = 0; i < 64 * 100 + 64; ++i) largest = std::max(largest, std::abs(weights[i]));
  EXPECT_LE(largest, 0.1f);
  EXPECT_GT(largest, 0.0999f);
}

}  // namespace
}  // namespace metronome
