#include "learner/autograd_learner.h"

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adam.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "learner/network.h"
#include "metronome/core/check.h"
#include "metronome/core/text.h"
#include "metronome/learner/device.h"

namespace metronome {
namespace {

namespace functional = torch::nn::functional;

torch::nn::Sequential MakeModule(const NetworkSpec& spec) {
  torch::nn::Sequential module;
  for (const ConvShape& shape : ConvShapes(spec)) {
    module->push_back(torch::nn::Conv2d(
        torch::nn::Conv2dOptions(shape.channels, shape.filters, shape.kernel).stride(shape.stride)));
    module->push_back(torch::nn::ReLU());
  }
  if (spec.observation_shape.size() > 1) module->push_back(torch::nn::Flatten());
  const std::vector<DenseShape> shapes = DenseShapes(spec);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    module->push_back(torch::nn::Linear(shapes[i].inputs, shapes[i].outputs));
    if (i + 1 < shapes.size()) module->push_back(torch::nn::ReLU());
  }
  return module;
}

/// What an optimizer's table of states calls a parameter: its address, as text in older versions of libtorch.
template <typename States>
auto StateKey(const States& states, const torch::Tensor& parameter) {
  using Key = typename std::decay_t<decltype(states)>::key_type;
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return text.str();
  } else {
    return static_cast<Key>(parameter.unsafeGetTensorImpl());
  }
}

class AutogradLearner : public Learner {
 public:
  AutogradLearner(const NetworkSpec& spec, const LearnerConfig& config, int threads,
                  std::span<const float> weights)
      : config_(config),
        threads_(threads),
        observation_size_(ObservationSize(spec)),
        observation_shape_(spec.observation_shape),
        num_actions_(spec.num_actions),
        tensors_(TensorsOf(spec)),
        online_module_(MakeModule(spec)),
        target_module_(MakeModule(spec)),
        adam_(online_module_->parameters(), torch::optim::AdamOptions(config.learning_rate)
                                                .betas({config.adam_beta1, config.adam_beta2})
                                                .eps(config.adam_epsilon)) {
    SetTorchThreads(threads);
    const auto size = static_cast<std::size_t>(FlatSize(tensors_));
    for (std::vector<float>* flat : {&online_, &target_, &first_moment_, &second_moment_}) flat->resize(size);
    const auto rows = static_cast<std::size_t>(config.batch_size);
    const std::size_t elements = rows * static_cast<std::size_t>(observation_size_);
    observations_.resize(elements);
    next_observations_.resize(elements);
    actions_.resize(rows);
    rewards_.resize(rows);
    discounts_.resize(rows);
    batch_ = {observations_, next_observations_, actions_, rewards_, discounts_};
    const std::vector<float> zeros(size);
    Restore(weights, weights, zeros, zeros, 0, 0);
  }

  void QValues(std::span<const float> observation, std::span<float> q_values) override {
    METRONOME_CHECK_EQ(static_cast<std::int64_t>(observation.size()), observation_size_);
    METRONOME_CHECK_EQ(static_cast<std::int64_t>(q_values.size()), num_actions_);
    const torch::NoGradGuard no_gradient;
    const torch::Tensor q = online_module_->forward(FromFloats(observation, Rows(1)));
    std::copy_n(q.data_ptr<float>(), q_values.size(), q_values.data());
  }

  const BatchView& batch() override { return batch_; }

  UpdateResult Update() override {
    const std::int64_t rows = config_.batch_size;
    const torch::Tensor observations = FromFloats(observations_, Rows(rows));
    const torch::Tensor next_observations = FromFloats(next_observations_, Rows(rows));
    const torch::Tensor actions = torch::from_blob(actions_.data(), {rows}, torch::kInt32).to(torch::kInt64);
    const torch::Tensor rewards = FromFloats(rewards_, {rows});
    const torch::Tensor discounts = FromFloats(discounts_, {rows});

    torch::Tensor target;
    {
      const torch::NoGradGuard no_gradient;
      const torch::Tensor next_q = target_module_->forward(next_observations);
      const torch::Tensor best = config_.double_dqn
                                     ? online_module_->forward(next_observations).argmax(1, true)
                                     : next_q.argmax(1, true);
      target = rewards + discounts * next_q.gather(1, best).squeeze(1);
    }
    const torch::Tensor q = online_module_->forward(observations).gather(1, actions.unsqueeze(1)).squeeze(1);
    METRONOME_CHECK(q.sizes() == target.sizes());
    const torch::Tensor loss =
        config_.loss == Loss::kHuber ? functional::huber_loss(q, target) : functional::mse_loss(q, target);
    adam_.zero_grad();
    loss.backward();

    UpdateResult result;
    result.loss = loss.item<float>();
    result.q_mean = q.mean().item<float>();
    result.gradient_norm = GradientNorm();
    ++updates_;
    if (!std::isfinite(result.gradient_norm)) return result;  // as in the static engine
    if (config_.max_gradient_norm > 0.0) {
      torch::nn::utils::clip_grad_norm_(online_module_->parameters(), config_.max_gradient_norm);
    }
    adam_.step();
    if (updates_ % config_.target_update_period == 0) {
      SyncTarget();
      ++target_syncs_;
    }
    return result;
  }

  std::span<const NamedTensor> tensors() const override { return tensors_; }
  std::span<const float> online() override { return Flatten(*online_module_, online_); }
  std::span<const float> target() override { return Flatten(*target_module_, target_); }
  std::span<const float> first_moment() override { return FlattenMoment(true, first_moment_); }
  std::span<const float> second_moment() override { return FlattenMoment(false, second_moment_); }

  void Restore(std::span<const float> online, std::span<const float> target,
               std::span<const float> first_moment, std::span<const float> second_moment,
               std::int64_t updates, std::int64_t target_syncs) override {
    METRONOME_CHECK_EQ(static_cast<std::int64_t>(online.size()), FlatSize(tensors_));
    const torch::NoGradGuard no_gradient;
    const std::vector<torch::Tensor> online_parameters = online_module_->parameters();
    const std::vector<torch::Tensor> target_parameters = target_module_->parameters();
    adam_.state().clear();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const torch::Tensor& parameter = online_parameters[i];
      parameter.copy_(View(online, i));
      target_parameters[i].copy_(View(target, i));
      if (updates == 0) continue;  // Adam makes its own state at the first step
      auto state = std::make_unique<torch::optim::AdamParamState>();
      state->step(updates);
      state->exp_avg(View(first_moment, i).clone());
      state->exp_avg_sq(View(second_moment, i).clone());
      adam_.state()[StateKey(adam_.state(), parameter)] = std::move(state);
    }
    updates_ = updates;
    target_syncs_ = target_syncs;
  }

  int threads() const override { return threads_; }
  std::string description() const override {
    return "autograd engine, cpu, " + FormatCount(threads_, "thread");
  }

 private:
  /// The shape of so many observations.
  std::vector<std::int64_t> Rows(std::int64_t rows) const {
    std::vector<std::int64_t> shape = observation_shape_;
    shape.insert(shape.begin(), rows);
    return shape;
  }

  /// The floats themselves as a tensor, no copy.
  static torch::Tensor FromFloats(std::span<const float> floats, std::vector<std::int64_t> shape) {
    return torch::from_blob(const_cast<float*>(floats.data()), shape, torch::kFloat32);
  }

  torch::Tensor View(std::span<const float> flat, std::size_t tensor) const {
    const NamedTensor& named = tensors_[tensor];
    return FromFloats(
        flat.subspan(static_cast<std::size_t>(named.offset), static_cast<std::size_t>(named.size)),
        named.shape);
  }

  void CopyInto(std::vector<float>& flat, std::size_t tensor, const torch::Tensor& from) const {
    const torch::Tensor contiguous = from.detach().contiguous();
    std::copy_n(contiguous.data_ptr<float>(), tensors_[tensor].size, flat.data() + tensors_[tensor].offset);
  }

  std::span<const float> Flatten(const torch::nn::SequentialImpl& module, std::vector<float>& flat) const {
    const std::vector<torch::Tensor> parameters = module.parameters();
    for (std::size_t i = 0; i < tensors_.size(); ++i) CopyInto(flat, i, parameters[i]);
    return flat;
  }

  std::span<const float> FlattenMoment(bool first, std::vector<float>& flat) {
    const std::vector<torch::Tensor> parameters = online_module_->parameters();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const auto found = adam_.state().find(StateKey(adam_.state(), parameters[i]));
      if (found == adam_.state().end()) {
        std::fill_n(flat.begin() + tensors_[i].offset, tensors_[i].size, 0.0f);
        continue;
      }
      const auto& state = static_cast<const torch::optim::AdamParamState&>(*found->second);
      CopyInto(flat, i, first ? state.exp_avg() : state.exp_avg_sq());
    }
    return flat;
  }

  float GradientNorm() const {
    double squares = 0.0;
    for (const torch::Tensor& parameter : online_module_->parameters()) {
      const double norm = parameter.grad().norm().item<double>();
      squares += norm * norm;
    }
    return static_cast<float>(std::sqrt(squares));
  }

  void SyncTarget() {
    const torch::NoGradGuard no_gradient;
    const std::vector<torch::Tensor> online_parameters = online_module_->parameters();
    const std::vector<torch::Tensor> target_parameters = target_module_->parameters();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (config_.target_update_rate == 1.0) {
        target_parameters[i].copy_(online_parameters[i]);
      } else {
        target_parameters[i].lerp_(online_parameters[i], config_.target_update_rate);
      }
    }
  }

  const LearnerConfig config_;
  const int threads_;
  const std::int64_t observation_size_;
  const std::vector<std::int64_t> observation_shape_;
  const std::int64_t num_actions_;
  std::vector<NamedTensor> tensors_;
  torch::nn::Sequential online_module_;
  torch::nn::Sequential target_module_;
  torch::optim::Adam adam_;
  std::vector<float> online_, target_, first_moment_, second_moment_;
  std::vector<float> observations_, next_observations_, rewards_, discounts_;
  std::vector<std::int32_t> actions_;
  BatchView batch_;
};

}  // namespace

std::unique_ptr<Learner> MakeAutogradLearner(const NetworkSpec& spec, const LearnerConfig& config,
                                             int threads, std::span<const float> weights) {
  return std::make_unique<AutogradLearner>(spec, config, threads, weights);
}

}  // namespace metronome
