#include "learner/tensor_learner.h"

#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/div.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/threshold_backward.h>
#include <ATen/ops/where.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "learner/device_layer.h"
#include "learner/float_mode.h"
#include "learner/network.h"
#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/text.h"
#include "metronome/learner/device.h"

namespace metronome {
namespace {

using at::Tensor;

// 256 bytes: where every tensor and every section of a transfer begins.
constexpr std::int64_t kAlignment = 64;
// Rows of an act: the observation, and one of zeros.
constexpr std::int64_t kActRows = 2;

std::int64_t Aligned(std::int64_t floats) { return (floats + kAlignment - 1) / kAlignment * kAlignment; }

// Dimensions to reduce over.
constexpr std::array<std::int64_t, 1> kRows = {0};
constexpr std::array<std::int64_t, 1> kColumns = {1};

/// The contiguous part of a one-dimensional tensor that begins at `offset`, in `shape`.
Tensor Part(const Tensor& flat, std::int64_t offset, at::IntArrayRef shape) {
  const std::int64_t size = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return flat.narrow(0, offset, size).view(shape);
}

/// One product of the network: a fully connected layer, or a convolution as the product of its patches.
///
/// A convolution's result lies as (row, position, filter), which is how the product leaves it; torch, and so
/// the flat vectors outside, have (row, filter, position). Whoever reads it, the next convolution's gather or
/// the next layer's weights, is laid out for that.
struct Product {
  std::int64_t inputs = 0;  // columns of x: a patch, for a convolution
  std::int64_t outputs = 0;
  std::int64_t positions = 1;  // rows of x for one observation
  bool has_relu = true;
  std::int64_t weight_offset = 0;  // in the flat vectors; (outputs, inputs)
  std::int64_t bias_offset = 0;

  // A convolution reads observations as (rows, cells, cell_floats): each patch is some of those cells.
  bool is_convolution = false;
  std::int64_t cells = 0;
  std::int64_t cell_floats = 0;
  Tensor patch_cells;  // int64 (positions * cells of a patch): which
  // Back, each cell sums over the places in patches where it stands, at most `overlap` of them.
  std::int64_t overlap = 0;
  Tensor cell_places;  // int64 (overlap * cells): where, in the patches of one observation
  Tensor place_mask;   // (1, overlap, cells * cell_floats): 1, or 0 where a cell stands in fewer
};

/// The views of one flat vector of weights, by product.
struct Weights {
  Tensor flat;
  std::vector<Tensor> weight;      // (outputs, inputs)
  std::vector<Tensor> transposed;  // (inputs, outputs): a view, or a copy if operands are to be contiguous
  std::vector<Tensor> bias;        // (outputs)
};

/// The workspaces of a forward pass over so many rows, by product.
struct Pass {
  std::int64_t rows = 0;
  std::vector<Tensor> cells;    // (rows, cells, cell_floats): a convolution's source
  std::vector<Tensor> patches;  // (rows, positions * cells of a patch, cell_floats), the same memory as `x`
  std::vector<Tensor> x;        // (rows * positions, inputs)
  std::vector<Tensor> y;        // (rows * positions, outputs)
  bool has_first_patches = false;  // another pass gathers them
};

class TensorLearner : public Learner {
 public:
  TensorLearner(const NetworkSpec& spec, const LearnerConfig& config, const TensorLearnerOptions& options,
                std::span<const float> weights)
      : config_(config),
        options_(options),
        owner_(std::this_thread::get_id()),
        tensors_(TensorsOf(spec)),
        num_actions_(spec.num_actions),
        observation_size_(ObservationSize(spec)),
        // A batch of one gets a second row, all zeros: it has no error and so no part in the gradient.
        rows_(std::max<std::int64_t>(config.batch_size, 2)) {
    Guarded([&] {
      if (options.device == "cpu") SetTorchThreads(options.threads);
      layer_ = DeviceLayer::Make(options.device);
      const DeviceLayer::Scope scope(*layer_);
      MakeProducts(spec);
      MakeTransfers();
      MakeWorkspaces();
      learn_ops_ = [this] { LearnOps(); };
      sync_ops_ = [this] { SyncOps(); };
      act_ops_ = [this] { ActOps(); };
    });
    const std::vector<float> zeros(weights.size());
    Restore(weights, weights, zeros, zeros, 0, 0);
  }

  void QValues(std::span<const float> observation, std::span<float> q_values) override {
    Guarded([&] {
      const DeviceLayer::Scope scope(*layer_);
      StageObservation(observation);
      layer_->Upload(host_act_, device_act_);
      Run(kActSlot, act_ops_);
      layer_->ReadBack(device_results_, host_results_);
      TakeQValues(q_values);
    });
  }

  const BatchView& batch() override { return batch_; }

  UpdateResult Update() override { return UpdateAndAct({}, {}); }
  UpdateResult UpdateAndQValues(std::span<const float> observation, std::span<float> q_values) override {
    return UpdateAndAct(observation, q_values);
  }
  bool saves_a_trip() const override { return true; }

  std::span<const NamedTensor> tensors() const override { return tensors_; }
  std::span<const float> online() override { return ReadState(online_.flat, plain_online_); }
  std::span<const float> target() override { return ReadState(target_.flat, plain_target_); }
  std::span<const float> first_moment() override { return ReadState(first_moment_, plain_first_moment_); }
  std::span<const float> second_moment() override { return ReadState(second_moment_, plain_second_moment_); }

  void Restore(std::span<const float> online, std::span<const float> target,
               std::span<const float> first_moment, std::span<const float> second_moment,
               std::int64_t updates, std::int64_t target_syncs) override {
    Guarded([&] {
      const DeviceLayer::Scope scope(*layer_);
      WriteState(online, online_.flat);
      WriteState(target, target_.flat);
      WriteState(first_moment, first_moment_);
      WriteState(second_moment, second_moment_);
      CopyTransposed(online_);
      CopyTransposed(target_);
    });
    updates_ = updates;
    target_syncs_ = target_syncs;
  }

  std::string description() const override {
    std::string text = "static engine, generic ops, " + DeviceDescription(options_.device);
    if (options_.device == "cpu") {
      text += ", " + FormatCount(options_.threads, "thread");
    }
    if (options_.careful) text += ", contiguous operands only";
    if (options_.record && !layer_->run_description().empty()) text += ", " + layer_->run_description();
    return text;
  }
  int threads() const override { return options_.device == "cpu" ? options_.threads : 1; }
  std::string device() const override { return options_.device; }
  TransferCounts transfers() const override { return layer_->transfers(); }
  std::optional<DeviceMemory> device_memory() const override { return layer_->memory(); }

 private:
  static constexpr int kLearnSlot = 0;
  static constexpr int kSyncSlot = 1;
  static constexpr int kActSlot = 2;
  static_assert(kActSlot < DeviceLayer::kSlots);

  // What comes in the upload beside the batch: first kCoefficients numbers that are all 0 on a non-finite
  // gradient, so that nothing moves.
  static constexpr std::int64_t kMeanShare = 0;    // 1 - beta1
  static constexpr std::int64_t kSquareShare = 1;  // 1 - beta2
  static constexpr std::int64_t kStepSize = 2;     // learning rate / (1 - beta1^t)
  static constexpr std::int64_t kTargetShare = 3;  // learner.target_update_rate
  static constexpr std::int64_t kCoefficients = 4;
  static constexpr std::int64_t kInverseRoot = 4;  // 1 / sqrt(1 - beta2^t)

  /// Calls `body`, and makes what libtorch throws one line. MPS is used from one thread only.
  template <typename Body>
  auto Guarded(const Body& body) const -> decltype(body()) {
    METRONOME_CHECK(options_.device != "mps" || std::this_thread::get_id() == owner_);
    try {
      return body();
    } catch (const c10::Error& error) {
      std::string what = error.what_without_backtrace();
      what = what.substr(0, what.find('\n'));
      throw Error(ExitCode::kNoDevice, "device.name: \"" + options_.device + "\" failed: " + what);
    }
  }

  void MakeProducts(const NetworkSpec& spec);
  void MakeConvolution(const ConvShape& shape, bool is_first, Product& product) const;
  void IndexParameters(const NetworkSpec& spec);
  void MakeTransfers();
  void MakeWorkspaces();
  Weights MakeWeights() const;
  Pass MakePass(std::int64_t rows, const Tensor& observations, const Tensor& last_y) const;

  void Run(int slot, const std::function<void()>& ops) {
    if (options_.record) {
      layer_->Run(slot, ops);
    } else {
      ops();
    }
  }

  void StageObservation(std::span<const float> observation) {
    METRONOME_CHECK_EQ(static_cast<std::int64_t>(observation.size()), observation_size_);
    std::copy(observation.begin(), observation.end(), staging_ + act_offset_);
  }
  void TakeQValues(std::span<float> q_values) const {
    METRONOME_CHECK_EQ(static_cast<std::int64_t>(q_values.size()), num_actions_);
    std::copy_n(host_results_.data_ptr<float>(), q_values.size(), q_values.data());
  }
  void StageUpdate();
  UpdateResult UpdateAndAct(std::span<const float> observation, std::span<float> q_values);

  void Forward(Pass& pass, const Weights& weights) const;
  void LearnOps();
  void TdErrorOps();
  void BackwardOps();
  void AdamOps();
  void SyncOps();
  void ActOps() { Forward(act_pass_, online_); }
  void CopyTransposed(const Weights& weights) const {
    if (!options_.careful) return;
    for (std::size_t i = 0; i < weights.weight.size(); ++i) {
      weights.transposed[i].copy_(weights.weight[i].t());
    }
  }

  std::span<const float> ReadState(const Tensor& flat, std::vector<float>& plain) {
    return Guarded([&]() -> std::span<const float> {
      const DeviceLayer::Scope scope(*layer_);
      layer_->ReadBack(flat, host_state_);
      const float* const host = host_state_.data_ptr<float>();
      plain.resize(packed_index_.size());
      for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = host[packed_index_[i]];
      return plain;
    });
  }
  void WriteState(std::span<const float> plain, Tensor& flat) {
    METRONOME_CHECK_EQ(plain.size(), packed_index_.size());
    float* const host = host_state_.data_ptr<float>();
    for (std::size_t i = 0; i < plain.size(); ++i) host[packed_index_[i]] = plain[i];
    layer_->Upload(host_state_, flat);
    layer_->Wait();  // the next vector goes by the same memory
  }

  const LearnerConfig config_;
  const TensorLearnerOptions options_;
  const std::thread::id owner_;
  const std::vector<NamedTensor> tensors_;
  const std::int64_t num_actions_;
  const std::int64_t observation_size_;
  const std::int64_t rows_;  // of a batch

  std::unique_ptr<DeviceLayer> layer_;  // before all tensors
  std::vector<Product> products_;
  std::int64_t flat_size_ = 0;
  std::vector<std::int64_t> packed_index_;  // of each parameter, in the order of tensors()
  std::vector<float> plain_online_, plain_target_, plain_first_moment_, plain_second_moment_;

  // The upload: kAlignment numbers, the act's observations, those of the batch (2 * rows: s and then s'), the
  // actions one-hot (rows, A), rewards (rows), discounts (rows). An act alone sends the beginning.
  std::int64_t act_offset_ = 0, observations_offset_ = 0, actions_offset_ = 0, rewards_offset_ = 0,
               discounts_offset_ = 0;
  Tensor host_upload_, host_act_, host_results_, host_state_;
  Tensor device_upload_, device_act_, device_results_;
  float* staging_ = nullptr;
  std::vector<std::int32_t> actions_;  // (B), as the caller gives them
  std::vector<std::int32_t> hot_;      // (B), as they stand in staging
  BatchView batch_;

  Weights online_, target_;
  Tensor gradient_, first_moment_, second_moment_, scratch_;  // (flat_size)
  std::vector<Tensor> weight_gradient_, bias_gradient_;       // views, by product

  Pass online_pass_;  // s, and with double DQN s' below it
  Pass target_pass_;  // s'
  Pass act_pass_;
  Tensor q_, next_q_online_, next_q_target_;            // (rows, A)
  Tensor one_hot_, rewards_, discounts_;                // views of the upload: (rows, A), (rows, 1)
  Tensor action_numbers_, best_, is_best_;              // int64 (1, A), int64 (rows, 1), bool (rows, A)
  Tensor picked_;                                       // (rows, A)
  Tensor next_value_, q_sa_, delta_, bent_, row_loss_;  // (rows, 1)
  Tensor loss_sum_, q_sum_, squares_;                   // (1), views of the results
  // By product, for the backward pass.
  std::vector<Tensor> x_, y_;               // of s
  std::vector<Tensor> dy_, dy_transposed_;  // (rows * positions, outputs); the other a view or a copy
  std::vector<Tensor> dx_;                  // (rows * positions, inputs): the dy of the product below
  std::vector<Tensor> spread_;              // (rows, overlap, cells * cell_floats)
  std::vector<Tensor> spread_cells_;        // the same memory, (rows, overlap * cells, cell_floats)
  std::vector<Tensor> patch_places_;        // dx of a convolution, (rows, places, cell_floats)
  std::vector<Tensor> dcells_;              // dy of the product below, (rows, cells * cell_floats)

  Tensor zero_, error_scale_, clip_floor_, max_norm_, adam_epsilon_;  // (1), constant
  Tensor clip_scale_, is_finite_, coefficients_;                      // (1), (1), (kCoefficients)
  Tensor uploaded_coefficients_, inverse_root_;                       // views of the upload
  Tensor mean_share_, square_share_, step_size_, target_share_;       // views of the coefficients

  std::function<void()> learn_ops_, sync_ops_, act_ops_;
};

void TensorLearner::MakeProducts(const NetworkSpec& spec) {
  const auto add = [&](Product product) {
    product.weight_offset = flat_size_;
    flat_size_ += Aligned(product.outputs * product.inputs);
    product.bias_offset = flat_size_;
    flat_size_ += Aligned(product.outputs);
    products_.push_back(std::move(product));
  };
  for (const ConvShape& shape : ConvShapes(spec)) {
    Product product;
    product.inputs = shape.fan_in();
    product.outputs = shape.filters;
    product.positions = shape.positions();
    MakeConvolution(shape, products_.empty(), product);
    add(std::move(product));
  }
  for (const auto& [inputs, outputs] : DenseShapes(spec)) {
    Product product;
    product.inputs = inputs;
    product.outputs = outputs;
    add(std::move(product));
  }
  products_.back().has_relu = false;
  IndexParameters(spec);
}

void TensorLearner::MakeConvolution(const ConvShape& shape, bool is_first, Product& product) const {
  product.is_convolution = true;
  const std::int64_t grid = shape.height * shape.width;
  // An observation lies channel by channel, so a cell of it is one number; a result lies cell by cell.
  product.cells = is_first ? shape.channels * grid : grid;
  product.cell_floats = is_first ? 1 : shape.channels;
  const std::int64_t planes = is_first ? shape.channels : 1;
  std::vector<std::int64_t> patch_cells;
  std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(product.cells));
  for (std::int64_t i = 0; i < shape.out_height(); ++i) {
    for (std::int64_t j = 0; j < shape.out_width(); ++j) {
      for (std::int64_t plane = 0; plane < planes; ++plane) {
        for (std::int64_t u = 0; u < shape.kernel; ++u) {
          for (std::int64_t v = 0; v < shape.kernel; ++v) {
            const std::int64_t cell =
                plane * grid + (i * shape.stride + u) * shape.width + j * shape.stride + v;
            places[static_cast<std::size_t>(cell)].push_back(static_cast<std::int64_t>(patch_cells.size()));
            patch_cells.push_back(cell);
          }
        }
      }
    }
  }
  const auto to_device = [&](const std::vector<std::int64_t>& numbers) {
    const auto size = static_cast<std::int64_t>(numbers.size());
    Tensor host = layer_->HostFloats(0).new_empty({size}, at::kLong);
    std::copy(numbers.begin(), numbers.end(), host.data_ptr<std::int64_t>());
    return host.to(layer_->device());
  };
  product.patch_cells = to_device(patch_cells);
  if (is_first) return;  // nobody asks for the gradient of the observation

  for (const std::vector<std::int64_t>& one : places) {
    product.overlap = std::max(product.overlap, static_cast<std::int64_t>(one.size()));
  }
  std::vector<std::int64_t> cell_places;
  Tensor mask = layer_->HostFloats(product.overlap * product.cells * product.cell_floats);
  float* mask_data = mask.data_ptr<float>();
  for (std::int64_t k = 0; k < product.overlap; ++k) {
    for (const std::vector<std::int64_t>& one : places) {
      const bool stands = k < static_cast<std::int64_t>(one.size());
      cell_places.push_back(stands ? one[static_cast<std::size_t>(k)] : 0);
      mask_data = std::fill_n(mask_data, product.cell_floats, stands ? 1.0f : 0.0f);
    }
  }
  product.cell_places = to_device(cell_places);
  product.place_mask =
      mask.to(layer_->device()).view({1, product.overlap, product.cells * product.cell_floats});
}

void TensorLearner::IndexParameters(const NetworkSpec& spec) {
  const std::vector<ConvShape> convolutions = ConvShapes(spec);
  for (std::size_t i = 0; i < products_.size(); ++i) {
    const Product& product = products_[i];
    // What stands in column `column` of the weights outside goes into column inside[column] here.
    std::vector<std::int64_t> inside(static_cast<std::size_t>(product.inputs));
    std::iota(inside.begin(), inside.end(), std::int64_t{0});
    // From (slow, fast) to (fast, slow).
    const auto swap_order = [&inside](std::int64_t slow, std::int64_t fast) {
      for (std::int64_t a = 0; a < slow; ++a) {
        for (std::int64_t b = 0; b < fast; ++b) {
          inside[static_cast<std::size_t>(a * fast + b)] = b * slow + a;
        }
      }
    };
    if (product.is_convolution && i > 0) {
      swap_order(convolutions[i].channels, convolutions[i].kernel * convolutions[i].kernel);
    } else if (!product.is_convolution && i == convolutions.size() && i > 0) {
      swap_order(convolutions.back().filters, convolutions.back().positions());
    }
    for (std::int64_t output = 0; output < product.outputs; ++output) {
      for (const std::int64_t column : inside) {
        packed_index_.push_back(product.weight_offset + output * product.inputs + column);
      }
    }
    for (std::int64_t output = 0; output < product.outputs; ++output) {
      packed_index_.push_back(product.bias_offset + output);
    }
  }
  METRONOME_CHECK_EQ(static_cast<std::int64_t>(packed_index_.size()), FlatSize(tensors_));
}

void TensorLearner::MakeTransfers() {
  act_offset_ = kAlignment;
  observations_offset_ = act_offset_ + Aligned(kActRows * observation_size_);
  actions_offset_ = observations_offset_ + Aligned(2 * rows_ * observation_size_);
  rewards_offset_ = actions_offset_ + Aligned(rows_ * num_actions_);
  discounts_offset_ = rewards_offset_ + Aligned(rows_);
  const std::int64_t upload_size = discounts_offset_ + Aligned(rows_);
  host_upload_ = layer_->HostFloats(upload_size);
  device_upload_ = layer_->Zeros({upload_size});
  host_act_ = host_upload_.narrow(0, 0, observations_offset_);
  device_act_ = device_upload_.narrow(0, 0, observations_offset_);
  staging_ = host_upload_.data_ptr<float>();

  const std::int64_t results_size = Aligned(kActRows * num_actions_) + kAlignment;
  host_results_ = layer_->HostFloats(results_size);
  device_results_ = layer_->Zeros({results_size});
  const std::int64_t sums = Aligned(kActRows * num_actions_);
  loss_sum_ = Part(device_results_, sums, {1});
  q_sum_ = Part(device_results_, sums + 1, {1});
  squares_ = Part(device_results_, sums + 2, {1});
  host_state_ = layer_->HostFloats(flat_size_);

  const auto rows = static_cast<std::size_t>(config_.batch_size);
  actions_.resize(rows);
  hot_.resize(rows);
  const auto span = [&](std::int64_t offset, std::int64_t row_size) {
    return std::span<float>(staging_ + offset, rows * static_cast<std::size_t>(row_size));
  };
  batch_ = {span(observations_offset_, observation_size_),
            span(observations_offset_ + rows_ * observation_size_, observation_size_), actions_,
            span(rewards_offset_, 1), span(discounts_offset_, 1)};

  one_hot_ = Part(device_upload_, actions_offset_, {rows_, num_actions_});
  rewards_ = Part(device_upload_, rewards_offset_, {rows_, 1});
  discounts_ = Part(device_upload_, discounts_offset_, {rows_, 1});
  uploaded_coefficients_ = Part(device_upload_, 0, {kCoefficients});
  inverse_root_ = Part(device_upload_, kInverseRoot, {1});
}

Weights TensorLearner::MakeWeights() const {
  Weights weights;
  weights.flat = layer_->Zeros({flat_size_});
  for (const Product& product : products_) {
    weights.weight.push_back(Part(weights.flat, product.weight_offset, {product.outputs, product.inputs}));
    weights.transposed.push_back(options_.careful ? layer_->Zeros({product.inputs, product.outputs})
                                                  : weights.weight.back().t());
    weights.bias.push_back(Part(weights.flat, product.bias_offset, {product.outputs}));
  }
  return weights;
}

Pass TensorLearner::MakePass(std::int64_t rows, const Tensor& observations, const Tensor& last_y) const {
  Pass pass;
  pass.rows = rows;
  Tensor from = observations;
  for (const Product& product : products_) {
    const bool is_last = &product == &products_.back();
    if (product.is_convolution) {
      pass.cells.push_back(from.view({rows, product.cells, product.cell_floats}));
      pass.x.push_back(layer_->Zeros({rows * product.positions, product.inputs}));
      pass.patches.push_back(pass.x.back().view({rows, -1, product.cell_floats}));
    } else {
      pass.cells.emplace_back();
      pass.patches.emplace_back();
      pass.x.push_back(from.view({rows, product.inputs}));
    }
    from = is_last && last_y.defined() ? last_y : layer_->Zeros({rows * product.positions, product.outputs});
    pass.y.push_back(from);
  }
  return pass;
}

void TensorLearner::MakeWorkspaces() {
  online_ = MakeWeights();
  target_ = MakeWeights();
  for (Tensor* const flat : {&gradient_, &first_moment_, &second_moment_, &scratch_}) {
    *flat = layer_->Zeros({flat_size_});
  }
  for (const Product& product : products_) {
    weight_gradient_.push_back(Part(gradient_, product.weight_offset, {product.outputs, product.inputs}));
    bias_gradient_.push_back(Part(gradient_, product.bias_offset, {product.outputs}));
  }

  const std::int64_t online_rows = config_.double_dqn ? 2 * rows_ : rows_;
  online_pass_ =
      MakePass(online_rows, Part(device_upload_, observations_offset_, {online_rows, observation_size_}), {});
  target_pass_ = MakePass(
      rows_,
      Part(device_upload_, observations_offset_ + rows_ * observation_size_, {rows_, observation_size_}), {});
  act_pass_ = MakePass(kActRows, Part(device_upload_, act_offset_, {kActRows, observation_size_}),
                       Part(device_results_, 0, {kActRows, num_actions_}));
  if (config_.double_dqn && products_.front().is_convolution) {
    const Product& first = products_.front();
    target_pass_.x[0] = online_pass_.x[0].narrow(0, rows_ * first.positions, rows_ * first.positions);
    target_pass_.patches[0] = online_pass_.patches[0].narrow(0, rows_, rows_);
    target_pass_.has_first_patches = true;
  }
  q_ = online_pass_.y.back().narrow(0, 0, rows_);
  if (config_.double_dqn) next_q_online_ = online_pass_.y.back().narrow(0, rows_, rows_);
  next_q_target_ = target_pass_.y.back();

  for (std::size_t i = 0; i < products_.size(); ++i) {
    const Product& product = products_[i];
    const std::int64_t rows = rows_ * product.positions;
    x_.push_back(online_pass_.x[i].narrow(0, 0, rows));
    y_.push_back(online_pass_.y[i].narrow(0, 0, rows));
    dy_.push_back(layer_->Zeros({rows, product.outputs}));
    dy_transposed_.push_back(options_.careful ? layer_->Zeros({product.outputs, rows}) : dy_.back().t());
    // The product below ends where this one begins.
    dx_.emplace_back();
    spread_.emplace_back();
    spread_cells_.emplace_back();
    patch_places_.emplace_back();
    dcells_.emplace_back();
    if (i == 0) continue;
    if (!product.is_convolution) {
      dx_.back() = dy_[i - 1].view({rows, product.inputs});
      continue;
    }
    const std::int64_t cell_row = product.cells * product.cell_floats;
    dx_.back() = layer_->Zeros({rows, product.inputs});
    patch_places_.back() = dx_.back().view({rows_, -1, product.cell_floats});
    spread_.back() = layer_->Zeros({rows_, product.overlap, cell_row});
    spread_cells_.back() = spread_.back().view({rows_, product.overlap * product.cells, product.cell_floats});
    dcells_.back() = dy_[i - 1].view({rows_, cell_row});
  }

  for (Tensor* const column : {&next_value_, &q_sa_, &delta_, &bent_, &row_loss_}) {
    *column = layer_->Zeros({rows_, 1});
  }
  picked_ = layer_->Zeros({rows_, num_actions_});
  const Tensor longs = picked_.new_zeros({0}, at::kLong);
  best_ = longs.new_zeros({rows_, 1});
  is_best_ = picked_.new_zeros({rows_, num_actions_}, at::kBool);
  Tensor numbers = layer_->HostFloats(0).new_zeros({1, num_actions_}, at::kLong);
  std::iota(numbers.data_ptr<std::int64_t>(), numbers.data_ptr<std::int64_t>() + num_actions_, 0);
  action_numbers_ = numbers.to(layer_->device());

  const auto constant = [&](double value) {
    Tensor host = layer_->HostFloats(1);
    *host.data_ptr<float>() = static_cast<float>(value);
    Tensor device = layer_->Zeros({1});
    layer_->Upload(host, device);
    layer_->Wait();
    return device;
  };
  zero_ = constant(0.0);
  const double batch = static_cast<double>(config_.batch_size);
  error_scale_ = constant((config_.loss == Loss::kHuber ? 1.0 : 2.0) / batch);
  clip_floor_ = constant(1e-6);
  // Without clipping a norm that nothing finite exceeds.
  max_norm_ = constant(config_.max_gradient_norm > 0.0 ? config_.max_gradient_norm : 3e38);
  adam_epsilon_ = constant(config_.adam_epsilon);
  clip_scale_ = layer_->Zeros({1});
  is_finite_ = layer_->Zeros({1});
  coefficients_ = layer_->Zeros({kCoefficients});
  mean_share_ = coefficients_.narrow(0, kMeanShare, 1);
  square_share_ = coefficients_.narrow(0, kSquareShare, 1);
  step_size_ = coefficients_.narrow(0, kStepSize, 1);
  target_share_ = coefficients_.narrow(0, kTargetShare, 1);
}

void TensorLearner::StageUpdate() {
  const auto count = static_cast<double>(updates_);
  staging_[kMeanShare] = static_cast<float>(1.0 - config_.adam_beta1);
  staging_[kSquareShare] = static_cast<float>(1.0 - config_.adam_beta2);
  staging_[kStepSize] =
      static_cast<float>(config_.learning_rate / (1.0 - std::pow(config_.adam_beta1, count)));
  staging_[kTargetShare] = static_cast<float>(config_.target_update_rate);
  staging_[kInverseRoot] = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(config_.adam_beta2, count)));
  float* row = staging_ + actions_offset_;
  for (std::size_t i = 0; i < actions_.size(); ++i, row += num_actions_) {
    METRONOME_DCHECK(actions_[i] >= 0 && actions_[i] < num_actions_);
    row[hot_[i]] = 0.0f;
    row[actions_[i]] = 1.0f;
    hot_[i] = actions_[i];
  }
}

UpdateResult TensorLearner::UpdateAndAct(std::span<const float> observation, std::span<float> q_values) {
  return Guarded([&] {
    const DeviceLayer::Scope scope(*layer_);
    ++updates_;
    const bool sync = updates_ % config_.target_update_period == 0;
    StageUpdate();
    if (!q_values.empty()) StageObservation(observation);
    layer_->Upload(host_upload_, device_upload_);
    Run(kLearnSlot, learn_ops_);
    if (sync) Run(kSyncSlot, sync_ops_);
    if (!q_values.empty()) Run(kActSlot, act_ops_);
    layer_->ReadBack(device_results_, host_results_);

    const float* const sums = host_results_.data_ptr<float>() + Aligned(kActRows * num_actions_);
    const auto batch = static_cast<float>(config_.batch_size);
    UpdateResult result;
    result.loss = sums[0] / batch;
    result.q_mean = sums[1] / batch;
    result.gradient_norm = std::sqrt(sums[2]);
    if (sync && std::isfinite(result.gradient_norm)) ++target_syncs_;
    if (!q_values.empty()) TakeQValues(q_values);
    return result;
  });
}

void TensorLearner::Forward(Pass& pass, const Weights& weights) const {
  for (std::size_t i = 0; i < products_.size(); ++i) {
    const Product& product = products_[i];
    if (product.is_convolution && !(i == 0 && pass.has_first_patches)) {
      at::index_select_out(pass.patches[i], pass.cells[i], 1, product.patch_cells);
    }
    if (options_.careful) {
      at::mm_out(pass.y[i], pass.x[i], weights.transposed[i]);
      at::add_out(pass.y[i], pass.y[i], weights.bias[i]);
    } else {
      at::addmm_out(pass.y[i], weights.bias[i], pass.x[i], weights.transposed[i]);
    }
    if (product.has_relu) at::clamp_min_out(pass.y[i], pass.y[i], 0.0);
  }
}

void TensorLearner::LearnOps() {
  Forward(online_pass_, online_);
  Forward(target_pass_, target_);
  TdErrorOps();
  BackwardOps();
  AdamOps();
  CopyTransposed(online_);
}

void TensorLearner::TdErrorOps() {
  if (config_.double_dqn) {
    // The first of several equal values, as argmax is defined in torch.
    at::argmax_out(best_, next_q_online_, 1, true);
    at::eq_out(is_best_, best_, action_numbers_);
    at::where_out(picked_, is_best_, next_q_target_, zero_);
    at::sum_out(next_value_, picked_, kColumns, true);
  } else {
    at::amax_out(next_value_, next_q_target_, kColumns, true);
  }
  at::mul_out(next_value_, next_value_, discounts_);
  at::add_out(next_value_, next_value_, rewards_);  // the target

  at::mul_out(picked_, q_, one_hot_);
  at::sum_out(q_sa_, picked_, kColumns, true);
  at::sum_out(q_sum_, q_sa_, kRows);
  at::sub_out(delta_, q_sa_, next_value_);
  if (config_.loss == Loss::kHuber) {
    // With c the error cut to [-1, 1], c * (error - c / 2) is error^2 / 2 within and |error| - 1/2 beyond.
    at::clamp_out(bent_, delta_, -1.0, 1.0);
    at::sub_out(row_loss_, delta_, bent_, 0.5);
    at::mul_out(row_loss_, row_loss_, bent_);
    at::mul_out(bent_, bent_, error_scale_);
  } else {
    at::mul_out(row_loss_, delta_, delta_);
    at::mul_out(bent_, delta_, error_scale_);
  }
  at::sum_out(loss_sum_, row_loss_, kRows);
  at::mul_out(dy_.back(), one_hot_, bent_);
}

void TensorLearner::BackwardOps() {
  for (std::size_t i = products_.size(); i-- > 0;) {
    const Product& product = products_[i];
    if (options_.careful) dy_transposed_[i].copy_(dy_[i].t());
    at::mm_out(weight_gradient_[i], dy_transposed_[i], x_[i]);
    at::sum_out(bias_gradient_[i], dy_[i], kRows);
    if (i == 0) break;
    at::mm_out(dx_[i], dy_[i], online_.weight[i]);
    if (product.is_convolution) {
      at::index_select_out(spread_cells_[i], patch_places_[i], 1, product.cell_places);
      at::mul_out(spread_[i], spread_[i], product.place_mask);
      at::sum_out(dcells_[i], spread_[i], kColumns);
    }
    at::threshold_backward_out(dy_[i - 1], dy_[i - 1], y_[i - 1], 0.0);
  }
}

void TensorLearner::AdamOps() {
  at::mul_out(scratch_, gradient_, gradient_);
  at::sum_out(squares_, scratch_, kRows, true);
  at::sqrt_out(clip_scale_, squares_);
  at::add_out(clip_scale_, clip_scale_, clip_floor_);
  at::div_out(clip_scale_, max_norm_, clip_scale_);
  at::clamp_max_out(clip_scale_, clip_scale_, 1.0);
  // Infinite norm: a scale of 0; NaN: made 0. Then every coefficient is 0 too, and nothing moves: a NaN or an
  // infinity would spread into every weight, and the host, which will see the norm, is not waited for.
  at::nan_to_num_out(clip_scale_, clip_scale_, 0.0, 0.0, 0.0);
  at::sign_out(is_finite_, clip_scale_);
  at::mul_out(coefficients_, uploaded_coefficients_, is_finite_);
  at::nan_to_num_out(gradient_, gradient_, 0.0, 0.0, 0.0);
  at::mul_out(gradient_, gradient_, clip_scale_);

  at::lerp_out(first_moment_, first_moment_, gradient_, mean_share_);
  at::mul_out(scratch_, gradient_, gradient_);
  at::lerp_out(second_moment_, second_moment_, scratch_, square_share_);
  at::sqrt_out(scratch_, second_moment_);
  at::mul_out(scratch_, scratch_, inverse_root_);
  at::add_out(scratch_, scratch_, adam_epsilon_);
  at::div_out(scratch_, first_moment_, scratch_);
  at::mul_out(scratch_, scratch_, step_size_);
  at::sub_out(online_.flat, online_.flat, scratch_);
}

void TensorLearner::SyncOps() {
  at::lerp_out(target_.flat, target_.flat, online_.flat, target_share_);
  CopyTransposed(target_);
}

}  // namespace

std::unique_ptr<Learner> MakeTensorLearner(const NetworkSpec& spec, const LearnerConfig& config,
                                           const TensorLearnerOptions& options,
                                           std::span<const float> weights) {
  return std::make_unique<TensorLearner>(spec, config, options, weights);
}

}  // namespace metronome
