#include "metronome/replay/replay_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "metronome/core/error.h"
#include "metronome/core/memory.h"
#include "support/allocation_counter.h"

namespace metronome {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr float kDiscount = 0.9f;

ReplayBuffer::Options SmallOptions(std::int64_t capacity, std::int64_t observation_size = 1,
                                   bool bytes = false) {
  return {.capacity = capacity,
          .observation_size = observation_size,
          .byte_observations = bytes,
          .discount = kDiscount};
}

/// The memory of one batch.
struct Batch {
  Batch(std::size_t rows, std::int64_t observation_size)
      : observations(rows * static_cast<std::size_t>(observation_size)),
        next_observations(observations.size()),
        actions(rows),
        rewards(rows),
        discounts(rows) {}
  BatchView view() { return {observations, next_observations, actions, rewards, discounts}; }

  std::vector<float> observations;
  std::vector<float> next_observations;
  std::vector<std::int32_t> actions;
  std::vector<float> rewards;
  std::vector<float> discounts;
};

/// Elements of an observation as floats, whatever they are stored as.
std::vector<float> Floats(std::span<const std::byte> stored, bool bytes) {
  std::vector<float> values;
  if (bytes) {
    for (const std::byte element : stored) values.push_back(std::to_integer<std::uint8_t>(element));
  } else {
    values.resize(stored.size() / sizeof(float));
    std::memcpy(values.data(), stored.data(), stored.size());
  }
  return values;
}

/// What a ring of transitions is, without any of its economy: each transition owns all that it holds.
class NaiveReplay {
 public:
  struct Transition {
    std::vector<float> observation;
    std::vector<float> next_observation;
    int action = 0;
    float reward = 0.0f;
    Ending ending = Ending::kNone;
    std::int64_t episode = 0;
  };

  explicit NaiveReplay(std::int64_t capacity) : capacity_(static_cast<std::size_t>(capacity)) {}

  void BeginEpisode(const std::vector<float>& observation) {
    current_ = observation;
    ++episode_;
  }
  void Add(int action, float reward, Ending ending, const std::vector<float>& next) {
    if (transitions.size() == capacity_) transitions.pop_front();
    transitions.push_back({current_, next, action, reward, ending, episode_});
    current_ = next;
  }

  std::deque<Transition> transitions;

 private:
  std::size_t capacity_;
  std::vector<float> current_;
  std::int64_t episode_ = 0;
};

void ExpectEqual(const ReplayBuffer& buffer, const NaiveReplay& naive) {
  const bool bytes = buffer.options().byte_observations;
  ASSERT_EQ(buffer.size(), static_cast<std::int64_t>(naive.transitions.size()));
  for (std::int64_t i = 0; i < buffer.size(); ++i) {
    const TransitionView held = buffer.Transition(i);
    const NaiveReplay::Transition& expected = naive.transitions[static_cast<std::size_t>(i)];
    ASSERT_EQ(Floats(held.observation, bytes), expected.observation) << "transition " << i;
    ASSERT_EQ(Floats(held.next_observation, bytes), expected.next_observation) << "transition " << i;
    ASSERT_EQ(held.action, expected.action) << "transition " << i;
    ASSERT_EQ(held.reward, expected.reward) << "transition " << i;
    ASSERT_EQ(held.ending, expected.ending) << "transition " << i;
    ASSERT_EQ(held.discount, expected.ending == Ending::kTerminated ? 0.0f : kDiscount) << "transition " << i;
    const bool follows =
        i > 0 && naive.transitions[static_cast<std::size_t>(i - 1)].episode == expected.episode;
    ASSERT_EQ(held.follows_previous, follows) << "transition " << i;
  }
}

/// Samples from both with equal streams: the buffer promises which transition each row is.
void ExpectEqualSamples(const ReplayBuffer& buffer, const NaiveReplay& naive, Rng& rng, std::size_t rows) {
  Rng naive_rng = rng;
  Batch batch(rows, buffer.options().observation_size);
  buffer.Sample(rng, batch.view());
  const auto size = static_cast<std::ptrdiff_t>(buffer.options().observation_size);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto chosen = static_cast<std::size_t>(naive_rng.UniformInt(buffer.size()));
    const NaiveReplay::Transition& expected = naive.transitions[chosen];
    const auto at = static_cast<std::ptrdiff_t>(row) * size;
    const std::vector<float> observation(batch.observations.begin() + at,
                                         batch.observations.begin() + at + size);
    const std::vector<float> next(batch.next_observations.begin() + at,
                                  batch.next_observations.begin() + at + size);
    ASSERT_EQ(observation, expected.observation) << "row " << row;
    ASSERT_EQ(next, expected.next_observation) << "row " << row;
    ASSERT_EQ(batch.actions[row], expected.action) << "row " << row;
    ASSERT_EQ(batch.rewards[row], expected.reward) << "row " << row;
    ASSERT_EQ(batch.discounts[row], expected.ending == Ending::kTerminated ? 0.0f : kDiscount)
        << "row " << row;
  }
  ASSERT_EQ(rng, naive_rng) << "sampling draws one UniformInt a row and nothing else";
}

/// Feeds one and the same random run to both.
class RandomRun {
 public:
  RandomRun(ReplayBuffer& buffer, NaiveReplay& naive, std::uint64_t seed)
      : buffer_(buffer), naive_(naive), rng_(seed) {}

  void BeginEpisode() {
    MakeObservation();
    buffer_.BeginEpisode(observation_);
    naive_.BeginEpisode(observation_);
    Scribble();
  }
  void Add(Ending ending) {
    const int action = static_cast<int>(rng_.UniformInt(1000));
    const auto reward = static_cast<float>(rng_.Uniform(-1.0, 1.0));
    MakeObservation();
    buffer_.Add(action, reward, ending, observation_);
    naive_.Add(action, reward, ending, observation_);
    Scribble();
  }
  /// `length` transitions; the last one with `ending`.
  void Episode(std::int64_t length, Ending ending) {
    BeginEpisode();
    for (std::int64_t i = 1; i < length; ++i) Add(Ending::kNone);
    if (length > 0) Add(ending);
  }
  Ending RandomEnding() { return static_cast<Ending>(rng_.UniformInt(3)); }
  Rng& rng() { return rng_; }

 private:
  void MakeObservation() {
    observation_.resize(static_cast<std::size_t>(buffer_.options().observation_size));
    for (float& element : observation_) {
      element = buffer_.options().byte_observations ? static_cast<float>(rng_.UniformInt(256))
                                                    : static_cast<float>(rng_.Uniform(-10.0, 10.0));
    }
  }
  // A buffer that kept a reference would now hold this.
  void Scribble() { std::fill(observation_.begin(), observation_.end(), 77.0f); }

  ReplayBuffer& buffer_;
  NaiveReplay& naive_;
  Rng rng_;
  std::vector<float> observation_;
};

struct ModelCase {
  std::int64_t capacity;
  std::int64_t observation_size;
  std::int64_t longest_episode;
};

void PrintTo(const ModelCase& model, std::ostream* out) {
  *out << "capacity " << model.capacity << ", " << model.observation_size << " elements, episodes up to "
       << model.longest_episode;
}

class ReplayModelTest : public testing::TestWithParam<std::tuple<ModelCase, bool>> {};

TEST_P(ReplayModelTest, HoldsAndSamplesWhatANaiveDequeHolds) {
  const auto& [model, bytes] = GetParam();
  ReplayBuffer buffer(SmallOptions(model.capacity, model.observation_size, bytes));
  NaiveReplay naive(model.capacity);
  RandomRun run(buffer, naive, 11);
  Rng sampling(12);
  for (int episode = 0; episode < 400; ++episode) {
    // Also none at all, and some that are left without an ending.
    run.Episode(run.rng().UniformInt(model.longest_episode + 1), run.RandomEnding());
    ASSERT_NO_FATAL_FAILURE(ExpectEqual(buffer, naive)) << "episode " << episode;
    if (buffer.size() == 0) continue;
    ASSERT_NO_FATAL_FAILURE(ExpectEqualSamples(buffer, naive, sampling, 7)) << "episode " << episode;
  }
  EXPECT_EQ(buffer.size(), model.capacity);
  ASSERT_NO_FATAL_FAILURE(ExpectEqualSamples(buffer, naive, sampling, 1000));
}

INSTANTIATE_TEST_SUITE_P(Shapes, ReplayModelTest,
                         testing::Combine(testing::Values(ModelCase{1, 1, 3}, ModelCase{2, 3, 1},
                                                          ModelCase{3, 8, 2}, ModelCase{5, 4, 20},
                                                          ModelCase{16, 27, 1}, ModelCase{50, 65, 7},
                                                          ModelCase{64, 8, 200}, ModelCase{300, 130, 90}),
                                          testing::Bool()),
                         [](const auto& param_info) {
                           const ModelCase& model = std::get<0>(param_info.param);
                           return "Capacity" + std::to_string(model.capacity) + "Size" +
                                  std::to_string(model.observation_size) + "Episodes" +
                                  std::to_string(model.longest_episode) +
                                  (std::get<1>(param_info.param) ? "Bytes" : "Floats");
                         });

class ReplayEdgeTest : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::int64_t kCapacity = 6;
  ReplayBuffer buffer_{SmallOptions(kCapacity, 2, GetParam())};
  NaiveReplay naive_{kCapacity};
  RandomRun run_{buffer_, naive_, 5};
  Rng sampling_{6};
};

TEST_P(ReplayEdgeTest, OneShortOfFullFullAndOneMore) {
  run_.BeginEpisode();
  for (std::int64_t held = 1; held <= 2 * kCapacity + 2; ++held) {
    run_.Add(Ending::kNone);
    ASSERT_EQ(buffer_.size(), std::min(held, kCapacity));
    ASSERT_NO_FATAL_FAILURE(ExpectEqual(buffer_, naive_));
    ASSERT_NO_FATAL_FAILURE(ExpectEqualSamples(buffer_, naive_, sampling_, 50));
  }
}

TEST_P(ReplayEdgeTest, AnEpisodeEndsInEachPlaceOfTheRing) {
  for (std::int64_t length = 1; length <= 3 * kCapacity; ++length) {
    for (const Ending ending : {Ending::kTerminated, Ending::kTruncated, Ending::kNone}) {
      run_.Episode(length, ending);
      ASSERT_NO_FATAL_FAILURE(ExpectEqual(buffer_, naive_)) << "length " << length;
      run_.Episode(2, Ending::kTerminated);
      ASSERT_NO_FATAL_FAILURE(ExpectEqual(buffer_, naive_)) << "after length " << length;
      ASSERT_NO_FATAL_FAILURE(ExpectEqualSamples(buffer_, naive_, sampling_, 50)) << "length " << length;
    }
  }
}

TEST_P(ReplayEdgeTest, EpisodesOfLengthOneOnly) {
  // The most observation rows that can be in use at once: two a transition, and the row just begun.
  for (int episode = 0; episode < 10 * kCapacity; ++episode) {
    run_.BeginEpisode();
    ASSERT_NO_FATAL_FAILURE(ExpectEqual(buffer_, naive_)) << "begun " << episode;
    run_.Add(Ending::kTerminated);
    ASSERT_NO_FATAL_FAILURE(ExpectEqual(buffer_, naive_)) << "ended " << episode;
  }
}

TEST_P(ReplayEdgeTest, AnEpisodeLongerThanTheCapacityKeepsItsLastTransitions) {
  run_.Episode(kCapacity * 5 + 1, Ending::kTruncated);
  ASSERT_NO_FATAL_FAILURE(ExpectEqual(buffer_, naive_));
  EXPECT_EQ(buffer_.Transition(kCapacity - 1).ending, Ending::kTruncated);
  EXPECT_FALSE(buffer_.Transition(0).follows_previous) << "what it follows is no longer held";
  for (std::int64_t i = 1; i < kCapacity; ++i) EXPECT_TRUE(buffer_.Transition(i).follows_previous);
}

TEST_P(ReplayEdgeTest, BeginningAgainAndAgainCostsNoHeldTransition) {
  run_.Episode(kCapacity, Ending::kTerminated);
  for (int i = 0; i < 10 * kCapacity; ++i) run_.BeginEpisode();
  ASSERT_NO_FATAL_FAILURE(ExpectEqual(buffer_, naive_));
  run_.Add(Ending::kTerminated);
  ASSERT_NO_FATAL_FAILURE(ExpectEqual(buffer_, naive_));
}

TEST_P(ReplayEdgeTest, AnUnfinishedEpisodeKeepsItsTransitionsWhole) {
  run_.Episode(3, Ending::kNone);
  run_.Episode(2, Ending::kTerminated);
  ASSERT_NO_FATAL_FAILURE(ExpectEqual(buffer_, naive_));
  EXPECT_EQ(buffer_.Transition(2).discount, kDiscount);
  EXPECT_FALSE(buffer_.Transition(3).follows_previous);
}

INSTANTIATE_TEST_SUITE_P(BothTypes, ReplayEdgeTest, testing::Bool(),
                         [](const auto& param_info) { return param_info.param ? "Bytes" : "Floats"; });

/// Observation i leads to i + 1, from `from`, in one episode.
void AddCounting(ReplayBuffer& buffer, int from, int count) {
  std::vector<float> shared = {static_cast<float>(from)};  // one and the same memory, as some games do it
  buffer.BeginEpisode(shared);
  for (int i = 0; i < count; ++i) {
    shared[0] += 1.0f;
    buffer.Add(0, shared[0], Ending::kNone, shared);
  }
}

TEST(ReplayBufferTest, NoNextObservationComesFromLongAgo) {
  // faults.md 17: at the write head, slot + 1 holds the oldest observation.
  ReplayBuffer buffer(SmallOptions(5));
  AddCounting(buffer, 0, 7);
  Rng rng(17);
  Batch batch(10'000, 1);
  buffer.Sample(rng, batch.view());
  std::map<float, int> drawn;
  for (std::size_t row = 0; row < batch.actions.size(); ++row) {
    ASSERT_EQ(batch.next_observations[row], batch.observations[row] + 1.0f) << "row " << row;
    ++drawn[batch.observations[row]];
  }
  ASSERT_EQ(drawn.size(), 5u);
  for (int observation = 2; observation <= 6; ++observation) {
    EXPECT_NEAR(drawn[static_cast<float>(observation)], 2000, 200) << "observation " << observation;
  }
}

TEST(ReplayBufferTest, OnlyWrittenTransitionsAreCountedAndSampled) {
  // faults.md 18: fresh blocks hold 0, which no observation here is.
  ReplayBuffer buffer(SmallOptions(300));
  EXPECT_EQ(buffer.size(), 0);
  AddCounting(buffer, 1, 200);
  EXPECT_EQ(buffer.size(), 200);
  EXPECT_EQ(buffer.capacity(), 300);
  Rng rng(18);
  Batch batch(10'000, 1);
  buffer.Sample(rng, batch.view());
  for (std::size_t row = 0; row < batch.actions.size(); ++row) {
    ASSERT_GE(batch.observations[row], 1.0f);
    ASSERT_LE(batch.observations[row], 200.0f);
    ASSERT_NE(batch.rewards[row], 0.0f);
    ASSERT_EQ(batch.discounts[row], kDiscount);
  }
  AddCounting(buffer, 1000, 100);
  EXPECT_EQ(buffer.size(), 300);
  // Exactly full: nothing is lost yet, and the very next one takes the place of the first.
  EXPECT_EQ(Floats(buffer.Transition(0).observation, false), std::vector<float>{1.0f});
  AddCounting(buffer, 2000, 1);
  EXPECT_EQ(buffer.size(), 300);
  EXPECT_EQ(Floats(buffer.Transition(0).observation, false), std::vector<float>{2.0f});
  EXPECT_EQ(Floats(buffer.Transition(299).observation, false), std::vector<float>{2000.0f});
}

TEST(ReplayBufferTest, KeepsNoReferenceToTheGamesMemory) {
  // faults.md 19: the same memory each step, holding a counter.
  ReplayBuffer buffer(SmallOptions(100));
  AddCounting(buffer, 0, 100);
  for (std::int64_t i = 0; i < 100; ++i) {
    const auto expected = static_cast<float>(i);
    EXPECT_EQ(Floats(buffer.Transition(i).observation, false), std::vector<float>{expected});
    EXPECT_EQ(Floats(buffer.Transition(i).next_observation, false), std::vector<float>{expected + 1.0f});
  }
}

TEST(ReplayBufferTest, TerminationCutsTheDiscountAndTruncationKeepsIt) {
  // faults.md 25, the data's part.
  ReplayBuffer buffer(SmallOptions(3));
  const std::vector<float> observation = {1.0f};
  for (const Ending ending : {Ending::kNone, Ending::kTerminated, Ending::kTruncated}) {
    buffer.BeginEpisode(observation);
    buffer.Add(static_cast<int>(ending), 1.0f, ending, observation);
  }
  Rng rng(25);
  Batch batch(100, 1);
  buffer.Sample(rng, batch.view());
  std::set<int> seen;
  for (std::size_t row = 0; row < batch.actions.size(); ++row) {
    const auto ending = static_cast<Ending>(batch.actions[row]);
    EXPECT_EQ(batch.discounts[row], ending == Ending::kTerminated ? 0.0f : kDiscount);
    seen.insert(batch.actions[row]);
  }
  EXPECT_EQ(seen.size(), 3u);
}

TEST(ReplayBufferTest, AnEndingEndsTheEpisodeAndNothingElseDoes) {
  ReplayBuffer buffer(SmallOptions(10));
  const std::vector<float> observation = {1.0f};
  EXPECT_FALSE(buffer.in_episode());
  for (const Ending ending : {Ending::kTerminated, Ending::kTruncated}) {
    buffer.BeginEpisode(observation);
    EXPECT_TRUE(buffer.in_episode());
    buffer.Add(0, 0.0f, Ending::kNone, observation);
    EXPECT_TRUE(buffer.in_episode());
    buffer.Add(0, 0.0f, ending, observation);
    EXPECT_FALSE(buffer.in_episode());
  }
}

TEST(ReplayBufferTest, EveryTransitionHeldIsEquallyLikely) {
  struct Case {
    std::int64_t capacity;
    int added;
  };
  for (const Case& c : {Case{10, 3}, Case{10, 10}, Case{10, 25}, Case{1000, 999}, Case{1000, 1777}}) {
    ReplayBuffer buffer(SmallOptions(c.capacity));
    AddCounting(buffer, 0, c.added);
    Rng rng(99);
    Batch batch(static_cast<std::size_t>(buffer.size()) * 200, 1);
    buffer.Sample(rng, batch.view());
    std::vector<double> drawn(static_cast<std::size_t>(c.added));
    for (const float observation : batch.observations) ++drawn[static_cast<std::size_t>(observation)];
    double chi_square = 0.0;
    const auto first = static_cast<std::size_t>(c.added - buffer.size());
    for (std::size_t i = 0; i < first; ++i) ASSERT_EQ(drawn[i], 0.0) << "was dropped: " << i;
    for (std::size_t i = first; i < drawn.size(); ++i) {
      chi_square += (drawn[i] - 200.0) * (drawn[i] - 200.0) / 200.0;
    }
    // Mean and standard deviation of the chi-square distribution; 4 of them on either side. Far too small a
    // value is wrong as well: that is what drawing without replacement would give.
    const auto freedom = static_cast<double>(buffer.size() - 1);
    const double margin = 4.0 * std::sqrt(2.0 * freedom);
    EXPECT_LT(chi_square, freedom + margin) << c.capacity << ", " << c.added;
    if (freedom > margin) {
      EXPECT_GT(chi_square, freedom - margin) << c.capacity << ", " << c.added;
    }
  }
}

TEST(ReplayBufferTest, EqualStreamsGiveEqualBatchesWhereverTheRingStands) {
  // What a restored buffer needs: the same content, written from slot 0, samples the same.
  ReplayBuffer turned(SmallOptions(10));
  AddCounting(turned, 0, 27);
  ReplayBuffer fresh(SmallOptions(10));
  AddCounting(fresh, 17, 10);
  Rng first(3);
  Rng second(3);
  Batch from_turned(500, 1);
  Batch from_fresh(500, 1);
  turned.Sample(first, from_turned.view());
  fresh.Sample(second, from_fresh.view());
  EXPECT_EQ(from_turned.observations, from_fresh.observations);
  EXPECT_EQ(from_turned.rewards, from_fresh.rewards);
}

TEST(ReplayBufferTest, AllByteValuesComeBackExactly) {
  ReplayBuffer buffer(SmallOptions(1, 256, true));
  std::vector<float> up(256);
  std::vector<float> down(256);
  for (std::size_t i = 0; i < 256; ++i) {
    up[i] = static_cast<float>(i);
    down[i] = static_cast<float>(255 - i);
  }
  buffer.BeginEpisode(up);
  buffer.Add(1, 2.0f, Ending::kTerminated, down);
  Rng rng(1);
  Batch batch(1, 256);
  buffer.Sample(rng, batch.view());
  EXPECT_EQ(batch.observations, up);
  EXPECT_EQ(batch.next_observations, down);
}

TEST(ReplayBufferTest, ExtremeActionsAndRewardsComeBackExactly) {
  ReplayBuffer buffer(SmallOptions(2));
  const std::vector<float> observation = {-0.0f};
  buffer.BeginEpisode(observation);
  buffer.Add(std::numeric_limits<std::int32_t>::max(), std::numeric_limits<float>::max(), Ending::kTruncated,
             observation);
  const TransitionView held = buffer.Transition(0);
  EXPECT_EQ(held.action, std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(held.reward, std::numeric_limits<float>::max());
  EXPECT_TRUE(std::signbit(Floats(held.observation, false)[0]));
}

TEST(ReplayBufferTest, AddingAndSamplingAllocateNothing) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  for (const bool bytes : {false, true}) {
    ReplayBuffer buffer(SmallOptions(1000, 50, bytes));
    Batch batch(200, 50);
    const std::vector<float> observation(50, 3.0f);
    Rng rng(5);
    const AllocationScope scope;
    for (int episode = 0; episode < 100; ++episode) {
      buffer.BeginEpisode(observation);
      for (int step = 0; step < 30; ++step) {
        buffer.Add(step, 1.0f, step == 29 ? Ending::kTerminated : Ending::kNone, observation);
      }
      buffer.Sample(rng, batch.view());
    }
    EXPECT_EQ(scope.count(), 0) << (bytes ? "bytes" : "floats");
  }
}

TEST(ReplayBufferTest, TheConstructorTakesExactlyTheBytesItNames) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  for (const bool bytes : {false, true}) {
    const ReplayBuffer::Options options = SmallOptions(1234, 37, bytes);
    const AllocationScope asking;  // what the system has to give
    ReplayBuffer::CheckFits(options);
    const std::int64_t asked = asking.count();
    const std::int64_t asked_bytes = asking.bytes();
    const AllocationScope scope;
    const ReplayBuffer buffer(options);
    const std::int64_t taken = scope.bytes() - asked_bytes;
    EXPECT_EQ(scope.count() - asked, 2) << "one block for the transitions, one for the observations";
    // The allocator's own alignment may be asked for on top.
    EXPECT_GE(taken, buffer.bytes());
    EXPECT_LE(taken, buffer.bytes() + 256);
  }
}

TEST(ReplayBufferTest, BytesNeededIsTheSumOfTheBlocks) {
  EXPECT_EQ(ReplayBuffer::BytesNeeded(SmallOptions(1'000'000, 8)), 1'000'000 * 16 + 2'000'001LL * 8 * 4);
  EXPECT_EQ(ReplayBuffer::BytesNeeded(SmallOptions(20'000, 84 * 84, true)), 20'000 * 16 + 40'001LL * 84 * 84);
  EXPECT_EQ(ReplayBuffer::BytesNeeded(SmallOptions(1, 1, true)), 16 + 3);
}

TEST(ReplayBufferTest, BytesNeededStopsAtTheLargestNumber) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(ReplayBuffer::BytesNeeded(SmallOptions(kMost, 1, true)), kMost);
  EXPECT_EQ(ReplayBuffer::BytesNeeded(SmallOptions(1, kMost)), kMost);
  EXPECT_EQ(ReplayBuffer::BytesNeeded(SmallOptions(kMost / 2, kMost / 2)), kMost);
  EXPECT_EQ(ReplayBuffer::BytesNeeded(SmallOptions(std::int64_t{1} << 40, std::int64_t{1} << 24)), kMost);
}

TEST(ReplayBufferTest, AllMemoryIsThereFromTheStart) {
  // faults.md 5 and 10: the figure printed is the rise measured, and it happens in the constructor.
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  for (const bool bytes : {false, true}) {
    const ReplayBuffer::Options options =
        bytes ? SmallOptions(5'000, 84 * 84, true) : SmallOptions(1'000'000, 8);
    ResidentBytes();
    const std::int64_t before = ResidentBytes();
    ReplayBuffer buffer(options);
    const std::int64_t made = ResidentBytes();
    const auto needed = static_cast<double>(buffer.bytes());
    EXPECT_NEAR(static_cast<double>(made - before), needed, 0.01 * needed);

    const std::vector<float> observation(static_cast<std::size_t>(options.observation_size), 1.0f);
    for (std::int64_t i = 0; i < 3 * options.capacity; ++i) {
      if (i % 10 == 0) buffer.BeginEpisode(observation);
      buffer.Add(0, 0.0f, i % 10 == 9 ? Ending::kTerminated : Ending::kNone, observation);
    }
    EXPECT_NEAR(static_cast<double>(ResidentBytes() - made), 0.0, 0.01 * needed);
  }
}

/// The message of the Error that `options` give, empty when there is none.
std::string Refusal(const ReplayBuffer::Options& options, std::optional<std::int64_t> available) {
  try {
    ReplayBuffer::CheckFits(options, available);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(ReplayBufferTest, WhatDoesNotFitIsRefusedWithBytesNeededAndAvailable) {
  const ReplayBuffer::Options options = SmallOptions(1000, 8);
  const std::int64_t needed = 1000 * 16 + 2001 * 32;
  EXPECT_EQ(Refusal(options, needed), "");
  EXPECT_EQ(Refusal(options, needed - 1),
            "replay.capacity: 1000 transitions of 8 floats need 78.2 KiB (80032 bytes), available are "
            "78.2 KiB (80031 bytes): at most 999 would fit");
  EXPECT_THAT(Refusal(options, 0), HasSubstr("available are 0 B (0 bytes): at most 0 would fit"));
  EXPECT_EQ(Refusal(options, std::nullopt), "");
}

TEST(ReplayBufferTest, TheCapacityNamedInARefusalFits) {
  for (const std::int64_t available : {100, 1000, 12'345, 1'000'000}) {
    for (const bool bytes : {false, true}) {
      const std::string message = Refusal(SmallOptions(std::int64_t{1} << 40, 5, bytes), available);
      const std::size_t at = message.find("at most ");
      ASSERT_NE(at, std::string::npos) << message;
      const std::int64_t most = std::stoll(message.substr(at + 8));
      EXPECT_EQ(Refusal(SmallOptions(most, 5, bytes), available), "") << message;
      EXPECT_NE(Refusal(SmallOptions(most + 1, 5, bytes), available), "") << message;
    }
  }
}

TEST(ReplayBufferTest, TheConstructorRefusesBeforeItTakesMemory) {
  // faults.md 10. More bytes than a 64-bit number counts, and four times what this machine has.
  std::vector<std::int64_t> capacities = {std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 62};
  if (const auto available = AvailableMemoryBytes()) capacities.push_back(*available / 80 * 4);
  for (const std::int64_t capacity : capacities) {
    const AllocationScope scope;
    try {
      const ReplayBuffer buffer(SmallOptions(capacity, 8));
      FAIL() << "accepted " << capacity;
    } catch (const Error& error) {
      EXPECT_LT(scope.bytes(), 64 * 1024) << "only the message";
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      const std::string message = error.what();
      EXPECT_THAT(message,
                  AllOf(StartsWith("replay.capacity: " + std::to_string(capacity)), HasSubstr(" bytes), ")));
      EXPECT_EQ(message.find('\n'), std::string::npos);
    }
  }
}

TEST(ReplayBufferTest, SamplingReadsOnlyThePagesOfWhatItDraws) {
  // faults.md 8: constant work a sample, no scan of the buffer. Every page of the observations that the batch
  // does not need is closed to reading meanwhile, so a scan would crash.
  constexpr std::int64_t kCapacity = 200'000;
  constexpr std::int64_t kSize = 8;
  ReplayBuffer buffer(SmallOptions(kCapacity, kSize));
  std::vector<float> observation(kSize, 1.0f);
  buffer.BeginEpisode(observation);
  for (std::int64_t i = 0; i < kCapacity; ++i) buffer.Add(0, 0.0f, Ending::kNone, observation);

  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = [](std::span<const std::byte> bytes) {
    return reinterpret_cast<std::uintptr_t>(bytes.data());
  };
  Rng rng(8);
  Rng expected = rng;
  std::set<std::uintptr_t> needed;
  for (int row = 0; row < 128; ++row) {
    const TransitionView view = buffer.Transition(expected.UniformInt(kCapacity));
    needed.insert(address(view.observation) / page_bytes);
    needed.insert((address(view.next_observation) + view.next_observation.size() - 1) / page_bytes);
  }
  const std::uintptr_t begin = address(buffer.Transition(0).observation) / page_bytes + 1;
  const std::uintptr_t end = address(buffer.Transition(kCapacity - 1).observation) / page_bytes;
  const auto protect = [&](int protection) {
    int closed = 0;
    for (std::uintptr_t page = begin; page < end; ++page) {
      if (needed.contains(page)) continue;
      EXPECT_EQ(mprotect(reinterpret_cast<void*>(page * page_bytes), page_bytes, protection), 0);
      ++closed;
    }
    return closed;
  };
  Batch batch(128, kSize);
  const int closed = protect(PROT_NONE);
  buffer.Sample(rng, batch.view());
  protect(PROT_READ | PROT_WRITE);
  EXPECT_GT(closed, 100) << "otherwise this test shows nothing";
  EXPECT_EQ(rng, expected) << "one draw a row, whatever the size";
  EXPECT_THAT(batch.observations, testing::Each(1.0f));
}

using ReplayBufferDeathTest = testing::Test;

TEST(ReplayBufferDeathTest, BrokenContractsAbort) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ReplayBuffer buffer(SmallOptions(4, 2));
  const std::vector<float> observation = {1.0f, 2.0f};
  const std::vector<float> short_observation = {1.0f};
  Rng rng(1);
  Batch batch(3, 2);
  EXPECT_DEATH(buffer.Add(0, 0.0f, Ending::kNone, observation), "check failed: in_episode_");
  EXPECT_DEATH(buffer.Sample(rng, batch.view()), "check failed: size_ > 0");
  EXPECT_DEATH(buffer.BeginEpisode(short_observation), "check failed: .*observation.* \\(1 against 2\\)");
  EXPECT_DEATH(buffer.Transition(0), "check failed: age_index < size_ \\(0 against 0\\)");
  EXPECT_DEATH(ReplayBuffer(SmallOptions(0)), "check failed: options.capacity > 0");
  EXPECT_DEATH(ReplayBuffer(SmallOptions(4, 0)), "check failed: options.observation_size > 0");

  buffer.BeginEpisode(observation);
  EXPECT_DEATH(buffer.Add(0, 0.0f, Ending::kNone, short_observation), "\\(1 against 2\\)");
  buffer.Add(0, 0.0f, Ending::kTerminated, observation);
  EXPECT_DEATH(buffer.Add(0, 0.0f, Ending::kNone, observation), "check failed: in_episode_");
  EXPECT_DEATH(buffer.Transition(1), "\\(1 against 1\\)");
  EXPECT_DEATH(buffer.Transition(-1), "check failed: age_index >= 0");
  batch.rewards.pop_back();
  EXPECT_DEATH(buffer.Sample(rng, batch.view()), "check failed: batch.rewards.size");
  Batch narrow(3, 1);
  EXPECT_DEATH(buffer.Sample(rng, narrow.view()), "check failed: batch.observations.size");
}

TEST(ReplayBufferDeathTest, AByteObservationThatIsNoByteAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ReplayBuffer buffer(SmallOptions(4, 1, true));
  for (const float value : {0.5f, -1.0f, 256.0f, 1e30f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_DEATH(buffer.BeginEpisode(std::vector<float>{value}), "whole numbers 0 .. 255") << value;
  }
  buffer.BeginEpisode(std::vector<float>{255.0f});
  EXPECT_TRUE(buffer.in_episode());
}

}  // namespace
}  // namespace metronome
