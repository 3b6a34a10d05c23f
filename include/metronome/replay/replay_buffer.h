#ifndef METRONOME_REPLAY_REPLAY_BUFFER_H_
#define METRONOME_REPLAY_REPLAY_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "metronome/core/aligned_buffer.h"
#include "metronome/core/memory.h"
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

/// One held transition, to read. Valid until the next BeginEpisode() or Add().
struct TransitionView {
  std::span<const std::byte> observation;  ///< N elements as they are stored: float32, or bytes.
  std::span<const std::byte> next_observation;
  int action = 0;
  float reward = 0.0f;
  float discount = 0.0f;  ///< gamma, or 0 when terminated.
  Ending ending = Ending::kNone;
  /// Whether `observation` is the next observation of the transition before it, which is held as well. What
  /// n-step returns and frame stacks may look across.
  bool follows_previous = false;
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

  /// Bytes that a buffer with these options takes: capacity * 16 for the transitions, and (2 * capacity + 1)
  /// * observation_size * (1 or 4) for the observations. The largest int64 where that is more than it can
  /// hold.
  static std::int64_t BytesNeeded(const Options& options);

  /// Throws Error (kUsage) that names the bytes needed and available, and the largest capacity that would do,
  /// when these options don't fit into `available_bytes`. Takes no memory, so a run can ask before it creates
  /// anything. Where the system doesn't say what is available, only what no machine has is refused.
  static void CheckFits(const Options& options,
                        std::optional<std::int64_t> available_bytes = AvailableMemoryBytes());

  /// Throws as CheckFits() does, before it takes any memory, and also when the system refuses the memory.
  explicit ReplayBuffer(const Options& options);

  ReplayBuffer(const ReplayBuffer&) = delete;
  ReplayBuffer& operator=(const ReplayBuffer&) = delete;

  /// Copies the first observation of a new episode. An episode that was left unfinished (Add() never got an
  /// ending) keeps the transitions it has.
  void BeginEpisode(std::span<const float> observation);

  /// Copies one transition, which starts at the observation given last.
  /// REQUIRES (checked): within an episode.
  void Add(int action, float reward, Ending ending, std::span<const float> next_observation);

  /// Fills every row of `batch` uniformly, with replacement, from the transitions held, drawing from `rng`
  /// alone: one UniformInt(size()) a row, in order, 0 for the oldest. So what is sampled depends on what is
  /// held and not on where in the ring it lies.  REQUIRES (checked): size() > 0.
  void Sample(Rng& rng, const BatchView& batch) const;

  /// The transition that was added `age_index` after the oldest one held.
  /// REQUIRES (checked): 0 <= age_index < size().
  TransitionView Transition(std::int64_t age_index) const;

  /// The number that the next transition gets, for a buffer that is filled from a checkpoint.
  /// REQUIRES (checked): nothing was added yet.
  void StartAt(std::int64_t added);

  std::int64_t size() const { return size_; }  ///< Transitions held, at most capacity().
  std::int64_t added() const {
    return added_;
  }  ///< Transitions ever added; the newest is number added() - 1.
  std::int64_t capacity() const { return options_.capacity; }
  std::int64_t bytes() const { return BytesNeeded(options_); }
  const Options& options() const { return options_; }
  bool in_episode() const { return in_episode_; }  ///< Whether Add() may be called.

 private:
  // The fields of a transition lie together, so that a sample misses the cache once for all of them.
  struct Slot {
    std::int64_t row_and_ending;  // row of its observation * kEndings + ending
    std::int32_t action;
    float reward;
  };
  static constexpr std::int64_t kEndings = 4;  // a power of two, so that the division is a shift

  static std::int64_t RowOf(const Slot& slot) { return slot.row_and_ending / kEndings; }
  static Ending EndingOf(const Slot& slot) { return static_cast<Ending>(slot.row_and_ending % kEndings); }

  std::int64_t SlotAt(std::int64_t age_index) const;
  std::int64_t RowAfter(std::int64_t row) const { return row + 1 == rows_ ? 0 : row + 1; }
  std::size_t RowBytes() const;
  const std::byte* RowData(std::int64_t row) const;
  void WriteRow(std::int64_t row, std::span<const float> observation);
  template <typename Element>
  void SampleRows(const AlignedBuffer<Element>& observations, Rng& rng, const BatchView& batch) const;

  Options options_;
  std::int64_t rows_;                              // of observations, 2 * capacity + 1
  AlignedBuffer<Slot> slots_;                      // (capacity)
  AlignedBuffer<float> float_observations_;        // (rows, N), or empty
  AlignedBuffer<std::uint8_t> byte_observations_;  // (rows, N), or empty
  std::int64_t size_ = 0;
  std::int64_t added_ = 0;
  std::int64_t next_slot_ = 0;  // that the next Add() writes; the oldest one when full
  std::int64_t row_ = 0;        // of the observation given last
  bool row_is_shared_ = false;  // whether that is the next observation of a transition
  bool in_episode_ = false;
};

}  // namespace metronome

#endif  // METRONOME_REPLAY_REPLAY_BUFFER_H_
