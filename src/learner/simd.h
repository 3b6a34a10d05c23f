#ifndef METRONOME_LEARNER_SIMD_H_
#define METRONOME_LEARNER_SIMD_H_

#include <cstdint>

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

/// The sum of the lanes, always in the same order: halves are added until one lane is left.
inline float SumLanes(Vector value) {
  float lanes[kLanes];
  __builtin_memcpy(lanes, &value, sizeof(lanes));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

inline constexpr std::int64_t RoundUp(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace metronome::simd

#endif  // METRONOME_LEARNER_SIMD_H_
