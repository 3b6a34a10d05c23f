#include "metronome/train/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/stop_signal.h"
#include "metronome/train/checkpoint.h"
#include "support/temporary_folder.h"

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
    request_.quiet = true;
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
