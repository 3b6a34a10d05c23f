// `metronome train --seeds`, from outside.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

constexpr char kSmoke[] = METRONOME_SOURCE_DIR "/configs/smoke.toml";

std::vector<std::vector<std::string>> ReadTable(const fs::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(ReadText(path));
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream fields(line + ",");
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

class SeedsTest : public ::testing::Test {
 protected:
  Program::Options Options(const std::vector<std::string>& arguments) const {
    return {.arguments = arguments,
            .folder = folder_.path(),
            .environment = {},
            .most_file_bytes = 0,
            .output_file = {}};
  }
  ProgramResult Run(const std::vector<std::string>& arguments) const {
    return Program(Options(arguments)).Wait();
  }
  std::string Weights(const std::string& run, const std::string& step = "4000") const {
    const std::string text = ReadText(folder_.path() / run / "checkpoints" / step / "weights.safetensors");
    EXPECT_FALSE(text.empty()) << run;
    return text;
  }
  static double BestMean(const fs::path& run) {
    double best = -1e300;
    const auto rows = ReadTable(run / "evals.csv");
    for (std::size_t i = 1; i < rows.size(); ++i) best = std::max(best, std::stod(rows[i][2]));
    return best;
  }

  TemporaryFolder folder_;
};

TEST_F(SeedsTest, EachRunIsTheOneOfItsSeedAndTheAggregateIsThatOfTheirBestEvaluations) {
  const ProgramResult result = Run({"train", "--config", kSmoke, "--seeds", "1..3", "--jobs", "2", "--run",
                                    "set", "--set", "eval.stop_at_return=1000"});
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.error, Not(HasSubstr("\x1b")));
  ASSERT_EQ(Run({"train", "--config", kSmoke, "--seed", "2", "--run", "single"}).code, 0);
  EXPECT_EQ(Weights("set/seed-2"), Weights("single"));
  EXPECT_NE(Weights("set/seed-2"), Weights("set/seed-3"));

  std::vector<double> best;
  for (const std::string seed : {"1", "2", "3"}) {
    best.push_back(BestMean(folder_.path() / "set" / ("seed-" + seed)));
    EXPECT_THAT(result.error, HasSubstr("seed " + seed + ": 4000 steps in "));
  }
  const nlohmann::json json = nlohmann::json::parse(ReadText(folder_.path() / "set" / "aggregate.json"));
  EXPECT_EQ(json["count"], 3);
  EXPECT_EQ(json["failed"], 0);
  EXPECT_EQ(json["seeds"], (nlohmann::json{1, 2, 3}));
  EXPECT_EQ(json["stop_at_return"], 1000.0);
  EXPECT_EQ(json["reached"], 0);
  EXPECT_NEAR(json["mean"], (best[0] + best[1] + best[2]) / 3.0, 1e-9);
  EXPECT_EQ(json["min"], *std::min_element(best.begin(), best.end()));
  EXPECT_EQ(json["max"], *std::max_element(best.begin(), best.end()));
  const auto table = ReadTable(folder_.path() / "set" / "seeds.csv");
  ASSERT_EQ(table.size(), 4U);
  EXPECT_THAT(table[0],
              ::testing::ElementsAre("seed", "steps", "best_mean", "best_step", "wall_s", "exit_code"));
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(table[i][0], std::to_string(i));
    EXPECT_EQ(table[i][1], "4000");
    EXPECT_EQ(std::stod(table[i][2]), best[i - 1]);
    EXPECT_EQ(table[i][5], "0");
  }
  EXPECT_THAT(ReadText(folder_.path() / "set" / "log.txt"),
              AllOf(HasSubstr("best evaluations of 3 seeds: mean "), HasSubstr("95 % interval "),
                    HasSubstr("reached by 0 of 3")));
  // There is nothing left to do, and what was said comes again.
  const ProgramResult again = Run({"train", "--resume", "set"});
  EXPECT_EQ(again.code, 0) << again.error;
  EXPECT_THAT(again.error,
              AllOf(HasSubstr("3 of them done"), HasSubstr("best evaluations of 3 seeds: mean ")));
}

TEST_F(SeedsTest, StoppedByASignalTheWholeSetGoesOnAsIfItHadNeverBeenStopped) {
  Program program(Options(
      {"train", "--config", kSmoke, "--seeds", "4,5,6", "--jobs", "2", "--run", "set", "--steps", "12000"}));
  // Two runs are under way, the third has not begun.
  const auto rows = [&](const std::string& seed) {
    return ReadTable(folder_.path() / "set" / ("seed-" + seed) / "episodes.csv").size();
  };
  while (program.Running() && (rows("4") < 2 || rows("5") < 2)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(program.Running()) << program.Wait().error;
  program.Signal(SIGTERM);
  const ProgramResult stopped = program.Wait();
  EXPECT_EQ(stopped.code, 128 + SIGTERM) << stopped.error;
  EXPECT_THAT(stopped.error, HasSubstr("metronome train --resume set goes on"));
  EXPECT_FALSE(fs::exists(folder_.path() / "set" / "aggregate.json"));
  EXPECT_FALSE(fs::exists(folder_.path() / "set" / "seed-6"));

  const ProgramResult resumed = Run({"train", "--resume", "set"});
  ASSERT_EQ(resumed.code, 0) << resumed.error;
  for (const std::string seed : {"4", "5", "6"}) {
    ASSERT_EQ(
        Run({"train", "--config", kSmoke, "--seed", seed, "--run", "single-" + seed, "--steps", "12000"})
            .code,
        0);
    EXPECT_EQ(Weights("set/seed-" + seed, "12000"), Weights("single-" + seed, "12000"));
  }
}

TEST_F(SeedsTest, ARunThatFailsIsToldAndTheOthersGoOn) {
  const ProgramResult result = Run({"train", "--config", kSmoke, "--seeds", "1..2", "--run", "set", "--set",
                                    "learner.learning_rate=1e30", "--set", "learner.max_gradient_norm=0"});
  EXPECT_EQ(result.code, 4) << result.error;
  EXPECT_THAT(result.error,
              AllOf(HasSubstr("seed 1: ended with code 4"), HasSubstr("seed 2: ended with code 4"),
                    HasSubstr("seed 1: metronome: "), HasSubstr("2 of 2 runs failed")));
  const auto table = ReadTable(folder_.path() / "set" / "seeds.csv");
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table[1][5], "4");
}

TEST_F(SeedsTest, ARunWithoutACheckpointIsSetAsideAndBegunAnew) {
  ASSERT_EQ(Run({"train", "--config", kSmoke, "--seeds", "1..2", "--run", "set"}).code, 0);
  const std::string weights = Weights("set/seed-2");
  fs::remove_all(folder_.path() / "set" / "seed-2" / "checkpoints");
  const ProgramResult result = Run({"train", "--resume", "set"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.error, HasSubstr("seed-2 holds no checkpoint: it is now set/seed-2-unfinished-1"));
  EXPECT_TRUE(fs::exists(folder_.path() / "set" / "seed-2-unfinished-1" / "episodes.csv"));
  EXPECT_EQ(Weights("set/seed-2"), weights);
}

TEST_F(SeedsTest, MoreStepsMakeAllRunsGoOn) {
  ASSERT_EQ(Run({"train", "--config", kSmoke, "--seeds", "1,2", "--run", "set"}).code, 0);
  ASSERT_EQ(Run({"train", "--resume", "set", "--steps", "5000", "--jobs", "1"}).code, 0);
  const auto table = ReadTable(folder_.path() / "set" / "seeds.csv");
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table[1][1], "5000");
  EXPECT_EQ(table[2][1], "5000");
}

TEST_F(SeedsTest, RefusesWhatDoesNotGoTogether) {
  const auto refusal = [&](const std::vector<std::string>& arguments, int code) {
    const ProgramResult result = Run(arguments);
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    return result.error;
  };
  EXPECT_THAT(refusal({"train", "--config", kSmoke, "--seeds", "3..1"}, 2), HasSubstr("3..1 goes down"));
  EXPECT_THAT(refusal({"train", "--config", kSmoke, "--seeds", "1..2", "--seed", "1"}, 2),
              HasSubstr("--seed and"));
  EXPECT_THAT(refusal({"train", "--config", kSmoke, "--jobs", "2"}, 2),
              HasSubstr("--jobs: goes with --seeds"));
  EXPECT_THAT(refusal({"train", "--config", kSmoke, "--seeds", "1..2", "--jobs", "0"}, 2),
              HasSubstr("from 1 to"));
  EXPECT_THAT(refusal({"train", "--seeds", "1..2"}, 2), HasSubstr("--config FILE is missing"));
  EXPECT_THAT(refusal({"train", "--config", kSmoke, "--quiet", "--log-level", "info"}, 2),
              HasSubstr("--quiet"));
  EXPECT_THAT(refusal({"train", "--config", kSmoke, "--log-level", "warn"}, 2),
              HasSubstr("did you mean warning?"));
  fs::create_directories(folder_.path() / "there");
  EXPECT_THAT(refusal({"train", "--config", kSmoke, "--seeds", "1..2", "--run", "there"}, 2),
              HasSubstr("exists already"));
  WriteText(folder_.path() / "there" / "seeds.json", "{}");
  EXPECT_THAT(refusal({"train", "--resume", "there"}, 3), HasSubstr("is no set of runs"));
  EXPECT_THAT(refusal({"train", "--resume", "there", "--seed", "4"}, 2), HasSubstr("goes on as it began"));
  EXPECT_FALSE(fs::exists(folder_.path() / "runs"));
}

TEST_F(SeedsTest, QuietSaysNothing) {
  const ProgramResult result = Run({"train", "--config", kSmoke, "--run", "run", "--quiet"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(ReadText(folder_.path() / "run" / "log.txt"), HasSubstr("flatness"));
  const ProgramResult debug =
      Run({"train", "--config", kSmoke, "--run", "debug", "--log-level", "debug", "--steps", "600"});
  EXPECT_THAT(debug.error, HasSubstr(": episode 2 "));
}

}  // namespace
}  // namespace metronome
