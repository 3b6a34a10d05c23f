#include "learner/convolution_kernels.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "learner/tile.h"
#include "metronome/core/check.h"

namespace metronome::kernels {
namespace {

constexpr int kMaskWidth = 64;  // floats that are looked at together for zeros

using simd::Broadcast;
using simd::kLanes;
using simd::Load;
using simd::Store;
using simd::Vector;

/// acc[m][v] += sum over all outputs of one row of x(patch, first + m) * dy(output, v): the gradient of M
/// weights to V vectors of filters, which stay in registers.
template <int M, int V>
[[gnu::always_inline]] inline void AddGradients(const Patches& patches, std::int64_t first_input,
                                                const float* x, const float* dy, std::int64_t dy_step,
                                                Vector (&acc)[M][V]) {
  const std::int64_t width = patches.out_width();
  const std::int64_t column_step = patches.column_step();
  std::int64_t offsets[M];
  std::copy_n(patches.input_offsets() + first_input, M, offsets);
  for (std::int64_t i = 0; i < patches.out_height(); ++i) {
    const float* patch = x + i * patches.row_step();
    for (std::int64_t j = 0; j < width; ++j) {
      Vector ds[V];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) ds[v] = Load(dy + v * kLanes);
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) {
        const Vector xm = Broadcast(patch[offsets[m]]);
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) acc[m][v] += xm * ds[v];
      }
      patch += column_step;
      dy += dy_step;
    }
  }
}

/// Calls body(value, output, input) for each float of the row that is not zero and each output it goes into.
template <typename Body>
[[gnu::always_inline]] inline void ForEachProduct(const Patches& patches,
                                                  std::span<const std::int32_t> nonzeros, const float* x,
                                                  const Body& body) {
  const std::int64_t width = patches.out_width();
  const std::int64_t stride = patches.stride();
  const std::int64_t kernel_row = stride * patches.kernel();
  for (const std::int32_t index : nonzeros) {
    const Patches::Reach reach = patches.reaches()[index];
    const Vector value = Broadcast(x[index]);
    for (std::int64_t i = 0; i < reach.rows; ++i) {
      const std::int64_t output = reach.output + i * width;
      const std::int64_t input = reach.input - i * kernel_row;
      for (std::int64_t j = 0; j < reach.columns; ++j) body(value, output + j, input - j * stride);
    }
  }
}

/// The outputs of one row for V vectors of filters, each output's sum in registers.
template <int V>
[[gnu::always_inline]] inline void DenseForward(const PackedShape& shape, const Patches& patches,
                                                const float* weights, const float* x, float* y) {
  const std::int64_t length = patches.run_length();
  const std::int64_t column_step = patches.column_step();
  constexpr std::int64_t kWidth = V * kLanes;
  const float* bias = weights + shape.inputs() * kWidth;
  for (std::int64_t i = 0; i < patches.out_height(); ++i) {
    const float* line = x + i * patches.row_step();
    ForRowBlocks<V>(patches.out_width(), [&]<int M, int N>(std::int64_t j) {
      Vector acc[M][N];
      for (int m = 0; m < M; ++m) {
        for (int v = 0; v < N; ++v) acc[m][v] = Load(bias + v * kLanes);
      }
      for (std::int64_t run = 0; run < patches.runs(); ++run) {
        MultiplyTile<M, N>(length, line + patches.run_offset(run) + j * column_step, column_step, 1,
                           weights + run * length * kWidth, kWidth, acc);
      }
      for (int m = 0; m < M; ++m) {
        for (int v = 0; v < N; ++v) {
          Store(y + (j + m) * shape.padded_outputs() + v * kLanes, simd::Max0(acc[m][v]));
        }
      }
    });
    y += patches.out_width() * shape.padded_outputs();
  }
}

/// The same from what is not zero, each product added to the output's sum in memory.
template <int V>
[[gnu::always_inline]] inline void SparseForward(const PackedShape& shape, const Patches& patches,
                                                 const float* weights, std::span<const std::int32_t> nonzeros,
                                                 const float* x, float* y) {
  constexpr std::int64_t kWidth = V * kLanes;
  const std::int64_t step = shape.padded_outputs();
  const float* bias = weights + shape.inputs() * kWidth;
  for (std::int64_t i = 0; i < patches.positions(); ++i) {
    for (int v = 0; v < V; ++v) Store(y + i * step + v * kLanes, Load(bias + v * kLanes));
  }
  ForEachProduct(patches, nonzeros, x, [&](Vector value, std::int64_t output, std::int64_t input) {
    for (int v = 0; v < V; ++v) {
      float* sum = y + output * step + v * kLanes;
      Store(sum, Load(sum) + value * Load(weights + input * kWidth + v * kLanes));
    }
  });
  for (std::int64_t i = 0; i < patches.positions(); ++i) {
    for (int v = 0; v < V; ++v) {
      float* sum = y + i * step + v * kLanes;
      Store(sum, simd::Max0(Load(sum)));
    }
  }
}

}  // namespace

Patches::Patches(const ConvShape& shape, bool channels_last)
    : shape_(shape),
      channels_last_(channels_last),
      padded_channels_(channels_last ? simd::RoundUp(shape.channels, kLanes) : shape.channels),
      out_height_(shape.out_height()),
      out_width_(shape.out_width()) {
  const std::int64_t pixel = channels_last ? padded_channels_ : 1;  // floats from a pixel to its neighbour
  run_length_ = shape.kernel * pixel;
  row_step_ = shape.stride * shape.width * pixel;
  column_step_ = shape.stride * pixel;
  input_size_ = shape.height * shape.width * padded_channels_;
  for (std::int64_t plane = 0; plane < (channels_last ? 1 : shape.channels); ++plane) {
    for (std::int64_t row = 0; row < shape.kernel; ++row) {
      run_offsets_.push_back((plane * shape.height + row) * shape.width * pixel);
      for (std::int64_t i = 0; i < run_length_; ++i) input_offsets_.push_back(run_offsets_.back() + i);
    }
  }
  if (channels_last) return;
  // The outputs whose kernel covers a coordinate: the first and how many.
  const auto covering = [&shape](std::int64_t at, std::int64_t outputs) {
    const std::int64_t first = at < shape.kernel ? 0 : (at - shape.kernel) / shape.stride + 1;
    return std::pair(first, std::max<std::int64_t>(std::min(at / shape.stride, outputs - 1) - first + 1, 0));
  };
  for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
    for (std::int64_t y = 0; y < shape.height; ++y) {
      for (std::int64_t x = 0; x < shape.width; ++x) {
        const auto [top, rows] = covering(y, out_height_);
        const auto [left, columns] = covering(x, out_width_);
        const std::int64_t input = InputIndex(channel, y - top * shape.stride, x - left * shape.stride);
        reaches_.push_back({static_cast<std::int32_t>(top * out_width_ + left),
                            static_cast<std::int32_t>(input), static_cast<std::int16_t>(rows),
                            static_cast<std::int16_t>(columns)});
      }
    }
  }
}

std::int64_t Patches::InputIndex(std::int64_t channel, std::int64_t row, std::int64_t column) const {
  const std::int64_t kernel = shape_.kernel;
  return channels_last_ ? (row * kernel + column) * padded_channels_ + channel
                        : (channel * kernel + row) * kernel + column;
}

void NonZeros::Find(std::int64_t first, std::int64_t rows, ConstRows x) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* values = x.row(row);
    std::int32_t* indices = indices_.data() + (first + row) * size_;
    std::int32_t count = 0;
    std::int64_t i = 0;
    for (; i + kMaskWidth <= size_; i += kMaskWidth) {
      for (std::uint64_t mask = simd::NonZeroMask<kMaskWidth>(values + i); mask != 0; mask &= mask - 1) {
        indices[count++] = static_cast<std::int32_t>(i + std::countr_zero(mask));
      }
    }
    for (; i < size_; ++i) {
      // Without a branch, which nothing could foresee.
      indices[count] = static_cast<std::int32_t>(i);
      count += values[i] != 0.0f ? 1 : 0;
    }
    counts_[first + row] = count;
  }
}

void ConvolutionForward(const PackedShape& shape, const Patches& patches, const float* weights,
                        std::int64_t rows, ConstRows x, const NonZeros* nonzeros, std::int64_t first,
                        Rows y) {
  for (std::int64_t panel = 0; panel < shape.num_panels(); ++panel) {
    const float* panel_weights = weights + shape.panel_offset(panel);
    WithPanelVectors(shape.panel_width(panel), [&]<int V>() {
      for (std::int64_t row = 0; row < rows; ++row) {
        float* outputs = y.row(row) + panel * PackedShape::kPanelWidth;
        if (nonzeros != nullptr && nonzeros->is_sparse(first + row)) {
          SparseForward<V>(shape, patches, panel_weights, nonzeros->row(first + row), x.row(row), outputs);
        } else {
          DenseForward<V>(shape, patches, panel_weights, x.row(row), outputs);
        }
      }
    });
  }
}

void ConvolutionBackward(const PackedShape& transposed, const Patches& patches, const float* weights,
                         std::int64_t rows, ConstRows dy, ConstRows activation, Rows dx) {
  const std::int64_t filters = simd::RoundUp(transposed.inputs(), kLanes);
  for (std::int64_t row = 0; row < rows; ++row) {
    float* sums = dx.row(row);
    std::fill_n(sums, patches.input_size(), 0.0f);
    for (std::int64_t panel = 0; panel < transposed.num_panels(); ++panel) {
      const std::int64_t width = transposed.panel_width(panel);
      // Runs are whole vectors, so a vector of the panel lies within one.
      const std::int64_t* offsets = patches.input_offsets() + panel * PackedShape::kPanelWidth;
      WithPanelVectors(width, [&]<int V>() {
        const float* dys = dy.row(row);
        for (std::int64_t i = 0; i < patches.out_height(); ++i) {
          float* line = sums + i * patches.row_step();
          ForRowBlocks<V>(patches.out_width(), [&]<int M, int N>(std::int64_t j) {
            Vector acc[M][N] = {};
            MultiplyTile<M, N>(transposed.inputs(), dys + j * filters, filters, 1,
                               weights + transposed.panel_offset(panel), width, acc);
            // Neighbouring patches overlap: one after the other.
            for (int m = 0; m < M; ++m) {
              float* patch = line + (j + m) * patches.column_step();
              for (int v = 0; v < N; ++v) {
                float* sum = patch + offsets[v * kLanes];
                Store(sum, Load(sum) + acc[m][v]);
              }
            }
          });
          dys += patches.out_width() * filters;
        }
      });
    }
    for (std::int64_t i = 0; i < patches.input_size(); i += kLanes) {
      const Vector active = Load(activation.row(row) + i);
      Store(sums + i, active > 0.0f ? Load(sums + i) : Vector{});
    }
  }
}

void ConvolutionGradient(const PackedShape& shape, const Patches& patches, std::int64_t rows, ConstRows x,
                         const NonZeros* nonzeros, std::int64_t first, ConstRows dy, float* gradient) {
  const std::int64_t step = shape.padded_outputs();
  std::fill_n(gradient, shape.size(), 0.0f);
  for (std::int64_t panel = 0; panel < shape.num_panels(); ++panel) {
    const std::int64_t width = shape.panel_width(panel);
    float* sums = gradient + shape.panel_offset(panel);
    WithPanelVectors(width, [&]<int V>() {
      Vector biases[V] = {};
      for (std::int64_t row = 0; row < rows; ++row) {
        const float* dys = dy.row(row) + panel * PackedShape::kPanelWidth;
        if (nonzeros != nullptr && nonzeros->is_sparse(first + row)) {
          ForEachProduct(patches, nonzeros->row(first + row), x.row(row),
                         [&](Vector value, std::int64_t output, std::int64_t input) {
                           for (int v = 0; v < V; ++v) {
                             float* sum = sums + input * width + v * kLanes;
                             Store(sum, Load(sum) + value * Load(dys + output * step + v * kLanes));
                           }
                         });
        } else {
          ForRowBlocks<V>(patches.inputs(), [&]<int M, int N>(std::int64_t input) {
            Vector acc[M][N];
            for (int m = 0; m < M; ++m) {
              for (int v = 0; v < N; ++v) acc[m][v] = Load(sums + (input + m) * width + v * kLanes);
            }
            AddGradients<M, N>(patches, input, x.row(row), dys, step, acc);
            for (int m = 0; m < M; ++m) {
              for (int v = 0; v < N; ++v) Store(sums + (input + m) * width + v * kLanes, acc[m][v]);
            }
          });
        }
        for (std::int64_t i = 0; i < patches.positions(); ++i) {
          for (int v = 0; v < V; ++v) biases[v] += Load(dys + i * step + v * kLanes);
        }
      }
      for (int v = 0; v < V; ++v) Store(sums + shape.inputs() * width + v * kLanes, biases[v]);
    });
  }
}

double SumGradients(const PackedShape& shape, const HiddenTile& tile, std::int64_t parts,
                    const float* part_gradients, float* gradient) {
  const std::int64_t width = shape.panel_width(tile.panel);
  const std::int64_t first = shape.panel_offset(tile.panel) + tile.first_input * width;
  const std::int64_t last = shape.panel_offset(tile.panel) + tile.last_input * width;
  Vector squares = {};
  for (std::int64_t i = first; i < last; i += kLanes) {
    Vector sum = Load(part_gradients + i);
    for (std::int64_t part = 1; part < parts; ++part) sum += Load(part_gradients + part * shape.size() + i);
    Store(gradient + i, sum);
    squares += sum * sum;
  }
  return static_cast<double>(simd::SumLanes(squares));
}

}  // namespace metronome::kernels
