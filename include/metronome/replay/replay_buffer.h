#ifndef METRONOME_REPLAY_REPLAY_BUFFER_H_
#define METRONOME_REPLAY_REPLAY_BUFFER_H_

#include <cstdint>
#include <span>

#include "metronome/core/aligned_buffer.h"
#include "metronome/core/rng.h"

namespace metronome {

/// [replay] in the config.
struct ReplayConfig {
  std::int64_t capacity = 100'000;  ///< Transitions, exactly.
  std::int64_t warmup = 1'000;      ///< Transitions held before the first update.
};

/// How a transition ended its episode, if it did.
enum class Ending : std::uint8_t { kNone = 0, kTerminated = 1, kTruncated = 2 };

/// What one Sample() fills, row by row; all memory is the caller's. B is the batch size, N the observation's.
struct BatchView {
  std::span<float> observations;       ///< (B, N)
  std::span<float> next_observations;  ///< (B, N)
  std::span<std::int32_t> actions;     ///< (B)
  std::span<float> rewards;            ///< (B)
  std::span<float> discounts;          ///< (B): gamma, or 0 where the transition terminated.
};

/// Fixed-capacity ring of transitions; when it is full, Add() drops the oldest.
///
/// An observation is stored once: the next observation of a transition is the row after its own. The last
/// observation of an episode has a row of its own that is never sampled as a start. Since every transition
/// could be an episode by itself, exact capacity needs 2 * capacity + 1 observation rows; all blocks are
/// taken and touched by the constructor, and their size is bytes() before and after.
///
/// Truncation ends the episode but keeps the discount; termination sets it to 0. Add() and Sample() never
/// allocate. Not thread-safe.
class ReplayBuffer {
 public:
  struct Options {
    std::int64_t capacity = 0;          ///< Transitions, > 0.
    std::int64_t observation_size = 0;  ///< Elements, > 0.
    bool byte_observations = false;     ///< One byte an element, whole numbers 0 .. 255; else float32.
    float discount = 0.99f;             ///< gamma
  };

  /// Bytes that a buffer with these options takes.
  static std::int64_t BytesNeeded(const Options& options);

  /// Throws Error (kUsage) that names the bytes needed and available when they don't fit in memory.
  explicit ReplayBuffer(const Options& options);

  /// Copies the first observation of a new episode. An episode that was left unfinished (Add() never got an
  /// ending) keeps the transitions it has.
  void BeginEpisode(std::span<const float> observation);

  /// Copies one transition, which starts at the observation given last.
  /// REQUIRES (checked): within an episode.
  void Add(int action, float reward, Ending ending, std::span<const float> next_observation);

  /// Fills every row of `batch` uniformly, with replacement, from the transitions held, drawing from `rng`
  /// alone: one UniformInt(size()) a row, in order.  REQUIRES: size() > 0.
  void Sample(Rng& rng, const BatchView& batch) const;

  std::int64_t size() const { return size_; }  ///< Transitions held, at most capacity().
  std::int64_t capacity() const { return options_.capacity; }
  std::int64_t bytes() const { return BytesNeeded(options_); }

 private:
  Options options_;
  // ...
};

}  // namespace metronome

#endif  // METRONOME_REPLAY_REPLAY_BUFFER_H_
