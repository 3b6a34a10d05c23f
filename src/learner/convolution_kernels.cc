#include "learner/convolution_kernels.h"

#include <algorithm>

#include "learner/tile.h"
#include "metronome/core/check.h"

namespace metronome::kernels {
namespace {

using simd::Broadcast;
using simd::kLanes;
using simd::Load;
using simd::Store;
using simd::Vector;

/// acc[m][v] += sum over all outputs of these rows of x(patch, first + m) * dy(output, v): the gradient of M
/// weights to V vectors of filters, which stay in registers.
template <int M, int V>
[[gnu::always_inline]] inline void AddGradients(const Patches& patches, std::int64_t first_input,
                                                std::int64_t rows, ConstRows x, const float* dy,
                                                std::int64_t dy_row, std::int64_t dy_step,
                                                Vector (&acc)[M][V]) {
  const std::int64_t width = patches.out_width();
  const std::int64_t column_step = patches.column_step();
  std::int64_t offsets[M];
  std::copy_n(patches.input_offsets() + first_input, M, offsets);
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* dys = dy + row * dy_row;
    for (std::int64_t i = 0; i < patches.out_height(); ++i) {
      const float* patch = x.row(row) + i * patches.row_step();
      for (std::int64_t j = 0; j < width; ++j) {
        Vector ds[V];
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) ds[v] = Load(dys + v * kLanes);
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m) {
          const Vector xm = Broadcast(patch[offsets[m]]);
#pragma GCC unroll 8
          for (int v = 0; v < V; ++v) acc[m][v] += xm * ds[v];
        }
        patch += column_step;
        dys += dy_step;
      }
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
}

std::int64_t Patches::InputIndex(std::int64_t channel, std::int64_t row, std::int64_t column) const {
  const std::int64_t kernel = shape_.kernel;
  return channels_last_ ? (row * kernel + column) * padded_channels_ + channel
                        : (channel * kernel + row) * kernel + column;
}

void ConvolutionForward(const PackedShape& shape, const Patches& patches, const float* weights,
                        std::int64_t rows, ConstRows x, Rows y) {
  const std::int64_t length = patches.run_length();
  const std::int64_t column_step = patches.column_step();
  for (std::int64_t panel = 0; panel < shape.num_panels(); ++panel) {
    const std::int64_t width = shape.panel_width(panel);
    const float* panel_weights = weights + shape.panel_offset(panel);
    const float* bias = panel_weights + shape.inputs() * width;
    WithPanelVectors(width, [&]<int V>() {
      for (std::int64_t row = 0; row < rows; ++row) {
        float* outputs = y.row(row) + panel * PackedShape::kPanelWidth;
        for (std::int64_t i = 0; i < patches.out_height(); ++i) {
          const float* line = x.row(row) + i * patches.row_step();
          ForRowBlocks<V>(patches.out_width(), [&]<int M, int N>(std::int64_t j) {
            Vector acc[M][N];
            for (int m = 0; m < M; ++m) {
              for (int v = 0; v < N; ++v) acc[m][v] = Load(bias + v * kLanes);
            }
            for (std::int64_t run = 0; run < patches.runs(); ++run) {
              MultiplyTile<M, N>(length, line + patches.run_offset(run) + j * column_step, column_step, 1,
                                 panel_weights + run * length * width, width, acc);
            }
            for (int m = 0; m < M; ++m) {
              for (int v = 0; v < N; ++v) {
                Store(outputs + (j + m) * shape.padded_outputs() + v * kLanes, simd::Max0(acc[m][v]));
              }
            }
          });
          outputs += patches.out_width() * shape.padded_outputs();
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
                         ConstRows dy, float* gradient) {
  const std::int64_t step = shape.padded_outputs();
  for (std::int64_t panel = 0; panel < shape.num_panels(); ++panel) {
    const std::int64_t width = shape.panel_width(panel);
    const float* dys = dy.data + panel * PackedShape::kPanelWidth;
    float* panel_gradient = gradient + shape.panel_offset(panel);
    WithPanelVectors(width, [&]<int V>() {
      ForRowBlocks<V>(patches.inputs(), [&]<int M, int N>(std::int64_t input) {
        Vector acc[M][N] = {};
        AddGradients<M, N>(patches, input, rows, x, dys, dy.stride, step, acc);
        for (int m = 0; m < M; ++m) {
          for (int v = 0; v < N; ++v) Store(panel_gradient + (input + m) * width + v * kLanes, acc[m][v]);
        }
      });
      Vector biases[V] = {};
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t i = 0; i < patches.positions(); ++i) {
          for (int v = 0; v < V; ++v) biases[v] += Load(dys + row * dy.stride + i * step + v * kLanes);
        }
      }
      for (int v = 0; v < V; ++v) Store(panel_gradient + shape.inputs() * width + v * kLanes, biases[v]);
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
