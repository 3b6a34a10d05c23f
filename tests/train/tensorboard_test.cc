#include "metronome/train/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/rng.h"
#include "support/allocation_counter.h"
#include "support/python.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

double fake_seconds = 0.0;
double FakeClock() { return fake_seconds; }

/// CRC-32C once more, bit by bit, as polynomial division.
std::uint32_t NaiveCrc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const std::uint32_t in = (static_cast<unsigned char>(byte) >> bit) & 1u;
      const bool divides = ((crc & 1u) ^ in) != 0;
      crc >>= 1;
      if (divides) crc ^= 0x82f63b78u;
    }
  }
  return crc ^ 0xffffffffu;
}

std::uint32_t NaiveMasked(std::string_view bytes) {
  const std::uint64_t crc = NaiveCrc32c(bytes);
  return static_cast<std::uint32_t>(((crc >> 15) + (crc << 17) + 0xa282ead8u) & 0xffffffffu);
}

/// Reads what must be there, and throws where it isn't.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return bytes_.empty(); }
  std::string_view Take(std::uint64_t count) {
    if (count > bytes_.size()) throw std::runtime_error("cut short");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  template <typename Number>
  Number Fixed() {
    Number value;
    std::memcpy(&value, Take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const auto digit = static_cast<unsigned char>(Take(1)[0]);
      value |= static_cast<std::uint64_t>(digit & 0x7f) << shift;
      if ((digit & 0x80) == 0) return value;
    }
    throw std::runtime_error("a number without an end");
  }
  std::string_view Part() { return Take(Varint()); }

 private:
  std::string_view bytes_;
};

struct Scalar {
  std::string tag;
  float value = 0.0f;
};

struct Event {
  double wall_time = 0.0;
  std::int64_t step = 0;
  std::optional<std::string> file_version;
  std::optional<Scalar> scalar;
};

Scalar ParseValue(std::string_view bytes) {
  Scalar scalar;
  Reader reader(bytes);
  while (!reader.done()) {
    switch (reader.Varint()) {
      case (1 << 3) | 2:
        scalar.tag = reader.Part();
        break;
      case (2 << 3) | 5:
        scalar.value = reader.Fixed<float>();
        break;
      default:
        throw std::runtime_error("unknown field in a value");
    }
  }
  return scalar;
}

Event ParseEvent(std::string_view bytes) {
  Event event;
  Reader reader(bytes);
  while (!reader.done()) {
    switch (reader.Varint()) {
      case (1 << 3) | 1:
        event.wall_time = reader.Fixed<double>();
        break;
      case (2 << 3) | 0:
        event.step = static_cast<std::int64_t>(reader.Varint());
        break;
      case (3 << 3) | 2:
        event.file_version = reader.Part();
        break;
      case (5 << 3) | 2: {
        Reader summary(reader.Part());
        if (summary.Varint() != ((1 << 3) | 2)) throw std::runtime_error("unknown field in a summary");
        event.scalar = ParseValue(summary.Part());
        if (!summary.done()) throw std::runtime_error("more than one value");
        break;
      }
      default:
        throw std::runtime_error("unknown field in an event");
    }
  }
  return event;
}

/// Every record of a file, each checksum checked.
std::vector<Event> ParseFile(std::string_view bytes) {
  std::vector<Event> events;
  Reader reader(bytes);
  while (!reader.done()) {
    const std::string_view length = reader.Take(8);
    if (reader.Fixed<std::uint32_t>() != NaiveMasked(length)) throw std::runtime_error("length's checksum");
    std::uint64_t size = 0;
    std::memcpy(&size, length.data(), 8);
    const std::string_view payload = reader.Take(size);
    if (reader.Fixed<std::uint32_t>() != NaiveMasked(payload)) throw std::runtime_error("payload's checksum");
    events.push_back(ParseEvent(payload));
  }
  return events;
}

class TensorboardTest : public testing::Test {
 protected:
  TensorboardTest() { fake_seconds = 1'700'000'000.25; }

  TemporaryFolder folder_;
};

TEST(Crc32cTest, GivesThePublishedValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
  // RFC 3720, B.4.
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string up(32, '\0');
  for (std::size_t i = 0; i < 32; ++i) up[i] = static_cast<char>(i);
  EXPECT_EQ(Crc32c(up), 0x46dd794eu);
  EXPECT_EQ(Crc32c(std::string(up.rbegin(), up.rend())), 0x113fdb5cu);
}

TEST(Crc32cTest, IsThatOfTheNaiveDivision) {
  Rng rng(1);
  std::string bytes;
  for (int i = 0; i < 500; ++i) {
    bytes += static_cast<char>(rng.UniformInt(256));
    ASSERT_EQ(Crc32c(bytes), NaiveCrc32c(bytes)) << bytes.size();
    ASSERT_EQ(MaskedCrc32c(bytes), NaiveMasked(bytes)) << bytes.size();
  }
}

TEST(Crc32cTest, IsMaskedAsTheFormatSays) {
  // 0xe3069283 turned right by 15 bits is 0x2507c60d; and 0xa282ead8 added.
  EXPECT_EQ(MaskedCrc32c("123456789"), 0x2507c60du + 0xa282ead8u);
}

TEST_F(TensorboardTest, BeginsWithTheVersion) {
  const TensorboardWriter writer(folder_.path(), FakeClock);
  // Worked out by hand: 24 bytes of Event, wall_time (key 9) and file_version (key 0x1a, 13 bytes).
  double seconds = 1'700'000'000.25;
  std::string event = "\x09";
  event.append(reinterpret_cast<const char*>(&seconds), 8);
  event += "\x1a\x0d";
  event += "brain.Event:2";
  const std::string bytes = ReadFile(writer.path());
  ASSERT_EQ(bytes.size(), 8 + 4 + 24 + 4u);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(12, 24), event);
}

TEST_F(TensorboardTest, WritesAScalarAsWorkedOutByHand) {
  TensorboardWriter writer(folder_.path(), FakeClock);
  fake_seconds = 2.0;
  writer.AddScalar("ab", 300, 1.5);
  writer.Flush();
  const std::string expected(
      "\x09\0\0\0\0\0\0\0\x40"  // wall_time 2.0
      "\x10\xac\x02"            // step 300
      "\x2a\x0b"                // summary, 11 bytes
      "\x0a\x09"                // value, 9 bytes
      "\x0a\x02"                // tag, 2 bytes
      "ab"
      "\x15\0\0\xc0\x3f",  // simple_value 1.5
      9 + 3 + 2 + 2 + 2 + 2 + 5);
  EXPECT_EQ(ReadFile(writer.path()).substr(40 + 12, expected.size()), expected);
}

TEST_F(TensorboardTest, EveryRecordComesBack) {
  TensorboardWriter writer(folder_.path(), FakeClock);
  const std::vector<std::string> tags = {"loss", "episode/return", std::string(200, 't'), "\xc3\xa9"};
  const std::vector<std::int64_t> steps = {
      0, 1, 127, 128, 16'383, 16'384, 1'000'000'000'000, std::numeric_limits<std::int64_t>::max(), -1};
  const std::vector<double> values = {0.0, -1.5, 3.0e38, 1e-45, 1.0 / 3.0, -0.0};
  std::vector<Event> expected = {{fake_seconds, 0, "brain.Event:2", {}}};
  for (const std::string& tag : tags) {
    for (const std::int64_t step : steps) {
      for (const double value : values) {
        fake_seconds += 0.125;
        writer.AddScalar(tag, step, value);
        expected.push_back({fake_seconds, step, {}, Scalar{tag, static_cast<float>(value)}});
      }
    }
  }
  writer.Flush();
  const std::vector<Event> events = ParseFile(ReadFile(writer.path()));
  ASSERT_EQ(events.size(), expected.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].wall_time, expected[i].wall_time) << i;
    EXPECT_EQ(events[i].step, expected[i].step) << i;
    EXPECT_EQ(events[i].file_version, expected[i].file_version) << i;
    ASSERT_EQ(events[i].scalar.has_value(), expected[i].scalar.has_value()) << i;
    if (!events[i].scalar) continue;
    EXPECT_EQ(events[i].scalar->tag, expected[i].scalar->tag) << i;
    EXPECT_EQ(events[i].scalar->value, expected[i].scalar->value) << i;
  }
}

TEST_F(TensorboardTest, ManyRecordsReachTheFileWholeEvenBeforeAFlush) {
  // What a kill leaves behind, or another program sees meanwhile.
  TensorboardWriter writer(folder_.path(), FakeClock);
  for (int i = 0; i < 5000; ++i) writer.AddScalar("loss", i, 0.5);
  const std::size_t seen = ParseFile(ReadFile(writer.path())).size();
  EXPECT_GT(seen, 1000u);
  EXPECT_LT(seen, 5001u);
  writer.Flush();
  EXPECT_EQ(ParseFile(ReadFile(writer.path())).size(), 5001u);
}

TEST_F(TensorboardTest, TheFileIsNamedAsTensorboardExpects) {
  const TensorboardWriter first(folder_.path(), FakeClock);
  const TensorboardWriter second(folder_.path(), FakeClock);
  const std::string name = first.path().filename().string();
  EXPECT_THAT(name, StartsWith("events.out.tfevents.1700000000."));
  EXPECT_TRUE(name.ends_with("." + std::to_string(getpid()) + ".0")) << name;
  EXPECT_NE(first.path(), second.path());
  EXPECT_TRUE(second.path().string().ends_with(".1")) << second.path();
  EXPECT_EQ(ParseFile(ReadFile(first.path())).size(), 1u);
}

TEST_F(TensorboardTest, AddingAndFlushingAllocateNothing) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  TensorboardWriter writer(folder_.path());
  const AllocationScope scope;
  for (int i = 0; i < 10'000; ++i) {
    writer.AddScalar("episode/return", i, i * 0.5);
    if (i % 100 == 0) writer.Flush();
  }
  writer.Flush();
  EXPECT_EQ(scope.count(), 0);
}

TEST_F(TensorboardTest, WhatIsNotFiniteIsRefusedByNameAndNotWritten) {
  TensorboardWriter writer(folder_.path(), FakeClock);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 1e39, -1e300}) {
    try {
      writer.AddScalar("loss", 5000, value);
      ADD_FAILURE() << "accepted " << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kNonFinite);
      EXPECT_THAT(error.what(),
                  AllOf(StartsWith(writer.path().string()), HasSubstr("loss at step 5000 is ")));
    }
  }
  writer.Flush();
  EXPECT_EQ(ParseFile(ReadFile(writer.path())).size(), 1u);
}

TEST_F(TensorboardTest, AFolderThatIsMissingIsNamed) {
  try {
    const TensorboardWriter writer(folder_.path() / "none", FakeClock);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kInputOutput);
    EXPECT_THAT(error.what(), StartsWith((folder_.path() / "none").string()));
  }
}

TEST_F(TensorboardTest, TheWallClockIsInSecondsSince1970) {
  const double before = WallSeconds();
  EXPECT_GT(before, 1.6e9);
  EXPECT_LT(before, 1e11);
  const TensorboardWriter writer(folder_.path());
  const std::vector<Event> events = ParseFile(ReadFile(writer.path()));
  EXPECT_GE(events.at(0).wall_time, before - 60.0);
}

using TensorboardDeathTest = TensorboardTest;

TEST_F(TensorboardDeathTest, ATagOfTheWrongLengthAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TensorboardWriter writer(folder_.path(), FakeClock);
  EXPECT_DEATH(writer.AddScalar("", 1, 1.0), "check failed: tag.size");
  EXPECT_DEATH(writer.AddScalar(std::string(201, 't'), 1, 1.0), "check failed: tag.size");
}

TEST_F(TensorboardTest, TensorboardItselfReadsIt) {
  if (!PythonHas("tensorboard.backend.event_processing.event_accumulator")) {
    GTEST_SKIP() << "there is no python3 with the package tensorboard";
  }
  TensorboardWriter writer(folder_.path(), FakeClock);
  for (int i = 0; i < 3; ++i) {
    fake_seconds += 1.0;
    writer.AddScalar("episode/return", 1000 * i, i + 0.5);
    writer.AddScalar("loss", 1000 * i, 0.25);
  }
  writer.Flush();
  const std::string output = RunPython(R"(
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
accumulator = EventAccumulator(".")
accumulator.Reload()
print(accumulator.file_version, accumulator.FirstEventTimestamp())
for tag in sorted(accumulator.Tags()["scalars"]):
    print(tag, [(e.wall_time, e.step, e.value) for e in accumulator.Scalars(tag)])
)",
                                       folder_.path());
  EXPECT_THAT(output, HasSubstr("2.0 1700000000.25\n"
                                "episode/return [(1700000001.25, 0, 0.5), (1700000002.25, 1000, 1.5), "
                                "(1700000003.25, 2000, 2.5)]\n"
                                "loss [(1700000001.25, 0, 0.25), (1700000002.25, 1000, 0.25), "
                                "(1700000003.25, 2000, 0.25)]\n"));
}

}  // namespace
}  // namespace metronome
