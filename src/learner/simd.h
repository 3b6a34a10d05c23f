#ifndef METRONOME_LEARNER_SIMD_H_
#define METRONOME_LEARNER_SIMD_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace metronome::simd {

// The widest float vector of the processor that we compile for, by the vector extension that GCC and Clang
// share. The numbers of rows and vectors of a tile are what fits in its registers.
#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
inline constexpr int kTileRows = 8;
inline constexpr int kTileVectors = 2;
#elif defined(__AVX__)
inline constexpr int kLanes = 8;
inline constexpr int kTileRows = 6;
inline constexpr int kTileVectors = 2;
#elif defined(__aarch64__)
inline constexpr int kLanes = 4;
inline constexpr int kTileRows = 6;
inline constexpr int kTileVectors = 4;
#else
inline constexpr int kLanes = 4;
inline constexpr int kTileRows = 4;
inline constexpr int kTileVectors = 2;
#endif

typedef float Vector __attribute__((vector_size(kLanes * 4)));
/// The same at any float's address, over any floats.
typedef float UnalignedVector __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

inline Vector Load(const float* from) { return *reinterpret_cast<const UnalignedVector*>(from); }
inline void Store(float* to, Vector value) { *reinterpret_cast<UnalignedVector*>(to) = value; }
inline Vector Broadcast(float value) { return Vector{} + value; }
inline Vector Max0(Vector value) { return value > 0.0f ? value : Vector{}; }

/// Bit i is 1 where element i of these Width floats, 16 to 64, is not zero. A NaN is not zero.
template <int Width>
inline std::uint64_t NonZeroMask(const float* from) {
  std::uint64_t mask = 0;
#if defined(__AVX512F__)
  for (int i = 0; i < Width; i += kLanes) {
    const auto lanes = _mm512_cmp_ps_mask(_mm512_loadu_ps(from + i), _mm512_setzero_ps(), _CMP_NEQ_UQ);
    mask |= static_cast<std::uint64_t>(lanes) << i;
  }
#elif defined(__AVX__)
  for (int i = 0; i < Width; i += kLanes) {
    const int lanes =
        _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(from + i), _mm256_setzero_ps(), _CMP_NEQ_UQ));
    mask |= static_cast<std::uint64_t>(lanes) << i;
  }
#else
  for (int i = 0; i < Width; ++i) mask |= static_cast<std::uint64_t>(from[i] != 0.0f) << i;
#endif
  return mask;
}

/// The sum of the lanes, always in the same order: halves are added until one lane is left.
inline float SumLanes(Vector value) {
  float lanes[kLanes];
  __builtin_memcpy(lanes, &value, sizeof(lanes));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

namespace internal {

/// Of two vectors the lanes that `S` tells: Low<S> takes left[j] where bit S of j is 0 and right[j - S] where
/// it is 1; High<S> takes left[j + S] and right[j].
#if defined(__clang__)
template <int S, std::size_t... J>
inline Vector Low(Vector left, Vector right, std::index_sequence<J...>) {
  return __builtin_shufflevector(left, right, ((J & S) == 0 ? J : kLanes + J - S)...);
}
template <int S, std::size_t... J>
inline Vector High(Vector left, Vector right, std::index_sequence<J...>) {
  return __builtin_shufflevector(left, right, ((J & S) == 0 ? J + S : kLanes + J)...);
}
#else
typedef std::int32_t Mask __attribute__((vector_size(kLanes * 4)));
template <int S, std::size_t... J>
inline Vector Low(Vector left, Vector right, std::index_sequence<J...>) {
  constexpr Mask kMask = {static_cast<std::int32_t>((J & S) == 0 ? J : kLanes + J - S)...};
  return __builtin_shuffle(left, right, kMask);
}
template <int S, std::size_t... J>
inline Vector High(Vector left, Vector right, std::index_sequence<J...>) {
  constexpr Mask kMask = {static_cast<std::int32_t>((J & S) == 0 ? J + S : kLanes + J)...};
  return __builtin_shuffle(left, right, kMask);
}
#endif
using Lanes = std::make_index_sequence<kLanes>;

template <int S>
[[gnu::always_inline]] inline void TransposeStage(Vector (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) {
    if ((r & S) != 0) continue;
    const Vector low = Low<S>(rows[r], rows[r + S], Lanes{});
    rows[r + S] = High<S>(rows[r], rows[r + S], Lanes{});
    rows[r] = low;
  }
  if constexpr (S > 1) TransposeStage<S / 2>(rows);
}

template <int S>
[[gnu::always_inline]] inline void SumStage(Vector (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int r = 0; r < S; ++r) {
    rows[r] = Low<S>(rows[r], rows[r + S], Lanes{}) + High<S>(rows[r], rows[r + S], Lanes{});
  }
  if constexpr (S > 1) SumStage<S / 2>(rows);
}

}  // namespace internal

/// Turns a square of kLanes vectors: lane j of row i becomes lane i of row j.
[[gnu::always_inline]] inline void Transpose(Vector (&rows)[kLanes]) {
  internal::TransposeStage<kLanes / 2>(rows);
}

/// A vector of the sums of each row's lanes, each added up in the order of SumLanes(). Uses up `rows`.
[[gnu::always_inline]] inline Vector SumLanesOfEach(Vector (&rows)[kLanes]) {
  internal::SumStage<kLanes / 2>(rows);
  return rows[0];
}

inline constexpr std::int64_t RoundUp(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace metronome::simd

#endif  // METRONOME_LEARNER_SIMD_H_
