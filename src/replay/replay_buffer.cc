#include "metronome/replay/replay_buffer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <type_traits>

#include "metronome/core/check.h"
#include "metronome/core/error.h"

namespace metronome {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// left * right + add, or kNoLimit where that is more.  REQUIRES: nothing negative.
std::int64_t MultiplyAdd(std::int64_t left, std::int64_t right, std::int64_t add) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(left, right, &result) || __builtin_add_overflow(result, add, &result)) {
    return kNoLimit;
  }
  return result;
}

std::int64_t ElementBytes(const ReplayBuffer::Options& options) { return options.byte_observations ? 1 : 4; }

Error DoesNotFit(const ReplayBuffer::Options& options, const std::string& available) {
  const std::int64_t bytes = ReplayBuffer::BytesNeeded(options);
  const bool beyond_counting = bytes == kNoLimit;
  return Error(ExitCode::kUsage, "replay.capacity: " + std::to_string(options.capacity) + " transitions of " +
                                     std::to_string(options.observation_size) +
                                     (options.byte_observations ? " bytes" : " floats") + " need " +
                                     (beyond_counting ? "more than " : "") + FormatBytes(bytes) + " (" +
                                     std::to_string(bytes) + " bytes), " + available);
}

/// Copies a row, or makes floats of its bytes. The fixed-size copies become a few vector moves, where a call
/// of memcpy would cost more than the copy for the short observations of most games.
inline void ReadRow(float* out, const float* row, std::int64_t size) {
  constexpr std::int64_t kBlock = 8;
  constexpr std::int64_t kLongRow = 64;
  if (size >= kLongRow) {
    std::memcpy(out, row, static_cast<std::size_t>(size) * sizeof(float));
    return;
  }
  std::int64_t i = 0;
  for (; i + kBlock <= size; i += kBlock) std::memcpy(out + i, row + i, kBlock * sizeof(float));
  for (; i < size; ++i) out[i] = row[i];
}

inline void ReadRow(float* __restrict__ out, const std::uint8_t* __restrict__ row, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) out[i] = static_cast<float>(row[i]);
}

/// Asks for the cache lines of `bytes` at `data`, the first few: the processor itself notices longer reads.
inline void Prefetch(const void* data, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kMostLines = 8;
  const auto* const at = static_cast<const std::byte*>(data);
  const std::size_t end = std::min(bytes, kLine * kMostLines);
  for (std::size_t offset = 0; offset < end; offset += kLine) __builtin_prefetch(at + offset);
  __builtin_prefetch(at + end - 1);
}

}  // namespace

std::int64_t ReplayBuffer::BytesNeeded(const Options& options) {
  METRONOME_CHECK_GT(options.capacity, 0);
  METRONOME_CHECK_GT(options.observation_size, 0);
  const std::int64_t rows = MultiplyAdd(options.capacity, 2, 1);
  const std::int64_t row_bytes = MultiplyAdd(options.observation_size, ElementBytes(options), 0);
  const std::int64_t slot_bytes = MultiplyAdd(options.capacity, sizeof(Slot), 0);
  // No factor is 0, so kNoLimit in one of them stays kNoLimit.
  return MultiplyAdd(rows, row_bytes, slot_bytes);
}

void ReplayBuffer::CheckFits(const Options& options, std::optional<std::int64_t> available_bytes) {
  const std::int64_t needed = BytesNeeded(options);
  if (!available_bytes) {
    if (needed == kNoLimit) throw DoesNotFit(options, "more than any machine has");
    return;
  }
  if (needed <= *available_bytes && needed != kNoLimit) return;
  // needed = capacity * per_transition + row_bytes
  const std::int64_t row_bytes = MultiplyAdd(options.observation_size, ElementBytes(options), 0);
  const std::int64_t per_transition = MultiplyAdd(row_bytes, 2, sizeof(Slot));
  const std::int64_t most = std::max<std::int64_t>(*available_bytes - row_bytes, 0) / per_transition;
  throw DoesNotFit(options, "available are " + FormatBytes(*available_bytes) + " (" +
                                std::to_string(*available_bytes) + " bytes): at most " +
                                std::to_string(most) + " would fit");
}

ReplayBuffer::ReplayBuffer(const Options& options) : options_(options) {
  CheckFits(options);
  rows_ = 2 * options.capacity + 1;
  try {
    slots_ = AlignedBuffer<Slot>(options.capacity);
    const std::int64_t elements = rows_ * options.observation_size;
    if (options.byte_observations) {
      byte_observations_ = AlignedBuffer<std::uint8_t>(elements);
    } else {
      float_observations_ = AlignedBuffer<float>(elements);
    }
  } catch (const std::bad_alloc&) {
    throw DoesNotFit(options, "which the system refuses to give");
  }
}

std::size_t ReplayBuffer::RowBytes() const {
  return static_cast<std::size_t>(options_.observation_size * ElementBytes(options_));
}

const std::byte* ReplayBuffer::RowData(std::int64_t row) const {
  const void* const block = options_.byte_observations ? static_cast<const void*>(byte_observations_.data())
                                                       : float_observations_.data();
  return static_cast<const std::byte*>(block) + static_cast<std::size_t>(row) * RowBytes();
}

void ReplayBuffer::WriteRow(std::int64_t row, std::span<const float> observation) {
  METRONOME_CHECK_EQ(static_cast<std::int64_t>(observation.size()), options_.observation_size);
  if (!options_.byte_observations) {
    std::copy(observation.begin(), observation.end(),
              float_observations_.data() + row * options_.observation_size);
    return;
  }
  std::uint8_t* const out = byte_observations_.data() + row * options_.observation_size;
  // Without a branch, so that it becomes vector code; what isn't a whole number of 0 .. 255 comes back
  // changed.
  std::int32_t changed = 0;
  for (std::size_t i = 0; i < observation.size(); ++i) {
    const float value = observation[i];
    const float above = value > 0.0f ? value : 0.0f;
    const auto whole = static_cast<std::int32_t>(above < 255.0f ? above : 255.0f);
    out[i] = static_cast<std::uint8_t>(whole);
    changed |= static_cast<std::int32_t>(static_cast<float>(whole) != value);
  }
  METRONOME_CHECK(changed == 0 && "a byte observation holds whole numbers 0 .. 255");
}

void ReplayBuffer::BeginEpisode(std::span<const float> observation) {
  // A row that no transition ends at is free: an episode that never got a transition leaves nothing behind.
  if (row_is_shared_) row_ = RowAfter(row_);
  WriteRow(row_, observation);
  row_is_shared_ = false;
  in_episode_ = true;
}

void ReplayBuffer::Add(int action, float reward, Ending ending, std::span<const float> next_observation) {
  METRONOME_CHECK(in_episode_ && "Add() comes after BeginEpisode()");
  // When the ring is full, the oldest transition goes first: its row may be the one that is written now. With
  // it at most capacity - 1 transitions remain, and no row of theirs is reached, whatever the episodes are.
  slots_[next_slot_] = {row_ * kEndings + static_cast<std::int64_t>(ending), action, reward};
  next_slot_ = next_slot_ + 1 == options_.capacity ? 0 : next_slot_ + 1;
  size_ = std::min(size_ + 1, options_.capacity);
  ++added_;
  row_ = RowAfter(row_);
  WriteRow(row_, next_observation);
  row_is_shared_ = true;
  in_episode_ = ending == Ending::kNone;
}

void ReplayBuffer::StartAt(std::int64_t added) {
  METRONOME_CHECK_EQ(added_, 0);
  METRONOME_CHECK_GE(added, 0);
  added_ = added;
}

std::int64_t ReplayBuffer::SlotAt(std::int64_t age_index) const {
  // Until the ring is full, the oldest transition is in slot 0.
  const std::int64_t slot = (size_ == options_.capacity ? next_slot_ : 0) + age_index;
  return slot < options_.capacity ? slot : slot - options_.capacity;
}

TransitionView ReplayBuffer::Transition(std::int64_t age_index) const {
  METRONOME_CHECK_GE(age_index, 0);
  METRONOME_CHECK_LT(age_index, size_);
  const Slot& slot = slots_[SlotAt(age_index)];
  const std::int64_t row = RowOf(slot);
  TransitionView view;
  view.observation = {RowData(row), RowBytes()};
  view.next_observation = {RowData(RowAfter(row)), RowBytes()};
  view.action = slot.action;
  view.reward = slot.reward;
  view.ending = EndingOf(slot);
  view.discount = view.ending == Ending::kTerminated ? 0.0f : options_.discount;
  if (age_index > 0) view.follows_previous = RowAfter(RowOf(slots_[SlotAt(age_index - 1)])) == row;
  return view;
}

void ReplayBuffer::Sample(Rng& rng, const BatchView& batch) const {
  METRONOME_CHECK_GT(size_, 0);
  const std::size_t elements = batch.actions.size() * static_cast<std::size_t>(options_.observation_size);
  METRONOME_CHECK_EQ(batch.observations.size(), elements);
  METRONOME_CHECK_EQ(batch.next_observations.size(), elements);
  METRONOME_CHECK_EQ(batch.rewards.size(), batch.actions.size());
  METRONOME_CHECK_EQ(batch.discounts.size(), batch.actions.size());
  if (options_.byte_observations) {
    SampleRows(byte_observations_, rng, batch);
  } else {
    SampleRows(float_observations_, rng, batch);
  }
}

template <typename Element>
void ReplayBuffer::SampleRows(const AlignedBuffer<Element>& observations, Rng& rng,
                              const BatchView& batch) const {
  // A large buffer lies in memory, not in the cache. In three passes over a group of samples, each asks for
  // what the next one needs, so that the group waits for the memory twice and not each sample for itself.
  constexpr std::size_t kGroup = 128;
  std::array<std::int64_t, kGroup> places;  // first the slot, then the row
  const std::int64_t size = options_.observation_size;
  const std::array<float, kEndings> discounts = {options_.discount, 0.0f, options_.discount, 0.0f};
  static_assert(static_cast<int>(Ending::kTerminated) == 1);

  for (std::size_t start = 0; start < batch.actions.size(); start += kGroup) {
    const std::size_t count = std::min(kGroup, batch.actions.size() - start);
    for (std::size_t i = 0; i < count; ++i) {
      places[i] = SlotAt(rng.UniformInt(size_));
      __builtin_prefetch(&slots_[places[i]]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Slot& slot = slots_[places[i]];
      const std::int64_t row = RowOf(slot);
      // Both rows, which lie side by side; the one sample in 2 * capacity where they don't may wait.
      Prefetch(observations.data() + row * size, 2 * static_cast<std::size_t>(size) * sizeof(Element));
      places[i] = row;
      batch.actions[start + i] = slot.action;
      batch.rewards[start + i] = slot.reward;
      batch.discounts[start + i] = discounts[static_cast<std::size_t>(EndingOf(slot))];
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t to = static_cast<std::int64_t>(start + i) * size;
      ReadRow(batch.observations.data() + to, observations.data() + places[i] * size, size);
      ReadRow(batch.next_observations.data() + to, observations.data() + RowAfter(places[i]) * size, size);
    }
  }
}

}  // namespace metronome
