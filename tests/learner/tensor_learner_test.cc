#include "learner/tensor_learner.h"

#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "learner/autograd_learner.h"
#include "learner/learner_cases.h"
#include "learner/network.h"
#include "learner/self_test.h"
#include "learner/static_learner.h"
#include "metronome/core/error.h"
#include "metronome/learner/device.h"

namespace metronome {
namespace {

std::unique_ptr<Learner> MakeGeneric(const NetworkSpec& spec, const LearnerConfig& config,
                                     std::span<const float> weights,
                                     const TensorLearnerOptions& options = {}) {
  return MakeTensorLearner(spec, config, options, weights);
}

std::unique_ptr<Learner> MakeFused(const NetworkSpec& spec, const LearnerConfig& config,
                                   std::span<const float> weights) {
  return std::make_unique<StaticLearner>(spec, config, 1, weights);
}

bool IsFound(const std::string& device) {
  const std::vector<std::string> found = DevicesFound();
  return std::find(found.begin(), found.end(), device) != found.end();
}

/// The largest difference between two vectors of one size.
float Distance(std::span<const float> left, std::span<const float> right) {
  float distance = left.size() == right.size() ? 0.0f : std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    // So that a NaN counts.
    if (!(std::abs(left[i] - right[i]) <= distance)) distance = std::abs(left[i] - right[i]);
  }
  return distance;
}

struct Options {
  Loss loss;
  bool double_dqn;
  double max_gradient_norm;
  double target_update_rate;
  NetworkSpec network;
};

/// Vectors and grids; kernels that leave a rest of the grid out, that overlap, that don't, and that end at
/// one position; every layer's width another.
std::vector<NetworkSpec> Networks() {
  return {VectorNetwork(6, {}, 3),
          VectorNetwork(6, {50, 100, 7}, 3),
          GridNetwork({2, 3, 4}, {}, {11}, 3),
          GridNetwork({2, 6, 5}, {{5, 3, 1}}, {20}, 3),
          GridNetwork({3, 9, 8}, {{6, 3, 2}, {4, 2, 1}}, {12}, 3),
          GridNetwork({2, 11, 10}, {{3, 3, 1}, {5, 4, 3}, {7, 2, 2}}, {}, 3)};
}

std::vector<Options> EveryCombination() {
  std::vector<Options> cases;
  for (const NetworkSpec& network : Networks()) {
    for (const Loss loss : {Loss::kHuber, Loss::kMse}) {
      for (const bool double_dqn : {true, false}) {
        cases.push_back({loss, double_dqn, 0.0, 1.0, network});
        cases.push_back({loss, double_dqn, 0.05, 0.1, network});
      }
    }
  }
  return cases;
}

std::string NameOf(const Options& one) {
  return "loss " + std::to_string(static_cast<int>(one.loss)) + " double " + std::to_string(one.double_dqn) +
         " norm " + std::to_string(one.max_gradient_norm) + " rate " +
         std::to_string(one.target_update_rate) + " convolutions " +
         std::to_string(one.network.layers.conv.size()) + " hidden layers " +
         std::to_string(one.network.layers.hidden.size());
}

TEST(TensorLearnerTest, FollowsTheFusedOpsAndAutogradOver200UpdatesForEveryCombinationOfOptions) {
  for (const Options& one : EveryCombination()) {
    LearnerConfig config;
    config.batch_size = 32;
    config.learning_rate = 1e-3;
    config.loss = one.loss;
    config.double_dqn = one.double_dqn;
    config.max_gradient_norm = one.max_gradient_norm;
    config.target_update_rate = one.target_update_rate;
    config.target_update_period = 30;
    const std::string name = NameOf(one);
    Rng rng(21);
    const std::vector<float> weights = InitialWeights(one.network, rng);
    const auto generic = MakeGeneric(one.network, config, weights);
    const auto fused = MakeFused(one.network, config, weights);
    const auto oracle = MakeAutogradLearner(one.network, config, 1, weights);
    NormsTogether norms[2];
    for (int update = 1; update <= 200; ++update) {
      Rng same = rng, again = rng;
      FillBatch(generic->batch(), 3, rng);
      FillBatch(fused->batch(), 3, same);
      FillBatch(oracle->batch(), 3, again);
      const UpdateResult got = generic->Update();
      for (Learner* const other : {fused.get(), oracle.get()}) {
        const UpdateResult want = other->Update();
        ASSERT_NEAR(got.loss, want.loss, 1e-4f * (1.0f + want.loss)) << name << ", update " << update;
        ASSERT_NEAR(got.q_mean, want.q_mean, 1e-4f) << name << ", update " << update;
        ASSERT_TRUE(norms[other == oracle.get()].Add(got.gradient_norm, want.gradient_norm))
            << got.gradient_norm << " and " << want.gradient_norm << ", " << name << ", update " << update;
      }
    }
    for (Learner* const other : {fused.get(), oracle.get()}) {
      const float tolerance = norms[other == oracle.get()].weight_tolerance();
      ASSERT_LE(Distance(generic->online(), other->online()), tolerance) << name;
      ASSERT_LE(Distance(generic->target(), other->target()), tolerance) << name;
      ASSERT_LE(Distance(generic->first_moment(), other->first_moment()), 1e-4f) << name;
      ASSERT_LE(Distance(generic->second_moment(), other->second_moment()), 1e-4f) << name;
      ASSERT_EQ(generic->target_syncs(), other->target_syncs()) << name;
    }
    std::vector<float> observation(generic->batch().observations.size() / 32), got(3), want(3);
    for (float& value : observation) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
    generic->QValues(observation, got);
    fused->QValues(observation, want);
    ASSERT_LE(Distance(got, want), 5.0f * norms[0].weight_tolerance()) << name;
  }
}

TEST(TensorLearnerTest, StaysWithTheFusedOpsOverALongRun) {
  constexpr std::int64_t kTransitions = 60;
  // Rounding differs, and training feeds it back: two runs of the same numbers drift apart, slowly where the
  // data allow one answer. So 20 states, each with its three actions, whose next states are among them, and
  // 4000 updates of batches drawn from these 60 transitions.
  for (const NetworkSpec& spec :
       {VectorNetwork(6, {32, 32}, 3), GridNetwork({2, 6, 6}, {{8, 3, 1}}, {32}, 3)}) {
    LearnerConfig config;
    config.batch_size = 32;
    config.learning_rate = 1e-4;
    config.target_update_period = 100;
    Rng rng(22);
    const std::vector<float> weights = InitialWeights(spec, rng);
    LearnerConfig pool_config = config;
    pool_config.batch_size = kTransitions;
    const auto pool = MakeFused(spec, pool_config, weights);  // for its batch alone
    const BatchView& from = pool->batch();
    FillBatch(from, 3, rng);
    const std::size_t size = from.observations.size() / kTransitions;
    const auto row_of = [size](std::span<float> rows, std::size_t row) {
      return rows.subspan(row * size, size);
    };
    for (std::size_t row = 0; row < kTransitions; ++row) {
      from.actions[row] = static_cast<std::int32_t>(row % 3);
      const auto state = row_of(from.observations, row - row % 3);
      std::copy(state.begin(), state.end(), row_of(from.observations, row).begin());
    }
    for (std::size_t row = 0; row < kTransitions; ++row) {
      const auto next = row_of(from.observations, static_cast<std::size_t>(rng.UniformInt(kTransitions)));
      std::copy(next.begin(), next.end(), row_of(from.next_observations, row).begin());
    }
    const auto generic = MakeGeneric(spec, config, weights);
    const auto fused = MakeFused(spec, config, weights);
    float largest = 0.0f;
    for (int update = 1; update <= 4000; ++update) {
      for (std::size_t row = 0; row < 32; ++row) {
        const auto drawn = static_cast<std::size_t>(rng.UniformInt(kTransitions));
        for (Learner* const to : {generic.get(), fused.get()}) {
          const BatchView& batch = to->batch();
          const auto state = row_of(from.observations, drawn);
          const auto next = row_of(from.next_observations, drawn);
          std::copy(state.begin(), state.end(), row_of(batch.observations, row).begin());
          std::copy(next.begin(), next.end(), row_of(batch.next_observations, row).begin());
          batch.actions[row] = from.actions[drawn];
          batch.rewards[row] = from.rewards[drawn];
          batch.discounts[row] = from.discounts[drawn];
        }
      }
      const float got = generic->Update().q_mean;
      largest = std::max(largest, std::abs(got - fused->Update().q_mean));
    }
    EXPECT_LE(largest, 0.1f) << "difference of the batch's mean Q-value, at most";
    float worst = 0.0f;
    std::vector<float> got(3), want(3);
    for (std::size_t row = 0; row < kTransitions; row += 3) {
      const std::span<const float> observation = row_of(from.observations, row);
      generic->QValues(observation, got);
      fused->QValues(observation, want);
      worst = std::max(worst, Distance(got, want));
    }
    EXPECT_LE(worst, 0.2f) << "difference of a Q-value at the end";
    std::printf("convolutions %zu: mean Q within %g, Q-values within %g\n", spec.layers.conv.size(),
                static_cast<double>(largest), static_cast<double>(worst));
  }
}

TEST(TensorLearnerTest, CarefulWayGivesTheSameNumbers) {
  for (const NetworkSpec& spec : Networks()) {
    LearnerConfig config;
    config.batch_size = 16;
    config.target_update_period = 20;
    Rng rng(23);
    const std::vector<float> weights = InitialWeights(spec, rng);
    const auto plain = MakeGeneric(spec, config, weights);
    const auto careful = MakeGeneric(spec, config, weights, {.careful = true});
    for (int update = 0; update < 100; ++update) {
      Rng same = rng;
      FillBatch(plain->batch(), 3, rng);
      FillBatch(careful->batch(), 3, same);
      ASSERT_NEAR(careful->Update().loss, plain->Update().loss, 1e-4f);
    }
    EXPECT_LE(Distance(careful->online(), plain->online()), 1e-4f);
    EXPECT_LE(Distance(careful->target(), plain->target()), 1e-4f);
  }
}

TEST(TensorLearnerTest, ActingWithTheUpdateGivesTheSameBitsAsActingAfterIt) {
  for (const NetworkSpec& spec : Networks()) {
    LearnerConfig config;
    config.batch_size = 16;
    Rng rng(24);
    const std::vector<float> weights = InitialWeights(spec, rng);
    const auto apart = MakeGeneric(spec, config, weights);
    const auto together = MakeGeneric(spec, config, weights);
    const std::size_t size = apart->batch().observations.size() / 16;
    std::vector<float> observation(size), q_apart(3), q_together(3);
    for (int update = 0; update < 20; ++update) {
      Rng same = rng;
      FillBatch(apart->batch(), 3, rng);
      FillBatch(together->batch(), 3, same);
      for (float& value : observation) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
      const UpdateResult result = apart->Update();
      apart->QValues(observation, q_apart);
      EXPECT_EQ(together->UpdateAndQValues(observation, q_together).loss, result.loss);
      EXPECT_EQ(q_together, q_apart);
    }
  }
}

TEST(TensorLearnerTest, BatchOfOneIsAnUpdateOfThatOneTransition) {
  // Two rows go in, since one row alone is computed wrongly on some devices; the second must not count.
  LearnerConfig config;
  config.batch_size = 1;
  const NetworkSpec spec = VectorNetwork(4, {9}, 3);
  Rng rng(25);
  const std::vector<float> weights = InitialWeights(spec, rng);
  const auto generic = MakeGeneric(spec, config, weights);
  const auto fused = MakeFused(spec, config, weights);
  for (int update = 0; update < 50; ++update) {
    Rng same = rng;
    FillBatch(generic->batch(), 3, rng);
    FillBatch(fused->batch(), 3, same);
    const UpdateResult got = generic->Update();
    const UpdateResult want = fused->Update();
    ASSERT_NEAR(got.loss, want.loss, 1e-5f) << update;
    ASSERT_NEAR(got.gradient_norm, want.gradient_norm, 1e-4f * (1.0f + want.gradient_norm)) << update;
  }
}

TEST(TensorLearnerTest, EqualNextValuesCountOnce) {
  // All weights zero but the biases, which are equal: every action of s' has the value 2, and the target is
  // 1 + 0.5 * 2 whichever of them is taken, not 1 + 0.5 * (2 + 2 + 2).
  LearnerConfig config;
  config.batch_size = 2;
  config.loss = Loss::kMse;
  const NetworkSpec spec = VectorNetwork(1, {}, 3);
  const auto generic = MakeGeneric(spec, config, std::vector<float>{0.0f, 0.0f, 0.0f, 2.0f, 2.0f, 2.0f});
  const BatchView& batch = generic->batch();
  for (std::size_t row = 0; row < 2; ++row) {
    batch.observations[row] = batch.next_observations[row] = 1.0f;
    batch.actions[row] = 1;
    batch.rewards[row] = 1.0f;
    batch.discounts[row] = 0.5f;
  }
  EXPECT_FLOAT_EQ(generic->Update().loss, 0.0f);
}

TEST(TensorLearnerTest, StateMovesBetweenAllEnginesInBothDirections) {
  enum { kFused, kGeneric, kAutograd };
  for (const NetworkSpec& spec : Networks()) {
    LearnerConfig config;
    config.batch_size = 16;
    config.target_update_period = 7;
    Rng rng(26);
    const std::vector<float> weights = InitialWeights(spec, rng);
    const std::vector<float> zeros(weights.size());
    const auto make = [&](int engine, std::span<const float> initial) -> std::unique_ptr<Learner> {
      if (engine == kFused) return MakeFused(spec, config, initial);
      if (engine == kGeneric) return MakeGeneric(spec, config, initial);
      return MakeAutogradLearner(spec, config, 1, initial);
    };
    for (const int first : {kFused, kGeneric, kAutograd}) {
      for (const int second : {kFused, kGeneric, kAutograd}) {
        const auto before = make(first, weights);
        Rng one = rng;
        for (int update = 0; update < 20; ++update) {
          FillBatch(before->batch(), 3, one);
          before->Update();
        }
        const auto after = make(second, zeros);
        after->Restore(Copy(before->online()), Copy(before->target()), Copy(before->first_moment()),
                       Copy(before->second_moment()), before->updates(), before->target_syncs());
        // What is restored is what was saved, to the last bit: it can go back.
        ASSERT_EQ(Copy(after->online()), Copy(before->online()));
        ASSERT_EQ(Copy(after->target()), Copy(before->target()));
        ASSERT_EQ(Copy(after->first_moment()), Copy(before->first_moment()));
        ASSERT_EQ(Copy(after->second_moment()), Copy(before->second_moment()));
        Rng two = one;
        for (int update = 0; update < 20; ++update) {
          FillBatch(before->batch(), 3, one);
          FillBatch(after->batch(), 3, two);
          before->Update();
          after->Update();
        }
        ASSERT_LE(Distance(after->online(), before->online()), 1e-4f) << first << " to " << second;
        ASSERT_EQ(after->updates(), before->updates());
        ASSERT_EQ(after->target_syncs(), before->target_syncs());
      }
    }
  }
}

// ---- One trip to the device.

TEST(TransfersTest, UpdateAndActAreOneUploadAndOneReadBack) {
  LearnerConfig config;
  config.batch_size = 16;
  config.target_update_period = 3;
  const NetworkSpec spec = GridNetwork({2, 6, 5}, {{5, 3, 1}}, {20}, 3);
  Rng rng(27);
  const auto learner = MakeGeneric(spec, config, InitialWeights(spec, rng));
  FillBatch(learner->batch(), 3, rng);
  std::vector<float> observation(60), q(3);
  const auto counts = [&](const auto& work) {
    const TransferCounts before = learner->transfers();
    for (int i = 0; i < 10; ++i) work();
    const TransferCounts after = learner->transfers();
    return std::vector<std::int64_t>{after.uploads - before.uploads, after.read_backs - before.read_backs,
                                     after.waits - before.waits};
  };
  EXPECT_THAT(counts([&] { learner->UpdateAndQValues(observation, q); }), testing::ElementsAre(10, 10, 10));
  EXPECT_THAT(counts([&] { learner->Update(); }), testing::ElementsAre(10, 10, 10));
  EXPECT_THAT(counts([&] { learner->QValues(observation, q); }), testing::ElementsAre(10, 10, 10));
}

/// Counts the ops of libtorch that this thread calls while it lives: those that we call, and those that they
/// call in their turn.
class OpCensus {
 public:
  OpCensus() {
    current_ = this;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&Begin, &End).scopes({at::RecordScope::FUNCTION}));
  }
  ~OpCensus() { at::removeCallback(handle_); }
  std::map<std::string, int> ours;
  std::map<std::string, int> inner;

 private:
  static std::unique_ptr<at::ObserverContext> Begin(const at::RecordFunction& function) {
    ++(current_->depth_++ == 0 ? current_->ours : current_->inner)[function.name()];
    return nullptr;
  }
  static void End(const at::RecordFunction&, at::ObserverContext*) { --current_->depth_; }

  static inline OpCensus* current_ = nullptr;
  int depth_ = 0;
  at::CallbackHandle handle_;
};

TEST(TransfersTest, NoOpOfAStepCopiesOrWaitsBesideTheUploadAndTheReadBack) {
  // The device layer counts what goes through it; this proves that nothing goes past it. An op that brings a
  // value to the host (item, nonzero, equal) or makes a tensor of a number would show here by name.
  for (const NetworkSpec& spec :
       {VectorNetwork(6, {20, 10}, 3), GridNetwork({3, 9, 8}, {{6, 3, 2}, {4, 2, 1}}, {12}, 3)}) {
    for (const bool double_dqn : {true, false}) {
      LearnerConfig config;
      config.batch_size = 16;
      config.double_dqn = double_dqn;
      config.target_update_period = 1;
      Rng rng(28);
      const auto learner = MakeGeneric(spec, config, InitialWeights(spec, rng));
      FillBatch(learner->batch(), 3, rng);
      std::vector<float> observation(learner->batch().observations.size() / 16), q(3);
      learner->UpdateAndQValues(observation, q);
      OpCensus census;
      learner->UpdateAndQValues(observation, q);
      const std::vector<std::string> allowed = {"aten::add",
                                                "aten::addmm",
                                                "aten::amax",
                                                "aten::argmax",
                                                "aten::clamp",
                                                "aten::clamp_max",
                                                "aten::clamp_min",
                                                "aten::div",
                                                "aten::eq",
                                                "aten::index_select",
                                                "aten::lerp",
                                                "aten::mm",
                                                "aten::mul",
                                                "aten::nan_to_num",
                                                "aten::sign",
                                                "aten::sqrt",
                                                "aten::sub",
                                                "aten::sum",
                                                "aten::threshold_backward",
                                                "aten::where"};
      EXPECT_EQ(census.ours["aten::copy_"], 2) << "the upload and the read-back";
      census.ours.erase("aten::copy_");
      int total = 2;
      for (const auto& [name, count] : census.ours) {
        EXPECT_THAT(allowed, testing::Contains(name)) << count << " times";
        total += count;
      }
      for (const char* const waits :
           {"aten::item", "aten::_local_scalar_dense", "aten::nonzero", "aten::equal", "aten::is_nonzero"}) {
        EXPECT_EQ(census.inner.count(waits), 0u) << waits;
      }
      std::printf("%zu convolutions, double %d: %d ops a step\n", spec.layers.conv.size(), double_dqn, total);
    }
  }
}

// ---- The self-test.

TEST(SelfTestTest, GenericOpsOnThisProcessorPassForEveryNetwork) {
  for (const NetworkSpec& spec : Networks()) {
    LearnerConfig config;
    config.batch_size = 16;
    EXPECT_EQ(SelfTest(spec, config, {}), "");
  }
}

/// A learner whose answer to one observation lacks the biases of the last layer, as on some Macs.
class WithoutBias : public StaticLearner {
 public:
  using StaticLearner::StaticLearner;
  void QValues(std::span<const float> observation, std::span<float> q_values) override {
    StaticLearner::QValues(observation, q_values);
    const std::vector<float> weights = Copy(online());
    for (std::size_t i = 0; i < q_values.size(); ++i) {
      q_values[i] -= weights[weights.size() - q_values.size() + i];
    }
  }
};

/// A learner that leaves its target network behind.
class WithoutGradientOfOne : public StaticLearner {
 public:
  using StaticLearner::StaticLearner;
  UpdateResult Update() override {
    const std::vector<float> before = Copy(online());
    const std::vector<float> first = Copy(first_moment());
    const UpdateResult result = StaticLearner::Update();
    std::vector<float> after = Copy(online());
    std::vector<float> moment = Copy(first_moment());
    after.back() = before.back();
    moment.back() = first.back();
    Restore(after, Copy(target()), moment, Copy(second_moment()), updates(), target_syncs());
    return result;
  }
};

TEST(SelfTestTest, TellsWhatIsWrong) {
  LearnerConfig config;
  config.batch_size = 16;
  const NetworkSpec spec = VectorNetwork(6, {20}, 3);
  Rng rng(29);
  const std::vector<float> weights = InitialWeights(spec, rng);
  StaticLearner right(spec, config, 1, weights);
  EXPECT_EQ(Differences(spec, config, right, *MakeGeneric(spec, config, weights)), "");
  StaticLearner again(spec, config, 1, weights);
  WithoutBias act(spec, config, 1, weights);
  EXPECT_THAT(Differences(spec, config, again, act), testing::HasSubstr("Q-values of one observation"));
  StaticLearner third(spec, config, 1, weights);
  WithoutGradientOfOne update(spec, config, 1, weights);
  EXPECT_THAT(Differences(spec, config, third, update), testing::HasSubstr("first moment"));
}

// ---- Other devices, where they are.

class DeviceLearnerTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, DeviceLearnerTest, testing::Values("mps", "cuda"),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(DeviceLearnerTest, FollowsTheFusedOpsOver200UpdatesForEveryCombinationOfOptions) {
  if (!IsFound(GetParam())) GTEST_SKIP() << "libtorch finds no " << GetParam() << " here";
  for (const Options& one : EveryCombination()) {
    LearnerConfig config;
    config.batch_size = 32;
    config.loss = one.loss;
    config.double_dqn = one.double_dqn;
    config.max_gradient_norm = one.max_gradient_norm;
    config.target_update_rate = one.target_update_rate;
    config.target_update_period = 30;
    Rng rng(30);
    const std::vector<float> weights = InitialWeights(one.network, rng);
    const bool careful = std::string(GetParam()) == "mps" && !MpsTakesTransposed(TorchVersion());
    const auto learner =
        MakeGeneric(one.network, config, weights, {.device = GetParam(), .careful = careful});
    const auto fused = MakeFused(one.network, config, weights);
    for (int update = 1; update <= 200; ++update) {
      Rng same = rng;
      FillBatch(learner->batch(), 3, rng);
      FillBatch(fused->batch(), 3, same);
      const UpdateResult got = learner->Update();
      const UpdateResult want = fused->Update();
      ASSERT_NEAR(got.loss, want.loss, 1e-3f * (1.0f + want.loss)) << NameOf(one) << ", update " << update;
    }
    ASSERT_LE(Distance(learner->online(), fused->online()), 1e-3f) << NameOf(one);
    ASSERT_LE(Distance(learner->target(), fused->target()), 1e-3f) << NameOf(one);
  }
}

TEST_P(DeviceLearnerTest, PassesTheSelfTest) {
  if (!IsFound(GetParam())) GTEST_SKIP() << "libtorch finds no " << GetParam() << " here";
  for (const NetworkSpec& spec : Networks()) {
    LearnerConfig config;
    config.batch_size = 32;
    EXPECT_EQ(SelfTest(spec, config, {.device = GetParam(), .careful = true}), "");
  }
}

TEST_P(DeviceLearnerTest, RecordedWorkGivesTheSameBitsAsOpsSentAnew) {
  if (!IsFound(GetParam())) GTEST_SKIP() << "libtorch finds no " << GetParam() << " here";
  for (const NetworkSpec& spec : Networks()) {
    LearnerConfig config;
    config.batch_size = 32;
    config.target_update_period = 5;
    Rng rng(31);
    const std::vector<float> weights = InitialWeights(spec, rng);
    const auto recorded = MakeGeneric(spec, config, weights, {.device = GetParam()});
    const auto eager = MakeGeneric(spec, config, weights, {.device = GetParam(), .record = false});
    std::vector<float> observation(recorded->batch().observations.size() / 32), one(3), two(3);
    for (int update = 0; update < 50; ++update) {
      Rng same = rng;
      FillBatch(recorded->batch(), 3, rng);
      FillBatch(eager->batch(), 3, same);
      ASSERT_EQ(recorded->UpdateAndQValues(observation, one).loss,
                eager->UpdateAndQValues(observation, two).loss)
          << update;
      ASSERT_EQ(one, two) << update;
    }
    ASSERT_EQ(Copy(recorded->online()), Copy(eager->online()));
    ASSERT_EQ(Copy(recorded->target()), Copy(eager->target()));
  }
}

TEST_P(DeviceLearnerTest, MemoryOfTheDeviceStaysAsItIs) {
  if (!IsFound(GetParam())) GTEST_SKIP() << "libtorch finds no " << GetParam() << " here";
  LearnerConfig config;
  const NetworkSpec spec = VectorNetwork(8, {128, 128}, 4);
  Rng rng(32);
  const auto learner = MakeGeneric(spec, config, InitialWeights(spec, rng), {.device = GetParam()});
  if (!learner->device_memory()) GTEST_SKIP() << "this libtorch does not count the memory of " << GetParam();
  FillBatch(learner->batch(), 4, rng);
  std::vector<float> observation(8), q(4);
  for (int update = 0; update < 100; ++update) learner->UpdateAndQValues(observation, q);
  const DeviceMemory before = *learner->device_memory();
  for (int update = 0; update < 5000; ++update) learner->UpdateAndQValues(observation, q);
  const DeviceMemory after = *learner->device_memory();
  EXPECT_EQ(after.in_tensors, before.in_tensors);
  EXPECT_EQ(after.reserved, before.reserved);
}

// ---- What is known of versions.

TEST(MpsVersionsTest, WarnsBelowWhatIsKnownToBeGood) {
  EXPECT_THAT(MpsWarnings("2.8.0", "14.0"), testing::IsEmpty());
  EXPECT_THAT(MpsWarnings("2.15.0", "26.1"), testing::IsEmpty());
  EXPECT_THAT(MpsWarnings("2.7.1", "15.5"), testing::ElementsAre(testing::HasSubstr("2.7.1")));
  EXPECT_THAT(MpsWarnings("1.13.0", "13.6.1"),
              testing::ElementsAre(testing::HasSubstr("1.13.0"), testing::HasSubstr("13.6.1")));
}

TEST(MpsVersionsTest, TransposedOperandsAreTakenFrom212On) {
  EXPECT_FALSE(MpsTakesTransposed("2.11.0"));
  EXPECT_FALSE(MpsTakesTransposed("1.13.1"));
  EXPECT_TRUE(MpsTakesTransposed("2.12.0"));
  EXPECT_TRUE(MpsTakesTransposed("3.0.0"));
}

}  // namespace
}  // namespace metronome
