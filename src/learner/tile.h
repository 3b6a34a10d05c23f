#ifndef METRONOME_LEARNER_TILE_H_
#define METRONOME_LEARNER_TILE_H_

#include <cstdint>

#include "learner/simd.h"

/// The tile in registers that every product of the static plan is made of, and the loops over tiles.
namespace metronome::kernels {

/// acc[m][v] += sum over k of a(m, k) * b(k, v): the heart of every product. a(m, k) = a[m * row + k * step],
/// and b's rows of V vectors lie `b_step` floats apart.
template <int M, int V>
[[gnu::always_inline]] inline void MultiplyTile(std::int64_t depth, const float* a, std::int64_t a_row,
                                                std::int64_t a_step, const float* b, std::int64_t b_step,
                                                simd::Vector (&acc)[M][V]) {
  for (std::int64_t k = 0; k < depth; ++k) {
    simd::Vector bs[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) bs[v] = simd::Load(b + v * simd::kLanes);
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
      const simd::Vector am = simd::Broadcast(a[m * a_row]);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) acc[m][v] += am * bs[v];
    }
    a += a_step;
    b += b_step;
  }
}

/// Calls body.template operator()<M, V>(first) for blocks of rows [first, first + M) that cover [0, rows).
template <int V, typename Body>
[[gnu::always_inline]] inline void ForRowBlocks(std::int64_t rows, const Body& body) {
  std::int64_t row = 0;
  for (; row + simd::kTileRows <= rows; row += simd::kTileRows)
    body.template operator()<simd::kTileRows, V>(row);
  for (; row + 4 <= rows; row += 4) body.template operator()<4, V>(row);
  if (row + 2 <= rows) {
    body.template operator()<2, V>(row);
    row += 2;
  }
  if (row < rows) body.template operator()<1, V>(row);
}

/// Calls the body with the number of vectors of a panel as a constant.
template <typename Body>
[[gnu::always_inline]] inline void WithPanelVectors(std::int64_t width, const Body& body) {
  if (width == simd::kTileVectors * simd::kLanes) {
    body.template operator()<simd::kTileVectors>();
    return;
  }
  if constexpr (simd::kTileVectors > 2) {
    if (width == 3 * simd::kLanes) return body.template operator()<3>();
    if (width == 2 * simd::kLanes) return body.template operator()<2>();
  }
  body.template operator()<1>();
}

}  // namespace metronome::kernels

#endif  // METRONOME_LEARNER_TILE_H_
