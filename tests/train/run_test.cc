#include "metronome/train/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/stop_signal.h"
#include "metronome/train/checkpoint.h"
#include "support/temporary_folder.h"
#include "train/event_reader.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

using Table = std::vector<std::vector<std::string>>;

/// The fields of a CSV file, the header first.
Table ReadTable(const fs::path& path) {
  Table table;
  std::istringstream lines(ReadFile(path));
  for (std::string line; std::getline(lines, line);) {
    table.emplace_back();
    std::istringstream fields(line + ",");
    for (std::string field; std::getline(fields, field, ',');) table.back().push_back(field);
  }
  return table;
}

/// The one event file of a run.
fs::path EventFile(const fs::path& run) {
  fs::path found;
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    if (entry.path().filename().string().find("tfevents") == std::string::npos) continue;
    EXPECT_TRUE(found.empty()) << "more than one: " << entry.path();
    found = entry.path();
  }
  return found;
}

class RunTest : public testing::Test {
 protected:
  RunTest() {
    request_.config.game.name = "cartpole";
    request_.config.game.parameters = GameParameters(FindGame("cartpole").parameters);
    request_.config.network.hidden = {16};
    request_.config.learner.batch_size = 16;
    request_.config.replay = {500, 100};
    request_.config.train.steps = 1000;
    request_.config.eval = {300, 3, {}};
    request_.config.checkpoint = {200, 2};
    request_.config.device.threads = 1;
    request_.config_text = "# the configuration\n";
    request_.folder = temporary_.path() / "run";
    request_.log_level = LogLevel::kWarning;
    StopSignal::Clear();
  }

  TemporaryFolder temporary_;
  RunRequest request_;
};

TEST_F(RunTest, LeavesTheFolderThatTheDesignPromises) {
  EXPECT_EQ(RunTraining(request_), 0);
  const fs::path& run = request_.folder;
  EXPECT_EQ(ReadFile(run / "config.toml"), request_.config_text);
  EXPECT_THAT(ReadFile(run / "log.txt"),
              testing::AllOf(testing::HasSubstr("flatness"), testing::HasSubstr("steps/s")));
  EXPECT_THAT(NumberedCheckpoints(run),
              testing::ElementsAre(run / "checkpoints" / "800", run / "checkpoints" / "1000"));
  EXPECT_EQ(ReadCheckpoint(run / "checkpoints" / "1000").state.trainer.steps, 1000);
  EXPECT_EQ(ReadCheckpoint(run / "checkpoints" / "1000").state.updates, 901);
  EXPECT_EQ(ReadCheckpoint(run / "checkpoints" / "best").state.trainer.steps % 300, 0);
  bool has_events = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    has_events = has_events || entry.path().filename().string().find("tfevents") != std::string::npos;
    EXPECT_FALSE(entry.path().filename().string().starts_with(WholeFolder::kTemporaryPrefix)) << entry.path();
  }
  EXPECT_TRUE(has_events);
}

TEST_F(RunTest, EpisodesTableHasARowForEachEpisodeAndEmptyFieldsForWhatIsNotThere) {
  RunTraining(request_);
  const Table table = ReadTable(request_.folder / "episodes.csv");
  EXPECT_THAT(table[0],
              testing::ElementsAre("step", "episode", "return", "length", "ending", "epsilon", "loss",
                                   "q_mean", "updates", "target_syncs", "step_us_p50", "step_us_p99",
                                   "step_us_max", "rss_kib", "replay_size", "wall_s"));
  ASSERT_GT(table.size(), 10u);
  std::int64_t step = 0;
  for (std::size_t i = 1; i < table.size(); ++i) {
    const std::vector<std::string>& row = table[i];
    ASSERT_EQ(row.size(), 16u) << i;
    const std::int64_t length = std::stoll(row[3]);
    step += length;
    EXPECT_EQ(std::stoll(row[0]), step) << "the lengths add up to the step";
    EXPECT_EQ(std::stoull(row[1]), i);
    EXPECT_EQ(std::stod(row[2]), static_cast<double>(length)) << "a point for each step";
    EXPECT_THAT(row[4], testing::AnyOf("terminated", "truncated"));
    // Updates begin at step 100.
    EXPECT_EQ(row[6].empty(), step < 100) << "loss at step " << step;
    EXPECT_EQ(row[7].empty(), step < 100);
    EXPECT_EQ(std::stoll(row[8]), std::max<std::int64_t>(0, step - 99));
    EXPECT_EQ(std::stoll(row[14]), std::min<std::int64_t>(step, 500));
    EXPECT_LE(std::stod(row[10]), std::stod(row[12]));
    EXPECT_GT(std::stoll(row[13]), 1000);
  }
  const Table evaluations = ReadTable(request_.folder / "evals.csv");
  EXPECT_THAT(evaluations[0],
              testing::ElementsAre("step", "episodes", "mean", "std", "min", "max", "wall_s"));
  ASSERT_EQ(evaluations.size(), 4u);
  EXPECT_EQ(evaluations[1][0], "300");
  EXPECT_EQ(evaluations[3][0], "900");
  EXPECT_EQ(evaluations[3][1], "3");
}

TEST_F(RunTest, CurvesHoldWhatTheTablesHold) {
  request_.hyperparameters = {{"learner.batch_size", 16.0}};
  RunTraining(request_);
  std::map<std::string, std::map<std::int64_t, float>> curves;
  std::map<std::string, std::map<std::int64_t, Histogram>> histograms;
  std::map<std::string, std::string> texts;
  std::vector<std::string> settings;
  for (const Event& event : ParseEventFile(ReadFile(EventFile(request_.folder)))) {
    for (const Value& value : event.values) {
      if (value.scalar) curves[value.tag][event.step] = *value.scalar;
      if (value.histogram) histograms[value.tag][event.step] = *value.histogram;
      if (value.text) texts[value.tag] = *value.text;
      if (value.plugin == "hparams") settings.push_back(value.tag);
    }
  }
  const Table table = ReadTable(request_.folder / "episodes.csv");
  EXPECT_EQ(curves["episode/return"].size(), table.size() - 1);
  for (std::size_t i = 1; i < table.size(); ++i) {
    const std::int64_t step = std::stoll(table[i][0]);
    const std::vector<std::pair<const char*, std::size_t>> columns = {{"episode/return", 2},
                                                                      {"episode/length", 3},
                                                                      {"train/epsilon", 5},
                                                                      {"train/loss", 6},
                                                                      {"train/q_mean", 7}};
    for (const auto& [tag, column] : columns) {
      ASSERT_EQ(curves[tag].contains(step), !table[i][column].empty()) << tag << " at step " << step;
      if (table[i][column].empty()) continue;
      EXPECT_EQ(curves[tag][step], static_cast<float>(std::stod(table[i][column]))) << tag << " " << step;
    }
    EXPECT_EQ(curves["train/gradient_norm"].contains(step), !table[i][6].empty());
  }
  const Table evaluations = ReadTable(request_.folder / "evals.csv");
  ASSERT_EQ(evaluations.size(), 4u);
  for (std::size_t i = 1; i < evaluations.size(); ++i) {
    const std::int64_t step = std::stoll(evaluations[i][0]);
    std::size_t column = 2;
    for (const char* tag : {"eval/mean_return", "eval/std_return", "eval/min_return", "eval/max_return"}) {
      EXPECT_EQ(curves[tag][step], static_cast<float>(std::stod(evaluations[i][column++]))) << tag << step;
    }
    // 4 inputs, 16 hidden, 2 outputs.
    EXPECT_EQ(histograms["weights/hidden.0.weight"][step].num, 64.0);
    EXPECT_EQ(histograms["weights/hidden.0.bias"][step].num, 16.0);
    EXPECT_EQ(histograms["weights/output.weight"][step].num, 32.0);
    EXPECT_EQ(histograms["weights/output.bias"][step].num, 2.0);
    // A decision for each point of return, up to those that are kept.
    const double decisions = std::stod(evaluations[i][2]) * 3.0;
    ASSERT_LT(decisions, 4096.0);
    EXPECT_NEAR(histograms["q/left"][step].num, decisions, 1e-6);
    EXPECT_NEAR(histograms["q/right"][step].num, decisions, 1e-6);
  }
  EXPECT_EQ(texts["config"], "    # the configuration\n    ");
  EXPECT_THAT(settings, testing::ElementsAre("_hparams_/experiment", "_hparams_/session_start_info",
                                             "_hparams_/session_end_info"));
  // Times of the 1,000 steps, part by part.
  for (const std::string part : {"step", "game", "act", "replay", "update"}) {
    const float median = curves["time/" + part + "_us_p50"][1000];
    EXPECT_GT(median, 0.0f) << part;
    EXPECT_LE(median, curves["time/" + part + "_us_p99"][1000]) << part;
    EXPECT_LE(curves["time/" + part + "_us_p99"][1000], curves["time/" + part + "_us_max"][1000]) << part;
  }
  EXPECT_GT(curves["time/steps_per_second"][1000], 0.0f);
  EXPECT_GT(curves["memory/resident_mib"][1000], 1.0f);
  EXPECT_EQ(curves["replay/size"][1000], 500.0f);
}

TEST_F(RunTest, EventFilesStayWithinTheStatedSize) {
  request_.config.train.steps = 40'000;
  request_.config.eval = {10'000, 3, {}};
  request_.config.checkpoint.period = 0;
  request_.config.train.update_period = 20;  // quick, and episodes stay short: many of them
  request_.config.exploration = {1.0, 1.0, 0};
  RunTraining(request_);
  const auto episodes = static_cast<double>(ReadTable(request_.folder / "episodes.csv").size() - 1);
  ASSERT_GT(episodes, 1000.0);
  const auto bytes = static_cast<double>(fs::file_size(EventFile(request_.folder)));
  // docs/reading-a-run.md: 180 bytes an episode, 520 every 1,000 steps, 140 and 620 for each weight tensor
  // and action an evaluation, 16 KB and the configuration at the start.
  const double evaluations = 4.0;
  EXPECT_LT(bytes, 180.0 * episodes + 520.0 * 40.0 + evaluations * (140.0 + 6 * 620.0) + 16000.0);
  EXPECT_GT(bytes, 150.0 * episodes) << "each episode has its points";
}

TEST_F(RunTest, WithoutTensorboardThereAreNoEventFiles) {
  request_.config.log.tensorboard = false;
  RunTraining(request_);
  EXPECT_TRUE(EventFile(request_.folder).empty());
}

TEST_F(RunTest, SameSeedGivesTheSameFilesButForTimesAndAnotherSeedOthers) {
  std::vector<Table> tables;
  std::vector<std::string> weights;
  for (const auto& [name, seed] : std::vector<std::pair<const char*, int>>{{"a", 1}, {"b", 1}, {"c", 2}}) {
    request_.folder = temporary_.path() / name;
    request_.config.train.seed = seed;
    RunTraining(request_);
    tables.push_back(ReadTable(request_.folder / "episodes.csv"));
    for (std::vector<std::string>& row : tables.back()) {
      for (const std::size_t time : {15u, 13u, 12u, 11u, 10u}) row.erase(row.begin() + time);
    }
    weights.push_back(ReadFile(request_.folder / "checkpoints" / "1000" / "weights.safetensors"));
  }
  EXPECT_EQ(tables[0], tables[1]);
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_NE(tables[0], tables[2]);
  EXPECT_NE(weights[0], weights[2]);
}

TEST_F(RunTest, EvaluatingChangesNothingInTraining) {
  std::vector<std::string> weights;
  for (const std::int64_t period : {0, 50}) {
    request_.folder = temporary_.path() / std::to_string(period);
    request_.config.eval.period = period;
    RunTraining(request_);
    const Checkpoint checkpoint = ReadCheckpoint(request_.folder / "checkpoints" / "1000");
    weights.push_back(ReadFile(request_.folder / "checkpoints" / "1000" / "weights.safetensors"));
  }
  EXPECT_EQ(weights[0], weights[1]);
}

TEST_F(RunTest, MemoryOfTheFirstTenthIsMeasuredAlthoughNoEpisodeEndsInIt) {
  request_.config.game.max_episode_steps = 0;
  request_.config.game.parameters = GameParameters(FindGame("racer").parameters);
  request_.config.game.name = "racer";
  request_.config.exploration = {0.0, 0.0, 0};
  request_.config.train.steps = 150;
  RunTraining(request_);
  EXPECT_THAT(ReadFile(request_.folder / "log.txt"), testing::Not(testing::HasSubstr("memory 0 B")));
}

TEST_F(RunTest, ExistingFolderIsRefusedAndLeftAlone) {
  fs::create_directories(request_.folder);
  WriteFileWhole(request_.folder / "mine", "text");
  try {
    RunTraining(request_);
    FAIL() << "overwritten";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_THAT(error.what(), testing::HasSubstr(request_.folder.string()));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(request_.folder), fs::directory_iterator()), 1);
}

TEST_F(RunTest, UnknownDeviceCreatesNothing) {
  request_.config.device.name = "mps";
  EXPECT_THROW(RunTraining(request_), Error);
  EXPECT_FALSE(fs::exists(request_.folder));
}

TEST_F(RunTest, StopsAtTheReturnAskedFor) {
  request_.config.eval.stop_at_return = 1.0;  // any evaluation reaches it
  EXPECT_EQ(RunTraining(request_), 0);
  EXPECT_EQ(ReadTable(request_.folder / "evals.csv").size(), 2u);
  EXPECT_EQ(ReadCheckpoint(request_.folder / "checkpoints" / "300").state.trainer.steps, 300);
}

TEST_F(RunTest, RunWithoutASingleUpdateIsNoSuccess) {
  request_.config.eval = {50, 3, 1.0};  // ends before the warm-up does
  try {
    RunTraining(request_);
    FAIL() << "called a success";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("without a single update"));
  }
}

TEST_F(RunTest, CheckpointPeriodZeroSavesOnlyAtTheEnd) {
  request_.config.checkpoint.period = 0;
  RunTraining(request_);
  EXPECT_THAT(NumberedCheckpoints(request_.folder),
              testing::ElementsAre(request_.folder / "checkpoints" / "1000"));
}

TEST_F(RunTest, DivergingRunEndsWithTheNonFiniteCodeAndTheNewestCheckpointLoads) {
  request_.config.learner.learning_rate = 1e30;
  request_.config.learner.max_gradient_norm = 0.0;
  request_.config.checkpoint.period = 50;
  try {
    RunTraining(request_);
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNonFinite);
    EXPECT_THAT(error.what(), testing::HasSubstr("step 1"));
  }
  ASSERT_FALSE(NumberedCheckpoints(request_.folder).empty());
  ReadCheckpoint(NumberedCheckpoints(request_.folder).back());
}

TEST_F(RunTest, TableRowsAreThereAlthoughTheRunFailed) {
  request_.config.learner.learning_rate = 1e30;
  request_.config.learner.max_gradient_norm = 0.0;
  EXPECT_THROW(RunTraining(request_), Error);
  EXPECT_GT(ReadTable(request_.folder / "episodes.csv").size(), 2u);
}

}  // namespace
}  // namespace metronome
