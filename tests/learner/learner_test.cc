#include "metronome/learner/learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "learner/autograd_learner.h"
#include "learner/learner_cases.h"
#include "learner/network.h"
#include "learner/static_learner.h"
#include "learner/tensor_learner.h"
#include "metronome/core/error.h"
#include "metronome/learner/device.h"
#include "support/allocation_counter.h"

namespace metronome {
namespace {

using Hidden = std::vector<std::int64_t>;

/// Every way to the same update.
enum class Kind { kStatic, kGeneric, kCareful, kAutograd };

std::string NameOf(Kind kind) {
  const char* const names[] = {"Static", "Generic", "Careful", "Autograd"};
  return names[static_cast<std::size_t>(kind)];
}

NetworkSpec Network(std::int64_t observation, Hidden hidden, std::int64_t actions) {
  return VectorNetwork(observation, std::move(hidden), actions);
}

std::unique_ptr<Learner> Make(Kind kind, const NetworkSpec& spec, const LearnerConfig& config,
                              std::span<const float> weights, int threads = 1) {
  if (kind == Kind::kAutograd) return MakeAutogradLearner(spec, config, 1, weights);
  if (kind == Kind::kStatic) return std::make_unique<StaticLearner>(spec, config, threads, weights);
  return MakeTensorLearner(spec, config, {.careful = kind == Kind::kCareful}, weights);
}

class EveryEngineTest : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Engines, EveryEngineTest,
                         testing::Values(Kind::kStatic, Kind::kGeneric, Kind::kCareful, Kind::kAutograd),
                         [](const auto& param) { return NameOf(param.param); });

// One input, no hidden layer, two actions: Q(s, a) = w_a s + b_a, small enough to do on paper.
// Online w = (1, 2), b = (0, 0.5); target w = (3, -1), b = (0.5, 1).
struct PaperCase {
  PaperCase() {
    config.batch_size = 2;
    config.learning_rate = 0.1;
    config.max_gradient_norm = 0.0;
    config.target_update_period = 1000;
  }
  std::unique_ptr<Learner> MakeAndFill(Kind engine) const {
    const std::vector<float> online = {1.0f, 2.0f, 0.0f, 0.5f};
    const std::vector<float> target = {3.0f, -1.0f, 0.5f, 1.0f};
    const std::vector<float> zeros(4);
    auto learner = Make(engine, Network(1, {}, 2), config, online);
    learner->Restore(online, target, zeros, zeros, 0, 0);
    const BatchView& batch = learner->batch();
    // Row 0: s = 1, a = 0, R = 1, D = 0.5, s' = 2.  Row 1: s = -1, a = 1, R = -2, D = 0 (terminal), s' = 3.
    batch.observations[0] = 1.0f, batch.observations[1] = -1.0f;
    batch.next_observations[0] = 2.0f, batch.next_observations[1] = 3.0f;
    batch.actions[0] = 0, batch.actions[1] = 1;
    batch.rewards[0] = 1.0f, batch.rewards[1] = -2.0f;
    batch.discounts[0] = 0.5f, batch.discounts[1] = 0.0f;
    return learner;
  }
  LearnerConfig config;
};

TEST_P(EveryEngineTest, DoubleDqnWithHuberIsAsOnPaper) {
  // Row 0: online at s' = 2: (2, 4.5), so action 1; target there: -1 * 2 + 1 = -1. y = 1 + 0.5 * -1 = 0.5.
  // Q(1, 0) = 1, error 0.5, loss 0.125, dQ = 0.5 / 2 = 0.25.
  // Row 1: y = -2. Q(-1, 1) = -1.5, error 0.5, loss 0.125, dQ = 0.25.
  // Gradient: w0 = 0.25 * 1, b0 = 0.25, w1 = 0.25 * -1, b1 = 0.25. Norm 0.5.
  const PaperCase paper;
  const auto learner = paper.MakeAndFill(GetParam());
  const UpdateResult result = learner->Update();
  EXPECT_NEAR(result.loss, 0.125f, 1e-6);
  EXPECT_NEAR(result.q_mean, (1.0f - 1.5f) / 2.0f, 1e-6);
  EXPECT_NEAR(result.gradient_norm, 0.5f, 1e-6);
  // Adam's first step is the learning rate against the gradient's sign.
  EXPECT_THAT(Copy(learner->online()),
              testing::Pointwise(testing::FloatNear(1e-5f), std::vector<float>{0.9f, 2.1f, -0.1f, 0.4f}));
  EXPECT_THAT(
      Copy(learner->first_moment()),
      testing::Pointwise(testing::FloatNear(1e-7f), std::vector<float>{0.025f, -0.025f, 0.025f, 0.025f}));
  EXPECT_THAT(Copy(learner->target()), testing::ElementsAre(3.0f, -1.0f, 0.5f, 1.0f));
  EXPECT_EQ(learner->updates(), 1);
  EXPECT_EQ(learner->target_syncs(), 0);
}

TEST_P(EveryEngineTest, PlainDqnWithMseIsAsOnPaper) {
  // Row 0: target at s' = 2: (6.5, -1), max 6.5, y = 1 + 0.5 * 6.5 = 4.25. error 1 - 4.25 = -3.25,
  // loss 10.5625, dQ = 2 * -3.25 / 2 = -3.25.  Row 1 as above: error 0.5, loss 0.25, dQ = 0.5.
  // Gradient: w0 = -3.25, w1 = -0.5, b0 = -3.25, b1 = 0.5. Norm sqrt(2 * 10.5625 + 2 * 0.25) = 4.65027.
  PaperCase paper;
  paper.config.double_dqn = false;
  paper.config.loss = Loss::kMse;
  const auto learner = paper.MakeAndFill(GetParam());
  const UpdateResult result = learner->Update();
  EXPECT_NEAR(result.loss, (10.5625f + 0.25f) / 2.0f, 1e-5);
  EXPECT_NEAR(result.gradient_norm, 4.650269f, 1e-5);
  EXPECT_THAT(Copy(learner->online()),
              testing::Pointwise(testing::FloatNear(1e-5f), std::vector<float>{1.1f, 2.1f, 0.1f, 0.4f}));
}

TEST_P(EveryEngineTest, HuberIsLinearBeyondOneAndClippingScalesTheGradient) {
  // As above with Huber: row 0 has error -3.25, loss 2.75, dQ = -0.5; row 1 dQ = 0.25.
  // Gradient (-0.5, -0.25, -0.5, 0.25), norm sqrt(0.625) = 0.790569; clipped to 0.1: times 0.126491.
  PaperCase paper;
  paper.config.double_dqn = false;
  paper.config.max_gradient_norm = 0.1;
  const auto learner = paper.MakeAndFill(GetParam());
  const UpdateResult result = learner->Update();
  EXPECT_NEAR(result.loss, (2.75f + 0.125f) / 2.0f, 1e-6);
  EXPECT_NEAR(result.gradient_norm, 0.790569f, 1e-5);
  const float scale = 0.1f * 0.126491f;  // (1 - beta1) of it is the first moment
  EXPECT_THAT(
      Copy(learner->first_moment()),
      testing::Pointwise(testing::FloatNear(1e-6f),
                         std::vector<float>{-0.5f * scale, -0.25f * scale, -0.5f * scale, 0.25f * scale}));
}

TEST_P(EveryEngineTest, LossIsZeroWhereQEqualsItsTarget) {
  // Q = i for row i and target = i: a (B, B) broadcast would give a mean square of 2730.5.
  LearnerConfig config;
  config.loss = Loss::kMse;
  config.batch_size = 128;
  const auto learner = Make(GetParam(), Network(1, {}, 1), config, std::vector<float>{1.0f, 0.0f});
  const BatchView& batch = learner->batch();
  for (std::size_t i = 0; i < 128; ++i) {
    batch.observations[i] = batch.rewards[i] = static_cast<float>(i);
    batch.next_observations[i] = 5.0f;
    batch.actions[i] = 0;
    batch.discounts[i] = 0.0f;
  }
  const UpdateResult result = learner->Update();
  EXPECT_EQ(result.loss, 0.0f);
  EXPECT_EQ(result.gradient_norm, 0.0f);
  EXPECT_THAT(Copy(learner->online()), testing::ElementsAre(1.0f, 0.0f));
}

TEST_P(EveryEngineTest, TargetStaysUntilASyncAndThenEqualsTheOnlineNetwork) {
  LearnerConfig config;
  config.batch_size = 16;
  config.target_update_period = 10;
  const NetworkSpec spec = Network(3, {9}, 2);
  Rng rng(3);
  const auto learner = Make(GetParam(), spec, config, InitialWeights(spec, rng));
  const std::vector<float> first = Copy(learner->online());
  EXPECT_EQ(Copy(learner->target()), first) << "the target network starts equal";
  for (int update = 1; update <= 11; ++update) {
    FillBatch(learner->batch(), 2, rng);
    learner->Update();
    const std::vector<float> target = Copy(learner->target());
    if (update < 10) {
      EXPECT_EQ(target, first) << update;
    } else if (update == 10) {
      EXPECT_EQ(target, Copy(learner->online()));
    }
    EXPECT_NE(Copy(learner->online()), first);
    EXPECT_EQ(learner->target_syncs(), update / 10);
  }
  EXPECT_NE(Copy(learner->target()), Copy(learner->online())) << "one update after the sync";
}

TEST_P(EveryEngineTest, SoftSyncMovesTheTargetByTheRate) {
  LearnerConfig config;
  config.batch_size = 16;
  config.target_update_period = 2;
  config.target_update_rate = 0.25;
  const NetworkSpec spec = Network(3, {9}, 2);
  Rng rng(4);
  const auto learner = Make(GetParam(), spec, config, InitialWeights(spec, rng));
  for (int update = 1; update <= 4; ++update) {
    const std::vector<float> before = Copy(learner->target());
    FillBatch(learner->batch(), 2, rng);
    learner->Update();
    const std::vector<float> after = Copy(learner->target());
    const std::vector<float> online = Copy(learner->online());
    for (std::size_t i = 0; i < before.size(); ++i) {
      const float want = update % 2 == 0 ? before[i] + 0.25f * (online[i] - before[i]) : before[i];
      ASSERT_NEAR(after[i], want, 1e-6) << "update " << update << ", parameter " << i;
    }
  }
}

TEST_P(EveryEngineTest, RestoredLearnerGoesOnToTheLastBit) {
  LearnerConfig config;
  config.batch_size = 32;
  config.target_update_period = 7;
  const NetworkSpec spec = Network(5, {20, 33}, 3);
  Rng rng(5);
  const auto whole = Make(GetParam(), spec, config, InitialWeights(spec, rng));
  for (int update = 0; update < 20; ++update) {
    FillBatch(whole->batch(), 3, rng);
    whole->Update();
  }
  Rng other_weights(6);
  const auto resumed = Make(GetParam(), spec, config, InitialWeights(spec, other_weights));
  resumed->Restore(Copy(whole->online()), Copy(whole->target()), Copy(whole->first_moment()),
                   Copy(whole->second_moment()), whole->updates(), whole->target_syncs());
  Rng same = rng;
  for (int update = 0; update < 20; ++update) {
    FillBatch(whole->batch(), 3, rng);
    FillBatch(resumed->batch(), 3, same);
    whole->Update();
    resumed->Update();
  }
  EXPECT_EQ(Copy(resumed->online()), Copy(whole->online()));
  EXPECT_EQ(Copy(resumed->target()), Copy(whole->target()));
  EXPECT_EQ(Copy(resumed->first_moment()), Copy(whole->first_moment()));
  EXPECT_EQ(Copy(resumed->second_moment()), Copy(whole->second_moment()));
  EXPECT_EQ(resumed->updates(), 40);
  EXPECT_EQ(resumed->target_syncs(), 5);
}

TEST_P(EveryEngineTest, NonFiniteGradientIsReportedAndNeverReachesTheWeights) {
  LearnerConfig config;
  config.batch_size = 8;
  const NetworkSpec spec = Network(3, {9}, 2);
  for (const float poison :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Rng rng(7);
    const auto learner = Make(GetParam(), spec, config, InitialWeights(spec, rng));
    FillBatch(learner->batch(), 2, rng);
    const std::vector<float> before = Copy(learner->online());
    learner->batch().observations[4] = poison;
    const UpdateResult result = learner->Update();
    EXPECT_FALSE(std::isfinite(result.gradient_norm));
    EXPECT_EQ(Copy(learner->online()), before);
  }
}

TEST_P(EveryEngineTest, LearnsTheValuesOfATwoStateChain) {
  // State 0: action 0 stays (reward 0), action 1 goes to state 1 (reward 1). State 1: both actions return to
  // state 0 with reward 2. Discount 0.5. With V0 = max(0.5 V0, 1 + 0.5 V1), V1 = 2 + 0.5 V0: V0 = 8/3, V1 =
  // 10/3.
  LearnerConfig config;
  config.batch_size = 4;
  config.learning_rate = 0.02;
  config.target_update_period = 20;
  const NetworkSpec spec = Network(2, {16}, 2);
  Rng rng(8);
  const auto learner = Make(GetParam(), spec, config, InitialWeights(spec, rng));
  const BatchView& batch = learner->batch();
  for (std::size_t row = 0; row < 4; ++row) {
    const std::size_t state = row / 2;
    const std::size_t action = row % 2;
    const std::size_t next = state == 0 && action == 1 ? 1 : 0;
    for (std::size_t i = 0; i < 2; ++i) {
      batch.observations[row * 2 + i] = i == state ? 1.0f : 0.0f;
      batch.next_observations[row * 2 + i] = i == next ? 1.0f : 0.0f;
    }
    batch.actions[row] = static_cast<std::int32_t>(action);
    batch.rewards[row] = state == 1 ? 2.0f : (action == 1 ? 1.0f : 0.0f);
    batch.discounts[row] = 0.5f;
  }
  for (int update = 0; update < 2000; ++update) learner->Update();
  std::vector<float> q(2);
  learner->QValues(std::vector<float>{1.0f, 0.0f}, q);
  EXPECT_NEAR(q[0], 4.0f / 3.0f, 0.02f);
  EXPECT_NEAR(q[1], 8.0f / 3.0f, 0.02f);
  learner->QValues(std::vector<float>{0.0f, 1.0f}, q);
  EXPECT_NEAR(q[0], 10.0f / 3.0f, 0.02f);
  EXPECT_NEAR(q[1], 10.0f / 3.0f, 0.02f);
}

struct EngineCase {
  Loss loss;
  bool double_dqn;
  double max_gradient_norm;
  double target_update_rate;
  Hidden hidden;
};

std::vector<EngineCase> EveryCombination() {
  std::vector<EngineCase> cases;
  for (const Loss loss : {Loss::kHuber, Loss::kMse}) {
    for (const bool double_dqn : {true, false}) {
      for (const double norm : {0.0, 0.05, 10.0}) {
        for (const double rate : {1.0, 0.1}) {
          for (const Hidden& hidden : {Hidden{}, Hidden{13}, Hidden{32, 16}, Hidden{50, 100, 7}}) {
            cases.push_back({loss, double_dqn, norm, rate, hidden});
          }
        }
      }
    }
  }
  return cases;
}

TEST(EnginesTest, StaticFollowsAutogradOver200UpdatesForEveryCombinationOfOptions) {
  for (const EngineCase& one : EveryCombination()) {
    LearnerConfig config;
    config.batch_size = 48;
    config.learning_rate = 1e-3;
    config.loss = one.loss;
    config.double_dqn = one.double_dqn;
    config.max_gradient_norm = one.max_gradient_norm;
    config.target_update_rate = one.target_update_rate;
    config.target_update_period = 30;
    const NetworkSpec spec = Network(6, one.hidden, 3);
    Rng rng(9);
    const std::vector<float> weights = InitialWeights(spec, rng);
    const auto hand = Make(Kind::kStatic, spec, config, weights);
    const auto oracle = Make(Kind::kAutograd, spec, config, weights);
    const std::string name =
        "loss " + std::to_string(static_cast<int>(one.loss)) + " double " + std::to_string(one.double_dqn) +
        " norm " + std::to_string(one.max_gradient_norm) + " rate " + std::to_string(one.target_update_rate) +
        " hidden layers " + std::to_string(one.hidden.size());
    Rng same = rng;
    NormsTogether norms;
    for (int update = 1; update <= 200; ++update) {
      FillBatch(hand->batch(), 3, rng);
      FillBatch(oracle->batch(), 3, same);
      const UpdateResult got = hand->Update();
      const UpdateResult want = oracle->Update();
      ASSERT_NEAR(got.loss, want.loss, 1e-4f * (1.0f + want.loss)) << name << ", update " << update;
      ASSERT_NEAR(got.q_mean, want.q_mean, 1e-4f) << name << ", update " << update;
      ASSERT_TRUE(norms.Add(got.gradient_norm, want.gradient_norm))
          << got.gradient_norm << " and " << want.gradient_norm << ", " << name << ", update " << update;
    }
    ASSERT_THAT(Copy(hand->online()),
                testing::Pointwise(testing::FloatNear(norms.weight_tolerance()), Copy(oracle->online())))
        << name;
    ASSERT_THAT(Copy(hand->target()),
                testing::Pointwise(testing::FloatNear(norms.weight_tolerance()), Copy(oracle->target())))
        << name;
    ASSERT_THAT(Copy(hand->second_moment()),
                testing::Pointwise(testing::FloatNear(1e-4f), Copy(oracle->second_moment())))
        << name;
    std::vector<float> observation(6), q_hand(3), q_oracle(3);
    for (float& value : observation) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
    hand->QValues(observation, q_hand);
    oracle->QValues(observation, q_oracle);
    ASSERT_THAT(q_hand, testing::Pointwise(testing::FloatNear(5.0f * norms.weight_tolerance()), q_oracle))
        << name;
    ASSERT_EQ(hand->target_syncs(), oracle->target_syncs()) << name;
  }
}

TEST(StaticLearnerTest, ResultIsTheSameToTheLastBitForAnyNumberOfThreads) {
  LearnerConfig config;
  config.batch_size = 37;  // shares of the batch come out uneven
  config.target_update_period = 9;
  config.target_update_rate = 0.3;
  const NetworkSpec spec = Network(6, {50, 100, 7}, 3);
  std::vector<std::vector<float>> weights, moments;
  std::vector<float> losses;
  for (const int threads : {1, 2, 3, 4, 7}) {
    Rng rng(10);
    StaticLearner learner(spec, config, threads, InitialWeights(spec, rng));
    float loss = 0.0f;
    for (int update = 0; update < 100; ++update) {
      FillBatch(learner.batch(), 3, rng);
      loss = learner.Update().loss;
    }
    weights.push_back(Copy(learner.online()));
    moments.push_back(Copy(learner.second_moment()));
    losses.push_back(loss);
  }
  for (std::size_t i = 1; i < weights.size(); ++i) {
    EXPECT_EQ(weights[i], weights[0]) << i;
    EXPECT_EQ(moments[i], moments[0]) << i;
    EXPECT_EQ(losses[i], losses[0]) << i;
  }
}

TEST(StaticLearnerTest, QValuesOfOneObservationEqualThoseInABatch) {
  // The update computes Q(s, a) among a batch's rows, acting computes it alone: one network, one answer.
  LearnerConfig config;
  config.batch_size = 1;
  const NetworkSpec spec = Network(6, {50, 33}, 1);
  Rng rng(11);
  StaticLearner learner(spec, config, 1, InitialWeights(spec, rng));
  FillBatch(learner.batch(), 1, rng);
  std::vector<float> q(1);
  learner.QValues(learner.batch().observations, q);
  EXPECT_EQ(learner.Update().q_mean, q[0]);
}

TEST(StaticLearnerTest, UpdateAndQValuesAllocateNothing) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  LearnerConfig config;
  config.target_update_period = 10;
  const NetworkSpec spec = Network(8, {64, 64}, 4);
  for (const int threads : {1, 2}) {
    Rng rng(12);
    StaticLearner learner(spec, config, threads, InitialWeights(spec, rng));
    FillBatch(learner.batch(), 4, rng);
    std::vector<float> observation(8), q(4);
    const AllocationScope scope;
    for (int update = 0; update < 100; ++update) {
      learner.QValues(observation, q);
      learner.Update();
    }
    const std::int64_t count = scope.count();
    EXPECT_EQ(count, 0) << threads << " threads";
  }
}

TEST(NetworkTest, TensorsAreNamedShapedAndLaidOutWithoutGaps) {
  const std::vector<NamedTensor> tensors = TensorsOf(Network(8, {128, 64}, 4));
  ASSERT_EQ(tensors.size(), 6u);
  EXPECT_EQ(tensors[0].name, "hidden.0.weight");
  EXPECT_THAT(tensors[0].shape, testing::ElementsAre(128, 8));
  EXPECT_EQ(tensors[3].name, "hidden.1.bias");
  EXPECT_EQ(tensors[4].name, "output.weight");
  EXPECT_THAT(tensors[4].shape, testing::ElementsAre(4, 64));
  std::int64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    EXPECT_EQ(tensor.offset, offset) << tensor.name;
    offset += tensor.size;
  }
  EXPECT_EQ(FlatSize(tensors), 8 * 128 + 128 + 128 * 64 + 64 + 64 * 4 + 4);
}

TEST(NetworkTest, OperationsOfAnUpdateAreThoseOfItsProducts) {
  // 8-128-128-4, batch 128, double DQN: three forward passes of 17,920 multiply-adds a row, the gradients of
  // all weights, and those of the two hidden layers' activations: (3 * 17,920 + 17,920 + 16,896) * 128 * 2
  // = 22.7 million.
  EXPECT_DOUBLE_EQ(UpdateFlops(Network(8, {128, 128}, 4), LearnerConfig()), 22'675'456.0);
  LearnerConfig plain;
  plain.double_dqn = false;
  EXPECT_DOUBLE_EQ(UpdateFlops(Network(8, {128, 128}, 4), plain), 22'675'456.0 - 2.0 * 128 * 17'920);
}

TEST(DeviceTest, PeakIsAPlausibleNumberOfOperations) { EXPECT_GT(MeasurePeakFlops(1), 1e8); }

TEST(NetworkTest, InitialWeightsAreUniformWithinOneOverTheRootOfTheInputs) {
  const NetworkSpec spec = Network(100, {400}, 2);
  Rng rng(13);
  const std::vector<float> weights = InitialWeights(spec, rng);
  double sum = 0.0;
  double squares = 0.0;
  float largest = 0.0f;
  const std::size_t count = 100 * 400 + 400;
  for (std::size_t i = 0; i < count; ++i) {
    sum += static_cast<double>(weights[i]);
    squares += static_cast<double>(weights[i]) * static_cast<double>(weights[i]);
    largest = std::max(largest, std::abs(weights[i]));
  }
  EXPECT_LE(largest, 0.1f);
  EXPECT_GT(largest, 0.0999f);
  EXPECT_NEAR(sum / static_cast<double>(count), 0.0, 0.001);
  EXPECT_NEAR(squares / static_cast<double>(count), 0.01 / 3.0, 1e-4) << "the variance of a uniform number";
}

TEST(MakeLearnerTest, RefusesADeviceThatIsNotThere) {
  const NetworkSpec spec = Network(2, {4}, 2);
  DeviceConfig device;
  for (const char* name : {"mps", "cuda"}) {
    device.name = name;
    Rng rng(1);
    try {
      MakeLearner(spec, LearnerConfig(), device, rng);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kNoDevice);
      EXPECT_THAT(error.what(), testing::HasSubstr(name));
    }
  }
}

TEST(MakeLearnerTest, EqualStreamsGiveEqualWeightsInBothEngines) {
  const NetworkSpec spec = Network(2, {4}, 2);
  LearnerConfig config;
  DeviceConfig device;
  device.threads = 1;
  Rng first(1, "weights");
  Rng second(1, "weights");
  Rng other(2, "weights");
  const auto hand = MakeLearner(spec, config, device, first);
  config.engine = Engine::kAutograd;
  const auto oracle = MakeLearner(spec, config, device, second);
  EXPECT_EQ(Copy(hand->online()), Copy(oracle->online()));
  EXPECT_NE(Copy(MakeLearner(spec, config, device, other)->online()), Copy(hand->online()));
}

TEST(DeviceTest, NamesTheLibrariesInUse) {
  EXPECT_THAT(TorchVersion(), testing::MatchesRegex("[0-9]+\\.[0-9]+.*"));
  EXPECT_FALSE(BlasDescription().empty());
  EXPECT_EQ(DevicesFound().front(), "cpu");
}

}  // namespace
}  // namespace metronome
