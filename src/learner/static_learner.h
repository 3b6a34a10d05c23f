#ifndef METRONOME_LEARNER_STATIC_LEARNER_H_
#define METRONOME_LEARNER_STATIC_LEARNER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "learner/convolution_kernels.h"
#include "learner/kernels.h"
#include "learner/worker_team.h"
#include "metronome/core/aligned_buffer.h"
#include "metronome/learner/learner.h"

namespace metronome {

/// The static plan on the CPU: convolutions and fully connected layers with their whole update written out by
/// hand over memory that is taken once. QValues(), Update() and the worker threads allocate nothing.
///
/// An update has three phases, with a barrier of the team after each:
///   1. blocks of rows of the batch are shared out: forward passes, TD errors, backward pass down to every
///      layer's dy, and of a convolution, whose weights are few and whose patches many, the block's part of
///      the gradient;
///   2. tiles of the parameters are shared out: each tile's gradient over all rows, and its sum of squares;
///   3. the same tiles: clipping by the norm over all tiles, Adam, target sync, and the transposed weights
///   that
///      the next backward pass reads.
/// Rows don't depend on each other and tiles are summed in a fixed order, so the result is the same to the
/// last bit for every number of threads.
class StaticLearner : public Learner {
 public:
  /// `weights` is one flat vector in the layout of tensors().
  StaticLearner(const NetworkSpec& spec, const LearnerConfig& config, int threads,
                std::span<const float> weights);

  void QValues(std::span<const float> observation, std::span<float> q_values) override;
  const BatchView& batch() override { return batch_; }
  UpdateResult Update() override;

  std::span<const NamedTensor> tensors() const override { return tensors_; }
  std::span<const float> online() override { return Unpack(online_.span(), plain_online_); }
  std::span<const float> target() override { return Unpack(target_.span(), plain_target_); }
  std::span<const float> first_moment() override { return Unpack(first_moment_.span(), plain_first_moment_); }
  std::span<const float> second_moment() override {
    return Unpack(second_moment_.span(), plain_second_moment_);
  }
  void Restore(std::span<const float> online, std::span<const float> target,
               std::span<const float> first_moment, std::span<const float> second_moment,
               std::int64_t updates, std::int64_t target_syncs) override;
  std::string description() const override;
  int threads() const override { return team_.size(); }

 private:
  /// A layer below the output, fully connected or a convolution: where its parameters begin in the flat
  /// vectors, and its workspaces over the batch. Its outputs, W below, are padded with zeros to whole
  /// vectors, at each position where it is a convolution.
  struct Layer {
    kernels::PackedShape shape;
    std::int64_t offset;
    std::optional<kernels::Patches> patches;  // of a convolution
    kernels::PackedShape transposed_shape;
    AlignedBuffer<float> transposed;      // W as the backward pass reads it; not for the first layer
    AlignedBuffer<float> activations;     // (B, W): of s, kept for the backward pass
    AlignedBuffer<float> scratch;         // (B, W): of s', online and then target
    AlignedBuffer<float> gradients;       // (B, W): dloss / d(before ReLU)
    AlignedBuffer<float> act;             // (W): of one observation
    AlignedBuffer<float> part_gradients;  // of a convolution: (blocks, shape.size())
    std::int64_t stride;                  // of the rows of all these but the last

    kernels::Rows rows(AlignedBuffer<float>& buffer) const { return {buffer.data(), stride}; }
  };

  /// A share of the parameters: one tile of a layer, or a range of columns of the output layer.
  struct Tile {
    std::int64_t layer = 0;  // == layers_.size() for the output layer
    kernels::HiddenTile hidden;
    std::int64_t first_column = 0;
    std::int64_t last_column = 0;
  };

  void AddConvolutions(const NetworkSpec& spec);
  void AddHiddenLayers(const NetworkSpec& spec);
  void AddLayer(const kernels::PackedShape& shape, std::optional<kernels::Patches> patches,
                std::int64_t positions);
  bool has_convolutions() const { return !layers_.empty() && layers_.front().patches; }
  /// What one part of phase 2 computes: the gradients of the tiles first, first + step, ... which are the
  /// same inputs of neighbouring panels, or of one tile.
  struct Gradient {
    std::size_t first = 0;
    std::size_t step = 1;
    std::size_t tiles = 1;
  };

  void IndexParameters(const NetworkSpec& spec);
  void MakeTiles();
  void RefreshTransposed();

  /// Phase 1 for the rows [first, last).
  void ForwardAndBackward(std::int64_t first, std::int64_t last);
  /// Q-values of `rows` observations, with the hidden activations left in `workspace` of each layer.
  void Forward(const float* weights, std::int64_t first, std::int64_t rows, kernels::ConstRows observations,
               const kernels::NonZeros& nonzeros, AlignedBuffer<float> Layer::*workspace, kernels::Rows q);
  /// What goes into a layer, of s: the observations, or the activations of the layer below.
  kernels::ConstRows InputsOf(std::size_t layer);
  void TdErrors(std::int64_t first, std::int64_t last);
  /// dloss / d(before ReLU) of every layer but the top one, which has it, and a block's part of the gradients
  /// of the convolutions.
  void Backward(std::int64_t first, std::int64_t last);
  /// Phase 2 and 3 for one tile.
  /// The parts of phase 2 of a layer whose tiles are the last ones before `end`.
  void MakeGradients(std::size_t layer, std::size_t end);
  void ComputeGradient(const Gradient& part);
  void TileUpdate(const Tile& tile, const kernels::AdamStep& step, bool sync);
  void UpdateRange(std::int64_t first, std::int64_t last, const kernels::AdamStep& step, bool sync);

  std::span<const float> Unpack(std::span<const float> packed, std::vector<float>& plain) const;
  void Pack(std::span<const float> plain, AlignedBuffer<float>& packed) const;

  const LearnerConfig config_;
  const std::int64_t batch_size_;
  std::vector<NamedTensor> tensors_;

  std::vector<Layer> layers_;
  kernels::OutputShape output_;
  std::int64_t output_offset_ = 0;

  // Flat vectors in the packed layout: each layer's panels, then the output layer.
  AlignedBuffer<float> online_;
  AlignedBuffer<float> target_;
  AlignedBuffer<float> gradient_;
  AlignedBuffer<float> first_moment_;
  AlignedBuffer<float> second_moment_;
  std::vector<std::int64_t> packed_index_;  // of each parameter, in the order of tensors()
  std::vector<float> plain_online_, plain_target_, plain_first_moment_, plain_second_moment_;

  AlignedBuffer<float> observations_, next_observations_;  // (B, N)
  AlignedBuffer<float> rewards_, discounts_;               // (B)
  AlignedBuffer<std::int32_t> actions_;                    // (B)
  BatchView batch_;
  // Of s, s' and the observation to act on, where the first layer is a convolution; else empty.
  kernels::NonZeros nonzeros_, next_nonzeros_, act_nonzeros_;

  AlignedBuffer<float> q_, next_q_online_, next_q_target_;  // (B, A)
  AlignedBuffer<float> errors_;                             // (B): dloss / dQ(s, a)
  AlignedBuffer<float> row_losses_;                         // (B)
  AlignedBuffer<float> row_q_;                              // (B): Q(s, a)

  std::vector<Tile> tiles_;
  std::vector<Gradient> gradients_;
  std::vector<double> tile_squares_;  // by tile, so that their sum has one order
  WorkerTeam team_;
};

}  // namespace metronome

#endif  // METRONOME_LEARNER_STATIC_LEARNER_H_
