#ifndef METRONOME_LEARNER_CONVOLUTION_KERNELS_H_
#define METRONOME_LEARNER_CONVOLUTION_KERNELS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "learner/kernels.h"
#include "learner/network.h"
#include "metronome/core/aligned_buffer.h"

/// Convolutions of the static plan on one CPU thread: each output is the product of its patch of the input
/// with the packed weights, read where the patch lies and never copied together. As in kernels.h every
/// element is one sum in one fixed order, and nothing allocates. Where the zeros of a row are passed over,
/// the other products are added in the same order, and so the result is the same to the last bit.
namespace metronome::kernels {

/// Where the patches of a convolution lie in one row, which is one observation or its activations.
///
/// A patch is `runs()` runs of `run_length()` consecutive floats each. The order of its inputs is that of the
/// layer's PackedShape:
///   - in an observation, (channels, height, width): a run is one row of the kernel in one channel, and the
///     order is torch's, (channel, kernel row, kernel column);
///   - in the activations of another convolution, (height, width, channels padded to whole vectors): a run is
///     one row of the kernel over all channels, and the order is (kernel row, kernel column, channel).
/// Outputs are (positions, filters padded to whole vectors).
class Patches {
 public:
  /// `channels_last`: the input is the output of another convolution.
  Patches(const ConvShape& shape, bool channels_last);

  /// Inputs of one output, padding included.
  std::int64_t inputs() const { return static_cast<std::int64_t>(input_offsets_.size()); }
  std::int64_t run_length() const { return run_length_; }
  std::int64_t runs() const { return static_cast<std::int64_t>(run_offsets_.size()); }
  std::int64_t run_offset(std::int64_t run) const { return run_offsets_[static_cast<std::size_t>(run)]; }
  /// Where each input of a patch lies, from the patch's first.
  const std::int64_t* input_offsets() const { return input_offsets_.data(); }
  std::int64_t out_height() const { return out_height_; }
  std::int64_t out_width() const { return out_width_; }
  std::int64_t positions() const { return out_height_ * out_width_; }
  /// Floats from a patch to the one below it, and to the one at its right.
  std::int64_t row_step() const { return row_step_; }
  std::int64_t column_step() const { return column_step_; }
  /// Floats of a row of the input.
  std::int64_t input_size() const { return input_size_; }
  /// The outputs that one float of an observation goes into: `rows` times `columns` neighbours, from `output`
  /// on, where it is input number `input`. The next output to the right or below has it at a lower input.
  struct Reach {
    std::int32_t output = 0;
    std::int32_t input = 0;
    std::int16_t rows = 0;
    std::int16_t columns = 0;
  };
  /// By float of the observation; empty when channels are last.
  const Reach* reaches() const { return reaches_.data(); }
  std::int64_t kernel() const { return shape_.kernel; }
  std::int64_t stride() const { return shape_.stride; }
  /// Where input (channel, kernel row, kernel column) stands in the order of inputs.
  std::int64_t InputIndex(std::int64_t channel, std::int64_t row, std::int64_t column) const;

 private:
  ConvShape shape_;
  bool channels_last_;
  std::int64_t padded_channels_;
  std::int64_t out_height_;
  std::int64_t out_width_;
  std::int64_t run_length_;
  std::int64_t row_step_;
  std::int64_t column_step_;
  std::int64_t input_size_;
  std::vector<std::int64_t> run_offsets_;
  std::vector<std::int64_t> input_offsets_;
  std::vector<Reach> reaches_;
};

/// Which floats of each observation are not zero. The boards of games are mostly empty, and a convolution of
/// such a row costs a fraction of a full one.
class NonZeros {
 public:
  NonZeros() = default;
  NonZeros(std::int64_t rows, std::int64_t observation_size)
      : size_(observation_size), indices_(rows * observation_size), counts_(rows) {}

  /// Lists those of `rows` rows of x, as the rows from `first` on.
  void Find(std::int64_t first, std::int64_t rows, ConstRows x);
  std::span<const std::int32_t> row(std::int64_t row) const {
    return {indices_.data() + row * size_, static_cast<std::size_t>(counts_[row])};
  }
  /// Whether going through the list is less work than going through the whole row.
  bool is_sparse(std::int64_t row) const { return 3 * counts_[row] <= size_; }

 private:
  std::int64_t size_ = 0;
  AlignedBuffer<std::int32_t> indices_;
  AlignedBuffer<std::int32_t> counts_;
};

/// y = max(0, patches of x times W^T + b).  `shape`: patches.inputs() to filters, with bias; x: (rows,
/// patches.input_size()), y: (rows, positions * padded filters). Of observations, `nonzeros` holds the same
/// rows from `first` on; null when channels are last.
void ConvolutionForward(const PackedShape& shape, const Patches& patches, const float* weights,
                        std::int64_t rows, ConstRows x, const NonZeros* nonzeros, std::int64_t first, Rows y);

/// dx = the sum over all patches of dy W, where activation > 0, else 0.  For a layer whose input is channels
/// last. `transposed` is the packed W of shape (filters -> patches.inputs(), no bias); dy: (rows, positions *
/// padded filters), activation and dx: (rows, patches.input_size()).
void ConvolutionBackward(const PackedShape& transposed, const Patches& patches, const float* weights,
                         std::int64_t rows, ConstRows dy, ConstRows activation, Rows dx);

/// gradient = the sum over these rows and all positions of patch^T dy, and of dy for the bias, in the layout
/// of `shape`. `nonzeros` and `first` as above.
void ConvolutionGradient(const PackedShape& shape, const Patches& patches, std::int64_t rows, ConstRows x,
                         const NonZeros* nonzeros, std::int64_t first, ConstRows dy, float* gradient);

/// gradient = the sum of `parts` gradients that lie shape.size() apart, in their order, for one tile. Returns
/// the sum of its squares.
double SumGradients(const PackedShape& shape, const HiddenTile& tile, std::int64_t parts,
                    const float* part_gradients, float* gradient);

}  // namespace metronome::kernels

#endif  // METRONOME_LEARNER_CONVOLUTION_KERNELS_H_
