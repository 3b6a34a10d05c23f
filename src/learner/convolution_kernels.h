#ifndef METRONOME_LEARNER_CONVOLUTION_KERNELS_H_
#define METRONOME_LEARNER_CONVOLUTION_KERNELS_H_

#include <cstdint>
#include <vector>

#include "learner/kernels.h"
#include "learner/network.h"

/// Convolutions of the static plan on one CPU thread: each output is the product of its patch of the input
/// with the packed weights, read where the patch lies and never copied together. As in kernels.h every
/// element is one sum in one fixed order, and nothing allocates.
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
};

/// y = max(0, patches of x times W^T + b).  `shape`: patches.inputs() to filters, with bias; x: (rows,
/// patches.input_size()), y: (rows, positions * padded filters).
void ConvolutionForward(const PackedShape& shape, const Patches& patches, const float* weights,
                        std::int64_t rows, ConstRows x, Rows y);

/// dx = the sum over all patches of dy W, where activation > 0, else 0.  For a layer whose input is channels
/// last. `transposed` is the packed W of shape (filters -> patches.inputs(), no bias); dy: (rows, positions *
/// padded filters), activation and dx: (rows, patches.input_size()).
void ConvolutionBackward(const PackedShape& transposed, const Patches& patches, const float* weights,
                         std::int64_t rows, ConstRows dy, ConstRows activation, Rows dx);

/// gradient = the sum over these rows and all positions of patch^T dy, and of dy for the bias, in the layout
/// of `shape`.
void ConvolutionGradient(const PackedShape& shape, const Patches& patches, std::int64_t rows, ConstRows x,
                         ConstRows dy, float* gradient);

/// gradient = the sum of `parts` gradients that lie shape.size() apart, in their order, for one tile. Returns
/// the sum of its squares.
double SumGradients(const PackedShape& shape, const HiddenTile& tile, std::int64_t parts,
                    const float* part_gradients, float* gradient);

}  // namespace metronome::kernels

#endif  // METRONOME_LEARNER_CONVOLUTION_KERNELS_H_
