#include "learner/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "learner/tile.h"
#include "metronome/core/check.h"

namespace metronome::kernels {
namespace {

using simd::Broadcast;
using simd::kLanes;
using simd::Load;
using simd::Store;
using simd::Vector;

// Share of elements that are not zero below which a product goes through those alone. Each costs a little
// more there, since a tile in registers multiplies eight rows by one load of the weights.
constexpr double kSparseShare = 0.6;
// The same for a gradient, where finding each input's rows costs as well.
constexpr double kSparseGradientShare = 0.35;
constexpr int kSparseDepth = 64;

/// Whether few enough of x are not zero. What a ReLU gives mostly is, after some training.
bool IsSparse(std::int64_t rows, std::int64_t depth, ConstRows x) {
  if (depth % kSparseDepth != 0) return false;
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < depth; k += kSparseDepth) {
      count += std::popcount(simd::NonZeroMask<kSparseDepth>(x.row(row) + k));
    }
  }
  return static_cast<double>(count) < kSparseShare * static_cast<double>(rows * depth);
}

/// y += x times G panels of weights, over the elements of x that are not zero. To add a product with zero
/// changes nothing, so this is the dense product to the last bit: each sum goes through k in its order.
/// Blocks of kSparseDepth inputs, whose weights stay in the first-level cache from row to row.
template <int G>
void MultiplySparse(const PackedShape& shape, const float* weights, std::int64_t rows, ConstRows x, Rows y) {
  constexpr int kVectors = G * simd::kTileVectors;
  const std::int64_t panel_step = PackedShape::kPanelWidth * shape.rows();
  for (std::int64_t block = 0; block < shape.inputs(); block += kSparseDepth) {
    for (std::int64_t row = 0; row < rows; ++row) {
      Vector acc[kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) acc[v] = Load(y.row(row) + v * kLanes);
      const float* inputs = x.row(row) + block;
      for (std::uint64_t mask = simd::NonZeroMask<kSparseDepth>(inputs); mask != 0; mask &= mask - 1) {
        const int k = std::countr_zero(mask);
        const Vector value = Broadcast(inputs[k]);
        const float* w = weights + (block + k) * PackedShape::kPanelWidth;
#pragma GCC unroll 8
        for (int g = 0; g < G; ++g) {
#pragma GCC unroll 4
          for (int v = 0; v < simd::kTileVectors; ++v) {
            acc[g * simd::kTileVectors + v] += value * Load(w + g * panel_step + v * kLanes);
          }
        }
      }
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) Store(y.row(row) + v * kLanes, acc[v]);
    }
  }
}

/// The same for all whole panels; returns how many they are. `begin(row, y, panel)` fills a panel's sums
/// before the product, `end` finishes them after.
template <typename Begin, typename End>
std::int64_t MultiplySparsePanels(const PackedShape& shape, const float* weights, std::int64_t rows,
                                  ConstRows x, Rows y, const Begin& begin, const End& end) {
  const std::int64_t panels = shape.padded_outputs() / PackedShape::kPanelWidth;
  for (std::int64_t panel = 0; panel < panels;) {
    const std::int64_t group = panels - panel >= 4 ? 4 : panels - panel >= 2 ? 2 : 1;
    const Rows sums{y.data + panel * PackedShape::kPanelWidth, y.stride};
    const float* group_weights = weights + shape.panel_offset(panel);
    const auto each_vector = [&](const auto& body) {
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t i = 0; i < group * PackedShape::kPanelWidth; i += kLanes) {
          body(row, panel * PackedShape::kPanelWidth + i, sums.row(row) + i);
        }
      }
    };
    each_vector(begin);
    if (group == 4) {
      MultiplySparse<4>(shape, group_weights, rows, x, sums);
    } else if (group == 2) {
      MultiplySparse<2>(shape, group_weights, rows, x, sums);
    } else {
      MultiplySparse<1>(shape, group_weights, rows, x, sums);
    }
    each_vector(end);
    panel += group;
  }
  return panels;
}

/// Inputs of a tile, the bias not among them.
std::int64_t WeightInputs(const PackedShape& shape, const HiddenTile& tile) {
  return std::min(tile.last_input, shape.inputs()) - tile.first_input;
}

/// gradient = x^T dy of one panel over all rows, a few inputs at a time in registers.
void DenseGradient(const PackedShape& shape, const HiddenTile& tile, std::int64_t panel, std::int64_t rows,
                   ConstRows x, ConstRows dy, float* gradient) {
  const std::int64_t width = shape.panel_width(panel);
  const float* dy_panel = dy.data + panel * PackedShape::kPanelWidth;
  float* sums = gradient + shape.panel_offset(panel);
  WithPanelVectors(width, [&]<int V>() {
    ForRowBlocks<V>(WeightInputs(shape, tile), [&]<int M, int N>(std::int64_t block) {
      const std::int64_t input = tile.first_input + block;
      Vector acc[M][N] = {};
      MultiplyTile<M, N>(rows, x.data + input, 1, x.stride, dy_panel, dy.stride, acc);
      for (int m = 0; m < M; ++m) {
        for (int v = 0; v < N; ++v) Store(sums + (input + m) * width + v * kLanes, acc[m][v]);
      }
    });
  });
}

/// The column sums of dy.
void BiasGradient(const PackedShape& shape, std::int64_t panel, std::int64_t rows, ConstRows dy,
                  float* gradient) {
  const std::int64_t width = shape.panel_width(panel);
  const float* dy_panel = dy.data + panel * PackedShape::kPanelWidth;
  float* sums = gradient + shape.panel_offset(panel) + shape.inputs() * width;
  for (std::int64_t i = 0; i < width; i += kLanes) {
    Vector sum = {};
    for (std::int64_t row = 0; row < rows; ++row) sum += Load(dy_panel + row * dy.stride + i);
    Store(sums + i, sum);
  }
}

double SquaresOf(const PackedShape& shape, const HiddenTile& tile, std::int64_t panel,
                 const float* gradient) {
  const std::int64_t width = shape.panel_width(panel);
  const float* sums = gradient + shape.panel_offset(panel);
  Vector squares = {};
  for (std::int64_t i = tile.first_input * width; i < tile.last_input * width; i += kLanes) {
    squares += Load(sums + i) * Load(sums + i);
  }
  return static_cast<double>(simd::SumLanes(squares));
}

// A tile whose inputs are this many can have its gradient from what is not zero, this many rows at a time:
// their dy stays in the first-level cache from input to input.
constexpr int kSparseInputs = 16;
constexpr int kSparseRows = 32;

bool IsSparseTile(const PackedShape& shape, const HiddenTile& tile, std::int64_t panels, std::int64_t rows,
                  ConstRows x) {
  if (WeightInputs(shape, tile) != kSparseInputs) return false;
  if (shape.panel_width(tile.panel + panels - 1) != PackedShape::kPanelWidth) return false;
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    count += std::popcount(simd::NonZeroMask<kSparseInputs>(x.row(row) + tile.first_input));
  }
  return static_cast<double>(count) < kSparseGradientShare * static_cast<double>(rows * kSparseInputs);
}

/// gradient = x^T dy of G panels, over the elements of x that are not zero; each sum goes through the rows in
/// their order, as DenseGradient() does.
template <int G>
void SparseGradients(const PackedShape& shape, const HiddenTile& tile, std::int64_t rows, ConstRows x,
                     ConstRows dy, float* gradient) {
  constexpr int kVectors = G * simd::kTileVectors;
  const std::int64_t panel_step = PackedShape::kPanelWidth * shape.rows();
  const float* dy_panels = dy.data + tile.panel * PackedShape::kPanelWidth;
  for (std::int64_t first = 0; first < rows; first += kSparseRows) {
    // Bit r of masks[i]: whether input i of row r is not zero.
    std::uint32_t masks[kSparseInputs] = {};
    for (std::int64_t r = 0; r < std::min<std::int64_t>(kSparseRows, rows - first); ++r) {
      std::uint64_t mask = simd::NonZeroMask<kSparseInputs>(x.row(first + r) + tile.first_input);
      for (; mask != 0; mask &= mask - 1) masks[std::countr_zero(mask)] |= 1u << r;
    }
    for (int i = 0; i < kSparseInputs; ++i) {
      const std::int64_t input = tile.first_input + i;
      float* sums = gradient + shape.panel_offset(tile.panel) + input * PackedShape::kPanelWidth;
      Vector acc[kVectors] = {};
      if (first > 0) {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
          acc[v] = Load(sums + v / simd::kTileVectors * panel_step + v % simd::kTileVectors * kLanes);
        }
      }
      for (std::uint32_t mask = masks[i]; mask != 0; mask &= mask - 1) {
        const std::int64_t row = first + std::countr_zero(mask);
        const Vector value = Broadcast(x.row(row)[input]);
        const float* d = dy_panels + row * dy.stride;
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) acc[v] += value * Load(d + v * kLanes);
      }
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        Store(sums + v / simd::kTileVectors * panel_step + v % simd::kTileVectors * kLanes, acc[v]);
      }
    }
  }
}

}  // namespace

PackedShape::PackedShape(std::int64_t inputs, std::int64_t outputs, bool with_bias)
    : inputs_(inputs),
      outputs_(outputs),
      padded_outputs_(simd::RoundUp(outputs, kLanes)),
      rows_(with_bias ? inputs + 1 : inputs) {}

std::int64_t PackedShape::panel_width(std::int64_t panel) const {
  return std::min(kPanelWidth, padded_outputs_ - panel * kPanelWidth);
}

std::int64_t PackedShape::OffsetOf(std::int64_t input, std::int64_t output) const {
  const std::int64_t panel = output / kPanelWidth;
  return panel_offset(panel) + input * panel_width(panel) + output % kPanelWidth;
}

std::int64_t StrideFor(std::int64_t width) {
  const std::int64_t padded = simd::RoundUp(width, kLanes);
  return padded % 64 == 0 ? padded + 16 : padded;
}

void HiddenForward(const PackedShape& shape, const float* weights, std::int64_t rows, ConstRows x, Rows y) {
  std::int64_t first_panel = 0;
  if (IsSparse(rows, shape.inputs(), x)) {
    const float* bias = weights + shape.inputs() * PackedShape::kPanelWidth;
    first_panel = MultiplySparsePanels(
        shape, weights, rows, x, y,
        [&](std::int64_t, std::int64_t column, float* sum) {
          const std::int64_t panel = column / PackedShape::kPanelWidth;
          Store(sum, Load(bias + shape.panel_offset(panel) + column % PackedShape::kPanelWidth));
        },
        [](std::int64_t, std::int64_t, float* sum) { Store(sum, simd::Max0(Load(sum))); });
  }
  for (std::int64_t panel = first_panel; panel < shape.num_panels(); ++panel) {
    const std::int64_t width = shape.panel_width(panel);
    const float* panel_weights = weights + shape.panel_offset(panel);
    const float* bias = panel_weights + shape.inputs() * width;
    float* y_panel = y.data + panel * PackedShape::kPanelWidth;
    WithPanelVectors(width, [&]<int V>() {
      ForRowBlocks<V>(rows, [&]<int M, int N>(std::int64_t row) {
        Vector acc[M][N];
        for (int m = 0; m < M; ++m) {
          for (int v = 0; v < N; ++v) acc[m][v] = Load(bias + v * kLanes);
        }
        MultiplyTile<M, N>(shape.inputs(), x.row(row), x.stride, 1, panel_weights, width, acc);
        for (int m = 0; m < M; ++m) {
          for (int v = 0; v < N; ++v)
            Store(y_panel + (row + m) * y.stride + v * kLanes, simd::Max0(acc[m][v]));
        }
      });
    });
  }
}

void HiddenBackward(const PackedShape& transposed, const float* weights, std::int64_t rows, ConstRows dy,
                    ConstRows activation, Rows dx) {
  std::int64_t first_panel = 0;
  if (IsSparse(rows, transposed.inputs(), dy)) {
    first_panel = MultiplySparsePanels(
        transposed, weights, rows, dy, dx,
        [](std::int64_t, std::int64_t, float* sum) { Store(sum, Vector{}); },
        [&](std::int64_t row, std::int64_t column, float* sum) {
          const Vector active = Load(activation.row(row) + column);
          Store(sum, active > 0.0f ? Load(sum) : Vector{});
        });
  }
  for (std::int64_t panel = first_panel; panel < transposed.num_panels(); ++panel) {
    const std::int64_t width = transposed.panel_width(panel);
    const std::int64_t column = panel * PackedShape::kPanelWidth;
    WithPanelVectors(width, [&]<int V>() {
      ForRowBlocks<V>(rows, [&]<int M, int N>(std::int64_t row) {
        Vector acc[M][N] = {};
        MultiplyTile<M, N>(transposed.inputs(), dy.row(row), dy.stride, 1,
                           weights + transposed.panel_offset(panel), width, acc);
        for (int m = 0; m < M; ++m) {
          for (int v = 0; v < N; ++v) {
            const Vector active = Load(activation.row(row + m) + column + v * kLanes);
            Store(dx.row(row + m) + column + v * kLanes, active > 0.0f ? acc[m][v] : Vector{});
          }
        }
      });
    });
  }
}

void HiddenGradients(const PackedShape& shape, const HiddenTile& tile, std::int64_t panels, std::int64_t rows,
                     ConstRows x, ConstRows dy, float* gradient, double* squares, std::int64_t step) {
  if (panels == 4 && IsSparseTile(shape, tile, 4, rows, x)) {
    SparseGradients<4>(shape, tile, rows, x, dy, gradient);
  } else if (panels == 2 && IsSparseTile(shape, tile, 2, rows, x)) {
    SparseGradients<2>(shape, tile, rows, x, dy, gradient);
  } else {
    for (std::int64_t i = 0; i < panels; ++i)
      DenseGradient(shape, tile, tile.panel + i, rows, x, dy, gradient);
  }
  for (std::int64_t i = 0; i < panels; ++i) {
    if (tile.last_input > shape.inputs()) BiasGradient(shape, tile.panel + i, rows, dy, gradient);
    squares[i * step] = SquaresOf(shape, tile, tile.panel + i, gradient);
  }
}

void OutputForward(const OutputShape& shape, const float* weights, std::int64_t rows, ConstRows x, Rows q) {
  const std::int64_t whole = shape.inputs / kLanes * kLanes;
  const float* biases = weights + shape.bias_offset();
  const auto rest = [&](const float* input, const float* weight, float sum) {
    for (std::int64_t i = whole; i < shape.inputs; ++i) sum += input[i] * weight[i];
    return sum;
  };
  // As many rows as a vector has lanes: their sums over lanes are made together, in the same order as one
  // alone.
  std::int64_t row = 0;
  for (; row + kLanes <= rows; row += kLanes) {
    for (std::int64_t action = 0; action < shape.actions; ++action) {
      const float* weight = weights + action * shape.stride();
      Vector sums[kLanes] = {};
      for (std::int64_t i = 0; i < whole; i += kLanes) {
        const Vector w = Load(weight + i);
#pragma GCC unroll 16
        for (int r = 0; r < kLanes; ++r) sums[r] += Load(x.row(row + r) + i) * w;
      }
      const Vector together = simd::SumLanesOfEach(sums);
      for (int r = 0; r < kLanes; ++r) {
        q.row(row + r)[action] = rest(x.row(row + r), weight, together[r]) + biases[action];
      }
    }
  }
  for (; row < rows; ++row) {
    for (std::int64_t action = 0; action < shape.actions; ++action) {
      const float* weight = weights + action * shape.stride();
      Vector sums = {};
      for (std::int64_t i = 0; i < whole; i += kLanes) sums += Load(x.row(row) + i) * Load(weight + i);
      q.row(row)[action] = rest(x.row(row), weight, simd::SumLanes(sums)) + biases[action];
    }
  }
}

void OutputBackward(const OutputShape& shape, const float* weights, std::int64_t rows,
                    const std::int32_t* actions, const float* errors, ConstRows x, Rows dx) {
  // The inputs are a hidden layer's outputs, padded to whole vectors, as the weights are.
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* weight = weights + actions[row] * shape.stride();
    const Vector error = Broadcast(errors[row]);
    for (std::int64_t i = 0; i < shape.stride(); i += kLanes) {
      const Vector active = Load(x.row(row) + i);
      Store(dx.row(row) + i, active > 0.0f ? error * Load(weight + i) : Vector{});
    }
  }
}

double OutputGradient(const OutputShape& shape, std::int64_t first, std::int64_t last, std::int64_t rows,
                      const std::int32_t* actions, const float* errors, ConstRows x, float* gradient) {
  for (std::int64_t action = 0; action < shape.actions; ++action) {
    std::fill_n(gradient + action * shape.stride() + first, last - first, 0.0f);
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    const float error = errors[row];
    const float* input = x.row(row);
    float* sum = gradient + actions[row] * shape.stride();
    for (std::int64_t i = first; i < last; ++i) sum[i] += error * input[i];
  }
  double squares = 0.0;
  for (std::int64_t action = 0; action < shape.actions; ++action) {
    for (std::int64_t i = first; i < last; ++i) {
      const auto value = static_cast<double>(gradient[action * shape.stride() + i]);
      squares += value * value;
    }
  }
  if (first == 0) {
    float* bias = gradient + shape.bias_offset();
    std::fill_n(bias, shape.actions, 0.0f);
    for (std::int64_t row = 0; row < rows; ++row) bias[actions[row]] += errors[row];
    for (std::int64_t action = 0; action < shape.actions; ++action) {
      squares += static_cast<double>(bias[action]) * static_cast<double>(bias[action]);
    }
  }
  return squares;
}

void Adam(const AdamStep& step, std::int64_t first, std::int64_t last, const float* __restrict gradient,
          float* __restrict weights, float* __restrict first_moment, float* __restrict second_moment) {
  const float keep1 = step.beta1;
  const float take1 = step.one_minus_beta1;
  const float keep2 = step.beta2;
  const float take2 = step.one_minus_beta2;
  for (std::int64_t i = first; i < last; ++i) {
    const float g = gradient[i] * step.gradient_scale;
    const float m = keep1 * first_moment[i] + take1 * g;
    const float v = keep2 * second_moment[i] + take2 * g * g;
    first_moment[i] = m;
    second_moment[i] = v;
    weights[i] -= step.step_size * m / (std::sqrt(v) * step.inverse_root + step.epsilon);
  }
}

void TargetSync(float rate, std::int64_t first, std::int64_t last, const float* __restrict online,
                float* __restrict target) {
  if (rate == 1.0f) {
    std::memcpy(target + first, online + first, static_cast<std::size_t>(last - first) * sizeof(float));
    return;
  }
  for (std::int64_t i = first; i < last; ++i) target[i] += rate * (online[i] - target[i]);
}

void Transpose(const PackedShape& shape, const HiddenTile& tile, const float* weights,
               const PackedShape& transposed, float* transposed_weights) {
  const std::int64_t width = shape.panel_width(tile.panel);
  const std::int64_t first_output = tile.panel * PackedShape::kPanelWidth;
  const std::int64_t outputs = std::min(width, shape.outputs() - first_output);
  const std::int64_t last_weight = std::min(tile.last_input, shape.inputs());
  std::int64_t input = tile.first_input;
  // Squares of kLanes by kLanes in registers, as far as they go.
  for (; input % kLanes == 0 && input + kLanes <= last_weight; input += kLanes) {
    const float* from = weights + shape.OffsetOf(input, first_output);
    float* to = transposed_weights + transposed.OffsetOf(first_output, input);
    const std::int64_t step = transposed.panel_width(input / PackedShape::kPanelWidth);
    std::int64_t output = 0;
    for (; output + kLanes <= outputs; output += kLanes) {
      Vector square[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) square[i] = Load(from + i * width + output);
      simd::Transpose(square);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) Store(to + (output + i) * step, square[i]);
    }
    for (; output < outputs; ++output) {
      for (int i = 0; i < kLanes; ++i) to[output * step + i] = from[i * width + output];
    }
  }
  for (; input < last_weight; ++input) {
    const float* from = weights + shape.OffsetOf(input, first_output);
    float* to = transposed_weights + transposed.OffsetOf(first_output, input);
    const std::int64_t step = transposed.panel_width(input / PackedShape::kPanelWidth);
    for (std::int64_t output = 0; output < outputs; ++output) to[output * step] = from[output];
  }
}

}  // namespace metronome::kernels
