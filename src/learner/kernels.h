#ifndef METRONOME_LEARNER_KERNELS_H_
#define METRONOME_LEARNER_KERNELS_H_

#include <cstdint>
#include <vector>

#include "learner/simd.h"

/// The arithmetic of the static plan on one CPU thread. Every element of every result is one sum in one fixed
/// order, whatever the number of rows in the call, so the work can be split over any number of threads
/// without a bit of difference. Nothing here allocates.
namespace metronome::kernels {

/// How a hidden layer's weights lie in memory: W^T and below it the bias as one more row, (inputs + 1,
/// outputs), cut into panels of at most kTileVectors vectors of outputs. A panel's rows follow each other
/// without a gap, so a tile of the product reads one stream. Outputs are padded with zeros to whole vectors,
/// and stay zero.
class PackedShape {
 public:
  static constexpr std::int64_t kPanelWidth = simd::kLanes * simd::kTileVectors;

  PackedShape(std::int64_t inputs, std::int64_t outputs, bool with_bias);

  std::int64_t inputs() const { return inputs_; }
  std::int64_t outputs() const { return outputs_; }
  std::int64_t padded_outputs() const { return padded_outputs_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t size() const { return rows_ * padded_outputs_; }
  std::int64_t num_panels() const { return (padded_outputs_ + kPanelWidth - 1) / kPanelWidth; }
  /// Columns of a panel: kPanelWidth, or fewer whole vectors in the last.
  std::int64_t panel_width(std::int64_t panel) const;
  std::int64_t panel_offset(std::int64_t panel) const { return panel * kPanelWidth * rows_; }
  /// Where the weight from `input` to `output` lies; input == inputs() is the bias.
  std::int64_t OffsetOf(std::int64_t input, std::int64_t output) const;

 private:
  std::int64_t inputs_;
  std::int64_t outputs_;
  std::int64_t padded_outputs_;
  std::int64_t rows_;
};

/// A matrix of rows that lie `stride` floats apart.
struct Rows {
  float* data = nullptr;
  std::int64_t stride = 0;
  float* row(std::int64_t index) const { return data + index * stride; }
  Rows from(std::int64_t index) const { return {row(index), stride}; }
};
struct ConstRows {
  const float* data = nullptr;
  std::int64_t stride = 0;
  ConstRows(const float* d, std::int64_t s) : data(d), stride(s) {}
  ConstRows(const Rows& rows) : data(rows.data), stride(rows.stride) {}  // NOLINT: meant to convert
  const float* row(std::int64_t index) const { return data + index * stride; }
  ConstRows from(std::int64_t index) const { return {row(index), stride}; }
};

/// A stride for rows of `width` floats: whole vectors, and no multiple of 256 bytes, since rows that far
/// apart would share a few sets of the first-level cache.
std::int64_t StrideFor(std::int64_t width);

/// y = max(0, x W^T + b).  x: (rows, inputs), y: (rows, padded_outputs).
void HiddenForward(const PackedShape& shape, const float* weights, std::int64_t rows, ConstRows x, Rows y);

/// dx = (dy W) where activation > 0, else 0.  `transposed` is the packed W of shape (outputs -> inputs, no
/// bias); dy: (rows, outputs), activation and dx: (rows, inputs padded).
void HiddenBackward(const PackedShape& transposed, const float* weights, std::int64_t rows, ConstRows dy,
                    ConstRows activation, Rows dx);

/// A part of the gradient of a hidden layer: the rows [first_input, last_input) of one panel, or with
/// last_input == inputs + 1 the bias row as well.
struct HiddenTile {
  std::int64_t panel = 0;
  std::int64_t first_input = 0;
  std::int64_t last_input = 0;
};

/// gradient = x^T dy, and the column sums of dy for the bias, over all `rows`, for the inputs of `tile` and
/// `panels` panels, 1 to 4, from its own on. Panel i's sum of squares goes to squares[i * step].
void HiddenGradients(const PackedShape& shape, const HiddenTile& tile, std::int64_t panels, std::int64_t rows,
                     ConstRows x, ConstRows dy, float* gradient, double* squares, std::int64_t step);

/// The output layer's weights lie as in torch, (actions, inputs), each row padded to `stride` floats, and
/// then the biases. q = x W^T + b.  x: (rows, inputs), q: (rows, actions).
struct OutputShape {
  std::int64_t inputs = 0;
  std::int64_t actions = 0;
  std::int64_t stride() const { return simd::RoundUp(inputs, simd::kLanes); }
  std::int64_t bias_offset() const { return actions * stride(); }
  std::int64_t size() const { return simd::RoundUp(bias_offset() + actions, simd::kLanes); }
};
void OutputForward(const OutputShape& shape, const float* weights, std::int64_t rows, ConstRows x, Rows q);

/// The backward pass of the output layer when each row has one action's error: dq is `error` at `action`,
/// else 0.
///   dx = error * W[action] where x > 0, else 0.   dx: (rows, inputs padded).
void OutputBackward(const OutputShape& shape, const float* weights, std::int64_t rows,
                    const std::int32_t* actions, const float* errors, ConstRows x, Rows dx);

/// The gradient of the columns [first, last) of the output weights, and of the biases when `first` is 0:
///   dW[a] = sum of errors * x over the rows whose action is a.  Returns the sum of its squares.
double OutputGradient(const OutputShape& shape, std::int64_t first, std::int64_t last, std::int64_t rows,
                      const std::int32_t* actions, const float* errors, ConstRows x, float* gradient);

/// What one Adam update multiplies by.
struct AdamStep {
  float gradient_scale = 1.0f;  ///< From clipping.
  // 1 - beta is rounded from the double: 1.0f - 0.999f is already 1e-5 off.
  float beta1 = 0.9f;
  float one_minus_beta1 = 0.1f;
  float beta2 = 0.999f;
  float one_minus_beta2 = 0.001f;
  float step_size = 0.0f;     ///< learning rate / (1 - beta1^t)
  float inverse_root = 1.0f;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon = 1e-8f;
};

/// Adam over [first, last) of the flat vectors:
///   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,  w -= step_size m / (sqrt(v) inverse_root +
///   epsilon)
void Adam(const AdamStep& step, std::int64_t first, std::int64_t last, const float* gradient, float* weights,
          float* first_moment, float* second_moment);

/// target += rate * (online - target) over [first, last); a plain copy when rate is 1.
void TargetSync(float rate, std::int64_t first, std::int64_t last, const float* online, float* target);

/// Copies the rows [first_input, last_input) of one panel of `shape` into the packed transpose.
void Transpose(const PackedShape& shape, const HiddenTile& tile, const float* weights,
               const PackedShape& transposed, float* transposed_weights);

}  // namespace metronome::kernels

#endif  // METRONOME_LEARNER_KERNELS_H_
