#include "metronome/train/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <span>
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
#include "train/event_reader.h"
#include "train/event_record.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

double fake_seconds = 0.0;
double FakeClock() { return fake_seconds; }

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
  struct Point {
    double wall_time;
    std::int64_t step;
    std::string tag;
    float value;
  };
  std::vector<Point> expected;
  for (const std::string& tag : tags) {
    for (const std::int64_t step : steps) {
      for (const double value : values) {
        fake_seconds += 0.125;
        writer.AddScalar(tag, step, value);
        expected.push_back({fake_seconds, step, tag, static_cast<float>(value)});
      }
    }
  }
  writer.Flush();
  const std::vector<Event> events = ParseEventFile(ReadFile(writer.path()));
  ASSERT_EQ(events.size(), 1 + expected.size());
  EXPECT_EQ(events[0].file_version, "brain.Event:2");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Event& event = events[i + 1];
    EXPECT_EQ(event.wall_time, expected[i].wall_time) << i;
    EXPECT_EQ(event.step, expected[i].step) << i;
    EXPECT_FALSE(event.file_version) << i;
    ASSERT_EQ(event.values.size(), 1u) << i;
    EXPECT_EQ(event.values[0].tag, expected[i].tag) << i;
    EXPECT_EQ(event.values[0].scalar, expected[i].value) << i;
  }
}

TEST_F(TensorboardTest, PointsOfOneStepAreOneRecordOfTheStatedSize) {
  TensorboardWriter writer(folder_.path(), FakeClock);
  const std::size_t before = ReadFile(writer.path()).size();
  const std::vector<ScalarPoint> points = {
      {"a", 1.0}, {"episode/return", -2.5}, {std::string_view("t", 1), 0.0}};
  writer.AddScalars(2'000'000, points);
  writer.Flush();
  const std::string bytes = ReadFile(writer.path());
  EXPECT_LE(bytes.size() - before, 40 + (1 + 14 + 1) + 3 * 9u);
  const std::vector<Event> events = ParseEventFile(bytes);
  ASSERT_EQ(events.size(), 2u);
  ASSERT_EQ(events[1].values.size(), 3u);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(events[1].values[i].tag, points[i].tag);
    EXPECT_EQ(events[1].values[i].scalar, static_cast<float>(points[i].value));
  }
}

TEST_F(TensorboardTest, OnePointOfSeveralThatIsNotFiniteKeepsAllOut) {
  TensorboardWriter writer(folder_.path(), FakeClock);
  const std::vector<ScalarPoint> points = {{"good", 1.0}, {"bad", std::numeric_limits<double>::infinity()}};
  EXPECT_THROW(writer.AddScalars(1, points), Error);
  writer.AddScalar("good", 2, 1.0);
  writer.Flush();
  const std::vector<Event> events = ParseEventFile(ReadFile(writer.path()));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].step, 2);
}

TEST_F(TensorboardTest, AHistogramCountsEveryValueOnceAndInItsBucket) {
  TensorboardWriter writer(folder_.path(), FakeClock);
  Rng rng(3);
  std::vector<float> values;
  for (int i = 0; i < 10'000; ++i) values.push_back(static_cast<float>(rng.Uniform(-3.0, 5.0)));
  const std::size_t before = ReadFile(writer.path()).size();
  writer.AddHistogram("weights/w", 7, values);
  writer.Flush();
  const std::string bytes = ReadFile(writer.path());
  EXPECT_LE(bytes.size() - before, 600u);
  const std::vector<Event> events = ParseEventFile(bytes);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].step, 7);
  ASSERT_EQ(events[1].values.size(), 1u);
  EXPECT_EQ(events[1].values[0].tag, "weights/w");
  ASSERT_TRUE(events[1].values[0].histogram);
  const Histogram& histogram = *events[1].values[0].histogram;
  double sum = 0.0;
  double squares = 0.0;
  for (const float value : values) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_EQ(histogram.min, static_cast<double>(*std::min_element(values.begin(), values.end())));
  EXPECT_EQ(histogram.max, static_cast<double>(*std::max_element(values.begin(), values.end())));
  EXPECT_EQ(histogram.num, 10'000.0);
  EXPECT_NEAR(histogram.sum, sum, 1e-6);
  EXPECT_NEAR(histogram.sum_squares, squares, 1e-6);
  ASSERT_EQ(histogram.limits.size(), 30u);
  ASSERT_EQ(histogram.counts.size(), 30u);
  EXPECT_EQ(histogram.limits.back(), histogram.max);
  double low = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_NEAR(histogram.limits[i],
                histogram.min + static_cast<double>(i + 1) * (histogram.max - histogram.min) / 30.0, 1e-12);
    const auto inside = std::count_if(values.begin(), values.end(), [&](float value) {
      return static_cast<double>(value) > low && static_cast<double>(value) <= histogram.limits[i];
    });
    EXPECT_EQ(histogram.counts[i], static_cast<double>(inside)) << i;
    low = histogram.limits[i];
  }
}

TEST_F(TensorboardTest, AHistogramOfEqualValuesHasOneBucket) {
  TensorboardWriter writer(folder_.path(), FakeClock);
  const std::vector<float> values(5, 0.25f);
  writer.AddHistogram("q/left", 1, values);
  writer.AddHistogram("q/right", 1, std::span(values).first(1));
  writer.Flush();
  const std::vector<Event> events = ParseEventFile(ReadFile(writer.path()));
  ASSERT_EQ(events.size(), 3u);
  const Histogram& histogram = *events[1].values.at(0).histogram;
  EXPECT_EQ(histogram.limits, std::vector<double>{0.25});
  EXPECT_EQ(histogram.counts, std::vector<double>{5.0});
  EXPECT_EQ(events[2].values.at(0).histogram->counts, std::vector<double>{1.0});
}

TEST_F(TensorboardTest, AHistogramOfWhatIsNotFiniteIsRefused) {
  TensorboardWriter writer(folder_.path(), FakeClock);
  const std::vector<float> values = {1.0f, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THROW(writer.AddHistogram("weights/w", 7, values), Error);
}

TEST_F(TensorboardTest, TextsComeBackHoweverLong) {
  TensorboardWriter writer(folder_.path(), FakeClock);
  const std::vector<std::string> texts = {"", "[game]\nname = \"cartpole\"\n", std::string(100'000, 'x')};
  for (const std::string& text : texts) writer.AddText("config", 9, text);
  writer.AddScalar("loss", 10, 1.0);
  writer.Flush();
  const std::vector<Event> events = ParseEventFile(ReadFile(writer.path()));
  ASSERT_EQ(events.size(), 5u);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(events[i + 1].values.size(), 1u);
    EXPECT_EQ(events[i + 1].values[0].tag, "config");
    EXPECT_EQ(events[i + 1].values[0].plugin, "text");
    EXPECT_EQ(events[i + 1].values[0].text, texts[i]);
  }
  EXPECT_EQ(events[4].values.at(0).scalar, 1.0f);
}

TEST_F(TensorboardTest, SettingsAreWrittenAsWorkedOutByHand) {
  fake_seconds = 2.0;
  TensorboardWriter writer(folder_.path(), FakeClock);
  const std::vector<Hyperparameter> settings = {{"d", true}, {"n", 1.5}, {"t", std::string("ab")}};
  const std::vector<std::string_view> metrics = {"eval/x"};
  writer.AddHyperparameters(settings, metrics);
  writer.AddEnd();
  writer.Flush();
  const std::vector<Event> events = ParseEventFile(ReadFile(writer.path()));
  ASSERT_EQ(events.size(), 4u);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(events[i].values.at(0).plugin, "hparams");
  EXPECT_EQ(events[1].values[0].tag, "_hparams_/experiment");
  // experiment = 2 {hparam_infos = 4 {name = 1, type = 4}, three times; metric_infos = 5 {name = 1 {tag =
  // 2}}}
  EXPECT_EQ(events[1].values[0].plugin_content, std::string("\x12\x21"
                                                            "\x22\x05\x0a\x01"
                                                            "d\x20\x02"
                                                            "\x22\x05\x0a\x01"
                                                            "n\x20\x03"
                                                            "\x22\x05\x0a\x01"
                                                            "t\x20\x01"
                                                            "\x2a\x0a\x0a\x08\x12\x06"
                                                            "eval/x"));
  EXPECT_EQ(events[2].values[0].tag, "_hparams_/session_start_info");
  // session_start_info = 3 {hparams = 1 {key = 1, value = 2 {...}}, three times; group_name = 4; start = 5}
  EXPECT_EQ(events[2].values[0].plugin_content.substr(0, 37), std::string("\x1a\x3f"
                                                                          "\x0a\x07\x0a\x01"
                                                                          "d\x12\x02\x20\x01"
                                                                          "\x0a\x0e\x0a\x01"
                                                                          "n\x12\x09\x11\0\0\0\0\0\0\xf8\x3f"
                                                                          "\x0a\x09\x0a\x01"
                                                                          "t\x12\x04\x1a\x02"
                                                                          "ab",
                                                                          2 + 9 + 16 + 11)
                                                                  .substr(0, 37));
  EXPECT_EQ(events[3].values[0].tag, "_hparams_/session_end_info");
  EXPECT_EQ(events[3].values[0].plugin_content, std::string("\x22\x0b\x08\x01\x11\0\0\0\0\0\0\0\x40", 13));
}

TEST_F(TensorboardTest, EqualSettingsAreOneGroupAndOthersAnother) {
  std::vector<std::string> groups;
  for (const double rate : {1e-3, 1e-3, 2e-3}) {
    const TemporaryFolder folder;
    TensorboardWriter writer(folder.path(), FakeClock);
    const std::vector<Hyperparameter> settings = {{"learner.learning_rate", rate}};
    writer.AddHyperparameters(settings, {});
    writer.Flush();
    groups.push_back(ParseEventFile(ReadFile(writer.path())).at(2).values.at(0).plugin_content);
  }
  EXPECT_EQ(groups[0], groups[1]);
  EXPECT_NE(groups[0], groups[2]);
}

TEST_F(TensorboardTest, ARestartForgetsWhatCameAfterTheStep) {
  TensorboardWriter writer(folder_.path(), FakeClock);
  writer.AddRestart(500);
  writer.Flush();
  const std::vector<Event> events = ParseEventFile(ReadFile(writer.path()));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(events[1].starts_session);
  EXPECT_EQ(events[1].step, 501);
}

TEST_F(TensorboardTest, WhatCameAfterACheckpointIsDropped) {
  fs::path path;
  {
    TensorboardWriter writer(folder_.path(), FakeClock);
    path = writer.path();
    writer.AddText("config", 0, "text");
    for (int step = 100; step <= 1000; step += 100) writer.AddScalar("loss", step, 0.5);
  }
  WriteFileWhole(folder_.path() / "events.out.tfevents.other", "not ours");
  const std::string whole = ReadFile(path);
  DropEventsAfter(folder_.path(), 1000);
  EXPECT_EQ(ReadFile(path), whole);
  DropEventsAfter(folder_.path(), 650);
  const std::vector<Event> events = ParseEventFile(ReadFile(path));
  ASSERT_EQ(events.size(), 2 + 6u);
  EXPECT_EQ(events.back().step, 600);
  EXPECT_EQ(whole.substr(0, ReadFile(path).size()), ReadFile(path));
  EXPECT_EQ(ReadFile(folder_.path() / "events.out.tfevents.other"), "not ours");
}

TEST_F(TensorboardTest, ACutLastRecordAndAFileThatHoldsNothingAreDropped) {
  fs::path path;
  {
    TensorboardWriter writer(folder_.path(), FakeClock);
    path = writer.path();
    writer.AddScalar("loss", 1, 0.5);
    writer.AddScalar("loss", 2, 0.5);
  }
  const std::string whole = ReadFile(path);
  const std::size_t first = ParseEventFile(whole).size();
  for (std::size_t cut = 1; cut < 40; ++cut) {
    WriteFileWhole(path, whole.substr(0, whole.size() - cut));
    DropEventsAfter(folder_.path(), 100);
    ASSERT_EQ(ParseEventFile(ReadFile(path)).size(), first - 1) << cut;
  }
  std::string changed = whole;
  changed[changed.size() - 10] = static_cast<char>(changed[changed.size() - 10] ^ 1);
  WriteFileWhole(path, changed);
  DropEventsAfter(folder_.path(), 100);
  EXPECT_EQ(ParseEventFile(ReadFile(path)).size(), first - 1);
  DropEventsAfter(folder_.path(), 0);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TensorboardTest, ManyRecordsReachTheFileWholeEvenBeforeAFlush) {
  // What a kill leaves behind, or another program sees meanwhile.
  TensorboardWriter writer(folder_.path(), FakeClock);
  for (int i = 0; i < 5000; ++i) writer.AddScalar("loss", i, 0.5);
  const std::size_t seen = ParseEventFile(ReadFile(writer.path())).size();
  EXPECT_GT(seen, 1000u);
  EXPECT_LT(seen, 5001u);
  writer.Flush();
  EXPECT_EQ(ParseEventFile(ReadFile(writer.path())).size(), 5001u);
}

TEST_F(TensorboardTest, TheFileIsNamedAsTensorboardExpects) {
  const TensorboardWriter first(folder_.path(), FakeClock);
  const TensorboardWriter second(folder_.path(), FakeClock);
  const std::string name = first.path().filename().string();
  EXPECT_THAT(name, StartsWith("events.out.tfevents.1700000000."));
  EXPECT_TRUE(name.ends_with("." + std::to_string(getpid()) + ".0")) << name;
  EXPECT_NE(first.path(), second.path());
  EXPECT_TRUE(second.path().string().ends_with(".1")) << second.path();
  EXPECT_EQ(ParseEventFile(ReadFile(first.path())).size(), 1u);
}

TEST_F(TensorboardTest, AddingAndFlushingAllocateNothing) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  TensorboardWriter writer(folder_.path());
  const AllocationScope scope;
  for (int i = 0; i < 10'000; ++i) {
    const ScalarPoint points[] = {{"episode/return", i * 0.5}, {"episode/length", 1.0 * i}};
    writer.AddScalars(i, points);
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
  EXPECT_EQ(ParseEventFile(ReadFile(writer.path())).size(), 1u);
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
  const std::vector<Event> events = ParseEventFile(ReadFile(writer.path()));
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
  const std::vector<Hyperparameter> settings = {
      {"learner.double", true}, {"learner.learning_rate", 5e-4}, {"game.name", std::string("racer")}};
  const std::vector<std::string_view> metrics = {"loss"};
  writer.AddHyperparameters(settings, metrics);
  writer.AddText("config", 0, "    [game]\n    name = \"racer\"\n");
  for (int i = 0; i < 3; ++i) {
    fake_seconds += 1.0;
    const ScalarPoint points[] = {{"episode/return", i + 0.5}, {"loss", 0.25}};
    writer.AddScalars(1000 * i, points);
    const std::vector<float> values = {-1.0f, 0.0f, 0.5f, 0.5f, 2.0f};
    writer.AddHistogram("weights/w", 1000 * i, values);
  }
  writer.AddEnd();
  writer.Flush();
  const std::string output = RunPython(R"(
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins.hparams import metadata

accumulator = EventAccumulator(".", {"scalars": 0, "histograms": 0})
accumulator.Reload()
print(accumulator.file_version, accumulator.FirstEventTimestamp())
for tag in sorted(accumulator.Tags()["scalars"]):
    print(tag, [(e.wall_time, e.step, e.value) for e in accumulator.Scalars(tag)])
for e in accumulator.Histograms("weights/w"):
    h = e.histogram_value
    print(e.step, h.min, h.max, h.num, h.sum, h.sum_squares, len(h.bucket), sum(h.bucket))

# As the program itself loads a run, each plugin's data in tensors.
multiplexer = EventMultiplexer()
multiplexer.AddRun(".", "run")
multiplexer.Reload()
print(sorted(multiplexer.GetAccumulator("run").PluginTagToContent("text")))
print([t.tensor_proto.string_val[0] for t in multiplexer.Tensors("run", "config")])
for e in multiplexer.Tensors("run", "weights/w"):
    print(e.step, [d.size for d in e.tensor_proto.tensor_shape.dim])
content = multiplexer.GetAccumulator("run").PluginTagToContent("hparams")
experiment = metadata.parse_experiment_plugin_data(content["_hparams_/experiment"])
print([(i.name, i.type) for i in experiment.hparam_infos], [m.name.tag for m in experiment.metric_infos])
start = metadata.parse_session_start_info_plugin_data(content["_hparams_/session_start_info"])
print(start.hparams["learner.double"].bool_value, start.hparams["learner.learning_rate"].number_value,
      start.hparams["game.name"].string_value, start.start_time_secs, len(start.group_name))
end = metadata.parse_session_end_info_plugin_data(content["_hparams_/session_end_info"])
print(end.status, end.end_time_secs)
)",
                                       folder_.path());
  EXPECT_THAT(output, HasSubstr("2.0 1700000000.25\n"
                                "episode/return [(1700000001.25, 0, 0.5), (1700000002.25, 1000, 1.5), "
                                "(1700000003.25, 2000, 2.5)]\n"
                                "loss [(1700000001.25, 0, 0.25), (1700000002.25, 1000, 0.25), "
                                "(1700000003.25, 2000, 0.25)]\n"
                                "0 -1.0 2.0 5.0 2.0 5.5 30 5.0\n"
                                "1000 -1.0 2.0 5.0 2.0 5.5 30 5.0\n"
                                "2000 -1.0 2.0 5.0 2.0 5.5 30 5.0\n"
                                "['config']\n"
                                "[b'    [game]\\n    name = \"racer\"\\n']\n"
                                "0 [30, 3]\n1000 [30, 3]\n2000 [30, 3]\n"
                                "[('learner.double', 2), ('learner.learning_rate', 3), ('game.name', 1)] "
                                "['loss']\n"
                                "True 0.0005 racer 1700000000.25 16\n"
                                "1 1700000003.25\n"));
}

TEST_F(TensorboardTest, TensorboardItselfForgetsWhatARunThatGoesOnHadWrittenTwice) {
  if (!PythonHas("tensorboard.backend.event_processing.event_accumulator")) {
    GTEST_SKIP() << "there is no python3 with the package tensorboard";
  }
  // It has read 100 to 500 when the run goes on from 300; the files keep 100 to 300.
  TensorboardWriter writer(folder_.path(), FakeClock);
  for (int step = 100; step <= 500; step += 100) writer.AddScalar("loss", step, 1.0);
  fake_seconds += 10.0;
  TensorboardWriter next(folder_.path(), FakeClock);
  next.AddRestart(300);
  for (int step = 400; step <= 600; step += 100) next.AddScalar("loss", step, 2.0);
  next.Flush();
  writer.Flush();
  const std::string output = RunPython(R"(
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
accumulator = EventAccumulator(".")
accumulator.Reload()
print([(e.step, e.value) for e in accumulator.Scalars("loss")])
)",
                                       folder_.path());
  EXPECT_THAT(output, HasSubstr("[(100, 1.0), (200, 1.0), (300, 1.0), (400, 2.0), (500, 2.0), (600, 2.0)]"));
}

}  // namespace
}  // namespace metronome
