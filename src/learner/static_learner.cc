#include "learner/static_learner.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "learner/float_mode.h"
#include "learner/network.h"
#include "metronome/core/check.h"
#include "metronome/core/text.h"

namespace metronome {
namespace {

using kernels::ConstRows;
using kernels::PackedShape;
using kernels::Rows;

// Rows of a block: a panel of weights is read from the first-level cache for all but the first few.
constexpr std::int64_t kBlockRows = 16;
// Inputs of a hidden tile: some thousand sums, a microsecond or two.
constexpr std::int64_t kTileInputs = 16;
constexpr std::int64_t kTileColumns = 64;
// Panels are taken together by four from so many inputs on, and else by two: more parts for a small layer.
constexpr std::int64_t kManyInputs = 256;

}  // namespace

StaticLearner::StaticLearner(const NetworkSpec& spec, const LearnerConfig& config, int threads,
                             std::span<const float> weights)
    : config_(config), batch_size_(config.batch_size), tensors_(TensorsOf(spec)), team_(threads) {
  AddConvolutions(spec);
  AddHiddenLayers(spec);
  const std::int64_t size = output_offset_ + output_.size();
  for (AlignedBuffer<float>* flat : {&online_, &target_, &gradient_, &first_moment_, &second_moment_}) {
    *flat = AlignedBuffer<float>(size);
  }
  const auto plain_size = static_cast<std::size_t>(FlatSize(tensors_));
  for (std::vector<float>* plain :
       {&plain_online_, &plain_target_, &plain_first_moment_, &plain_second_moment_}) {
    plain->resize(plain_size);
  }

  const std::int64_t observation_size = ObservationSize(spec);
  observations_ = AlignedBuffer<float>(batch_size_ * observation_size);
  next_observations_ = AlignedBuffer<float>(batch_size_ * observation_size);
  rewards_ = AlignedBuffer<float>(batch_size_);
  discounts_ = AlignedBuffer<float>(batch_size_);
  actions_ = AlignedBuffer<std::int32_t>(batch_size_);
  if (has_convolutions()) {
    nonzeros_ = kernels::NonZeros(batch_size_, observation_size);
    next_nonzeros_ = kernels::NonZeros(batch_size_, observation_size);
    act_nonzeros_ = kernels::NonZeros(1, observation_size);
  }
  batch_ = {observations_.span(), next_observations_.span(), actions_.span(), rewards_.span(),
            discounts_.span()};
  for (AlignedBuffer<float>* q : {&q_, &next_q_online_, &next_q_target_}) {
    *q = AlignedBuffer<float>(batch_size_ * output_.actions);
  }
  for (AlignedBuffer<float>* column : {&errors_, &row_losses_, &row_q_}) {
    *column = AlignedBuffer<float>(batch_size_);
  }
  MakeTiles();

  IndexParameters(spec);
  const std::vector<float> zeros(plain_size);
  Restore(weights, weights, zeros, zeros, 0, 0);
}

void StaticLearner::AddConvolutions(const NetworkSpec& spec) {
  for (const ConvShape& conv : ConvShapes(spec)) {
    const kernels::Patches patches(conv, /*channels_last=*/!layers_.empty());
    AddLayer(PackedShape(patches.inputs(), conv.filters, /*with_bias=*/true), patches, patches.positions());
  }
}

void StaticLearner::AddHiddenLayers(const NetworkSpec& spec) {
  std::vector<DenseShape> shapes = DenseShapes(spec);
  // What a convolution gives is padded at each position, and its padding is multiplied by weights that stay
  // 0.
  if (!layers_.empty()) {
    shapes.front().inputs = layers_.back().patches->positions() * layers_.back().shape.padded_outputs();
  }
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
    AddLayer(PackedShape(shapes[i].inputs, shapes[i].outputs, /*with_bias=*/true), std::nullopt, 1);
  }
  output_ = {shapes.back().inputs, shapes.back().outputs};
  output_offset_ = layers_.empty() ? 0 : layers_.back().offset + layers_.back().shape.size();
}

void StaticLearner::AddLayer(const PackedShape& shape, std::optional<kernels::Patches> patches,
                             std::int64_t positions) {
  const bool is_first = layers_.empty();
  const std::int64_t offset = is_first ? 0 : layers_.back().offset + layers_.back().shape.size();
  const PackedShape transposed(shape.outputs(), shape.inputs(), /*with_bias=*/false);
  const std::int64_t stride = kernels::StrideFor(positions * shape.padded_outputs());
  const std::int64_t floats = batch_size_ * stride;
  const std::int64_t blocks = (batch_size_ + kBlockRows - 1) / kBlockRows;
  const std::int64_t part_floats = patches ? blocks * shape.size() : 0;
  layers_.push_back(Layer{
      shape, offset, std::move(patches), transposed, AlignedBuffer<float>(is_first ? 0 : transposed.size()),
      AlignedBuffer<float>(floats), AlignedBuffer<float>(floats), AlignedBuffer<float>(floats),
      AlignedBuffer<float>(stride), AlignedBuffer<float>(part_floats), stride});
}

void StaticLearner::IndexParameters(const NetworkSpec& spec) {
  const std::vector<ConvShape> convolutions = ConvShapes(spec);
  const auto add_layer = [&](const Layer& layer, const std::vector<std::int64_t>& inputs) {
    for (std::int64_t output = 0; output < layer.shape.outputs(); ++output) {
      for (const std::int64_t input : inputs) {
        packed_index_.push_back(layer.offset + layer.shape.OffsetOf(input, output));
      }
    }
    for (std::int64_t output = 0; output < layer.shape.outputs(); ++output) {
      packed_index_.push_back(layer.offset + layer.shape.OffsetOf(layer.shape.inputs(), output));
    }
  };
  for (std::size_t i = 0; i < convolutions.size(); ++i) {
    std::vector<std::int64_t> inputs;
    for (std::int64_t channel = 0; channel < convolutions[i].channels; ++channel) {
      for (std::int64_t row = 0; row < convolutions[i].kernel; ++row) {
        for (std::int64_t column = 0; column < convolutions[i].kernel; ++column) {
          inputs.push_back(layers_[i].patches->InputIndex(channel, row, column));
        }
      }
    }
    add_layer(layers_[i], inputs);
  }
  // The inputs of the first layer that is fully connected, as torch orders them: (filters, positions).
  std::vector<std::int64_t> inputs;
  if (!convolutions.empty()) {
    const Layer& below = layers_[convolutions.size() - 1];
    for (std::int64_t filter = 0; filter < below.shape.outputs(); ++filter) {
      for (std::int64_t position = 0; position < below.patches->positions(); ++position) {
        inputs.push_back(position * below.shape.padded_outputs() + filter);
      }
    }
  }
  const auto in_order = [](std::int64_t count) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    return order;
  };
  for (std::size_t i = convolutions.size(); i < layers_.size(); ++i) {
    add_layer(layers_[i], inputs.empty() ? in_order(layers_[i].shape.inputs()) : inputs);
    inputs.clear();
  }
  if (inputs.empty()) inputs = in_order(output_.inputs);
  for (std::int64_t action = 0; action < output_.actions; ++action) {
    for (const std::int64_t input : inputs) {
      packed_index_.push_back(output_offset_ + action * output_.stride() + input);
    }
  }
  for (std::int64_t action = 0; action < output_.actions; ++action) {
    packed_index_.push_back(output_offset_ + output_.bias_offset() + action);
  }
}

void StaticLearner::MakeTiles() {
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const PackedShape& shape = layers_[layer].shape;
    for (std::int64_t panel = 0; panel < shape.num_panels(); ++panel) {
      // The bias, one row more, goes with the last tile rather than into one of its own.
      for (std::int64_t first = 0; first < shape.inputs(); first += kTileInputs) {
        const bool is_last = first + kTileInputs >= shape.inputs();
        Tile tile;
        tile.layer = static_cast<std::int64_t>(layer);
        tile.hidden = {panel, first, is_last ? shape.inputs() + 1 : first + kTileInputs};
        tiles_.push_back(tile);
      }
    }
    MakeGradients(layer, tiles_.size());
  }
  for (std::int64_t first = 0; first < output_.inputs; first += kTileColumns) {
    Tile tile;
    tile.layer = static_cast<std::int64_t>(layers_.size());
    tile.first_column = first;
    tile.last_column = std::min(first + kTileColumns, output_.inputs);
    gradients_.push_back({tiles_.size(), 1, 1});
    tiles_.push_back(tile);
  }
  tile_squares_.resize(tiles_.size());
}

void StaticLearner::MakeGradients(std::size_t layer, std::size_t end) {
  const PackedShape& shape = layers_[layer].shape;
  const auto panels = static_cast<std::size_t>(shape.num_panels());
  const auto whole = static_cast<std::size_t>(shape.padded_outputs() / PackedShape::kPanelWidth);
  const auto per_panel = static_cast<std::size_t>((shape.inputs() + kTileInputs - 1) / kTileInputs);
  const std::size_t begin = end - panels * per_panel;
  const std::size_t largest = layers_[layer].patches ? 1 : shape.inputs() < kManyInputs ? 2 : 4;
  for (std::size_t panel = 0; panel < panels;) {
    std::size_t group = largest;
    while (group > 1 && panel + group > whole) group /= 2;
    for (std::size_t i = 0; i < per_panel; ++i) {
      gradients_.push_back({begin + panel * per_panel + i, per_panel, group});
    }
    panel += group;
  }
}

void StaticLearner::QValues(std::span<const float> observation, std::span<float> q_values) {
  METRONOME_CHECK_EQ(static_cast<std::int64_t>(observation.size()) * batch_size_, observations_.size());
  METRONOME_CHECK_EQ(static_cast<std::int64_t>(q_values.size()), output_.actions);
  const ConstRows row(observation.data(), static_cast<std::int64_t>(observation.size()));
  if (has_convolutions()) act_nonzeros_.Find(0, 1, row);
  Forward(online_.data(), 0, 1, row, act_nonzeros_, &Layer::act, {q_values.data(), output_.actions});
}

void StaticLearner::Forward(const float* weights, std::int64_t first, std::int64_t rows,
                            ConstRows observations, const kernels::NonZeros& nonzeros,
                            AlignedBuffer<float> Layer::*workspace, Rows q) {
  ConstRows x = observations.from(first);
  for (Layer& layer : layers_) {
    const Rows y = layer.rows(layer.*workspace).from(first);
    if (layer.patches) {
      const bool is_first = &layer == &layers_.front();
      kernels::ConvolutionForward(layer.shape, *layer.patches, weights + layer.offset, rows, x,
                                  is_first ? &nonzeros : nullptr, first, y);
    } else {
      kernels::HiddenForward(layer.shape, weights + layer.offset, rows, x, y);
    }
    x = y;
  }
  kernels::OutputForward(output_, weights + output_offset_, rows, x, q.from(first));
}

UpdateResult StaticLearner::Update() {
  ++updates_;
  const bool sync = updates_ % config_.target_update_period == 0;
  kernels::AdamStep step;
  step.beta1 = static_cast<float>(config_.adam_beta1);
  step.one_minus_beta1 = static_cast<float>(1.0 - config_.adam_beta1);
  step.beta2 = static_cast<float>(config_.adam_beta2);
  step.one_minus_beta2 = static_cast<float>(1.0 - config_.adam_beta2);
  step.epsilon = static_cast<float>(config_.adam_epsilon);
  const auto count = static_cast<double>(updates_);
  step.step_size = static_cast<float>(config_.learning_rate / (1.0 - std::pow(config_.adam_beta1, count)));
  step.inverse_root = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(config_.adam_beta2, count)));

  const std::int64_t blocks = (batch_size_ + kBlockRows - 1) / kBlockRows;
  team_.ForEach(blocks, [&](std::int64_t block) {
    const FlushDenormals flush;
    ForwardAndBackward(block * kBlockRows, std::min((block + 1) * kBlockRows, batch_size_));
  });
  const auto tiles = static_cast<std::int64_t>(tiles_.size());
  team_.ForEach(static_cast<std::int64_t>(gradients_.size()), [&](std::int64_t part) {
    const FlushDenormals flush;
    ComputeGradient(gradients_[static_cast<std::size_t>(part)]);
  });

  double squares = 0.0;
  for (const double tile : tile_squares_) squares += tile;
  UpdateResult result;
  result.gradient_norm = static_cast<float>(std::sqrt(squares));
  // A NaN or an infinity would spread into every weight: they stay as they are, and the caller sees the norm.
  if (std::isfinite(result.gradient_norm)) {
    if (config_.max_gradient_norm > 0.0) {
      step.gradient_scale =
          std::min(1.0f, static_cast<float>(config_.max_gradient_norm) / (result.gradient_norm + 1e-6f));
    }
    team_.ForEach(tiles, [&](std::int64_t tile) {
      const FlushDenormals flush;
      TileUpdate(tiles_[static_cast<std::size_t>(tile)], step, sync);
    });
  }
  if (sync && std::isfinite(result.gradient_norm)) ++target_syncs_;

  double loss = 0.0;
  double q = 0.0;
  for (std::int64_t row = 0; row < batch_size_; ++row) {
    loss += static_cast<double>(row_losses_[row]);
    q += static_cast<double>(row_q_[row]);
  }
  result.loss = static_cast<float>(loss / static_cast<double>(batch_size_));
  result.q_mean = static_cast<float>(q / static_cast<double>(batch_size_));
  return result;
}

void StaticLearner::ForwardAndBackward(std::int64_t first, std::int64_t last) {
  const std::int64_t rows = last - first;
  const std::int64_t observation_size = observations_.size() / batch_size_;
  const ConstRows observations(observations_.data(), observation_size);
  const ConstRows next_observations(next_observations_.data(), observation_size);
  const auto q_rows = [&](AlignedBuffer<float>& q) { return Rows{q.data(), output_.actions}; };

  if (has_convolutions()) {
    nonzeros_.Find(first, rows, observations.from(first));
    next_nonzeros_.Find(first, rows, next_observations.from(first));
  }
  Forward(target_.data(), first, rows, next_observations, next_nonzeros_, &Layer::scratch,
          q_rows(next_q_target_));
  if (config_.double_dqn) {
    Forward(online_.data(), first, rows, next_observations, next_nonzeros_, &Layer::scratch,
            q_rows(next_q_online_));
  }
  Forward(online_.data(), first, rows, observations, nonzeros_, &Layer::activations, q_rows(q_));
  TdErrors(first, last);

  if (layers_.empty()) return;
  Layer& top = layers_.back();
  kernels::OutputBackward(output_, online_.data() + output_offset_, rows, actions_.data() + first,
                          errors_.data() + first, top.rows(top.activations).from(first),
                          top.rows(top.gradients).from(first));
  Backward(first, last);
}

void StaticLearner::Backward(std::int64_t first, std::int64_t last) {
  const std::int64_t rows = last - first;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    Layer& layer = layers_[i];
    const ConstRows dy = layer.rows(layer.gradients).from(first);
    if (layer.patches) {
      float* part = layer.part_gradients.data() + first / kBlockRows * layer.shape.size();
      kernels::ConvolutionGradient(layer.shape, *layer.patches, rows, InputsOf(i).from(first),
                                   i == 0 ? &nonzeros_ : nullptr, first, dy, part);
    }
    if (i == 0) return;
    Layer& below = layers_[i - 1];
    const ConstRows active = below.rows(below.activations).from(first);
    const Rows dx = below.rows(below.gradients).from(first);
    if (layer.patches) {
      kernels::ConvolutionBackward(layer.transposed_shape, *layer.patches, layer.transposed.data(), rows, dy,
                                   active, dx);
    } else {
      kernels::HiddenBackward(layer.transposed_shape, layer.transposed.data(), rows, dy, active, dx);
    }
  }
}

ConstRows StaticLearner::InputsOf(std::size_t layer) {
  if (layer == 0) return {observations_.data(), observations_.size() / batch_size_};
  Layer& below = layers_[layer - 1];
  return below.rows(below.activations);
}

void StaticLearner::TdErrors(std::int64_t first, std::int64_t last) {
  const std::int64_t actions = output_.actions;
  const float scale = 1.0f / static_cast<float>(batch_size_);
  const AlignedBuffer<float>& chooser = config_.double_dqn ? next_q_online_ : next_q_target_;
  for (std::int64_t row = first; row < last; ++row) {
    // The first of several equal values, as argmax is defined in torch.
    const float* choose = chooser.data() + row * actions;
    const std::int64_t best = std::max_element(choose, choose + actions) - choose;
    const float next_value = next_q_target_[row * actions + best];
    const float target = rewards_[row] + discounts_[row] * next_value;
    const float q = q_[row * actions + actions_[row]];
    const float error = q - target;
    if (config_.loss == Loss::kHuber) {
      const float size = std::abs(error);
      row_losses_[row] = size <= 1.0f ? 0.5f * error * error : size - 0.5f;
      // Written so that a NaN stays one.
      errors_[row] = (error > 1.0f ? 1.0f : error < -1.0f ? -1.0f : error) * scale;
    } else {
      row_losses_[row] = error * error;
      errors_[row] = 2.0f * error * scale;
    }
    row_q_[row] = q;
  }
}

void StaticLearner::ComputeGradient(const Gradient& part) {
  const Tile& tile = tiles_[part.first];
  double& squares = tile_squares_[part.first];
  const auto index = static_cast<std::size_t>(tile.layer);
  if (index == layers_.size()) {
    squares =
        kernels::OutputGradient(output_, tile.first_column, tile.last_column, batch_size_, actions_.data(),
                                errors_.data(), InputsOf(index), gradient_.data() + output_offset_);
    return;
  }
  Layer& layer = layers_[index];
  float* gradient = gradient_.data() + layer.offset;
  if (layer.patches) {
    squares =
        kernels::SumGradients(layer.shape, tile.hidden, layer.part_gradients.size() / layer.shape.size(),
                              layer.part_gradients.data(), gradient);
    return;
  }
  kernels::HiddenGradients(layer.shape, tile.hidden, static_cast<std::int64_t>(part.tiles), batch_size_,
                           InputsOf(index), layer.rows(layer.gradients), gradient, &squares,
                           static_cast<std::int64_t>(part.step));
}

void StaticLearner::TileUpdate(const Tile& tile, const kernels::AdamStep& step, bool sync) {
  if (tile.layer == static_cast<std::int64_t>(layers_.size())) {
    for (std::int64_t action = 0; action < output_.actions; ++action) {
      const std::int64_t row = output_offset_ + action * output_.stride();
      UpdateRange(row + tile.first_column, row + tile.last_column, step, sync);
    }
    if (tile.first_column == 0) {
      const std::int64_t bias = output_offset_ + output_.bias_offset();
      UpdateRange(bias, bias + output_.actions, step, sync);
    }
    return;
  }
  Layer& layer = layers_[static_cast<std::size_t>(tile.layer)];
  const std::int64_t width = layer.shape.panel_width(tile.hidden.panel);
  const std::int64_t panel = layer.offset + layer.shape.panel_offset(tile.hidden.panel);
  UpdateRange(panel + tile.hidden.first_input * width, panel + tile.hidden.last_input * width, step, sync);
  if (tile.layer > 0) {
    kernels::Transpose(layer.shape, tile.hidden, online_.data() + layer.offset, layer.transposed_shape,
                       layer.transposed.data());
  }
}

void StaticLearner::UpdateRange(std::int64_t first, std::int64_t last, const kernels::AdamStep& step,
                                bool sync) {
  kernels::Adam(step, first, last, gradient_.data(), online_.data(), first_moment_.data(),
                second_moment_.data());
  if (sync) {
    kernels::TargetSync(static_cast<float>(config_.target_update_rate), first, last, online_.data(),
                        target_.data());
  }
}

void StaticLearner::Restore(std::span<const float> online, std::span<const float> target,
                            std::span<const float> first_moment, std::span<const float> second_moment,
                            std::int64_t updates, std::int64_t target_syncs) {
  Pack(online, online_);
  Pack(target, target_);
  Pack(first_moment, first_moment_);
  Pack(second_moment, second_moment_);
  updates_ = updates;
  target_syncs_ = target_syncs;
  RefreshTransposed();
}

void StaticLearner::RefreshTransposed() {
  for (const Tile& tile : tiles_) {
    if (tile.layer == 0 || tile.layer == static_cast<std::int64_t>(layers_.size())) continue;
    Layer& layer = layers_[static_cast<std::size_t>(tile.layer)];
    kernels::Transpose(layer.shape, tile.hidden, online_.data() + layer.offset, layer.transposed_shape,
                       layer.transposed.data());
  }
}

std::string StaticLearner::description() const {
  return "static engine, cpu, " + FormatCount(team_.size(), "thread");
}

std::span<const float> StaticLearner::Unpack(std::span<const float> packed, std::vector<float>& plain) const {
  for (std::size_t i = 0; i < plain.size(); ++i)
    plain[i] = packed[static_cast<std::size_t>(packed_index_[i])];
  return plain;
}

void StaticLearner::Pack(std::span<const float> plain, AlignedBuffer<float>& packed) const {
  METRONOME_CHECK_EQ(plain.size(), packed_index_.size());
  for (std::size_t i = 0; i < plain.size(); ++i) packed[packed_index_[i]] = plain[i];
}

}  // namespace metronome
