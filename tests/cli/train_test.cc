// Whole runs from outside: what they leave behind, how they end, and how their checkpoints are read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#ifdef __linux__
#include <sys/mount.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "support/python.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

namespace fs = std::filesystem;

constexpr char kSmoke[] = METRONOME_SOURCE_DIR "/configs/smoke.toml";
constexpr char kEpisodesHeader[] =
    "step,episode,return,length,ending,epsilon,loss,q_mean,updates,target_syncs,step_us_p50,step_us_p99,step_"
    "us_max,"
    "rss_kib,replay_size,wall_s";
constexpr char kEvalsHeader[] = "step,episodes,mean,std,min,max,wall_s";

/// Columns of a row; the empty ones too.
std::vector<std::string> Columns(const std::string& row) {
  std::vector<std::string> columns(1);
  for (const char character : row) {
    if (character == ',') {
      columns.emplace_back();
    } else {
      columns.back() += character;
    }
  }
  return columns;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// episodes.csv without what is measured.
std::string RowsButTimes(const fs::path& run) {
  std::string text;
  for (const std::string& row : Lines(ReadText(run / "episodes.csv"))) {
    const std::vector<std::string> columns = Columns(row);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const bool is_measured = (i >= 10 && i <= 13) || i == 15;
      text += is_measured ? "," : columns[i] + ",";
    }
    text += "\n";
  }
  return text;
}

std::string Weights(const fs::path& run) {
  return ReadText(run / "checkpoints" / "4000" / "weights.safetensors");
}

class TrainTest : public ::testing::Test {
 protected:
  Program::Options Options(const std::vector<std::string>& arguments) const {
    Program::Options options;
    options.arguments = arguments;
    options.folder = folder_.path();
    // No screen and no way to get one: training must not ask.
    options.environment = {"DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER=none-such"};
    return options;
  }

  ProgramResult Run(const std::vector<std::string>& arguments) const {
    return Program(Options(arguments)).Wait();
  }

  /// A run of smoke.toml into `name`, which must end well.
  fs::path Train(const std::string& name, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"train", "--config", kSmoke, "--run", name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = Run(arguments);
    EXPECT_EQ(result.code, 0) << result.error;
    return folder_.path() / name;
  }

  /// The line with which `arguments` are refused.
  std::string Refusal(const std::vector<std::string>& arguments, int code) const {
    const ProgramResult result = Run(arguments);
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    EXPECT_THAT(result.error, StartsWith("metronome: "));
    return result.error;
  }

  /// Waits for something that a run in the background does; the test's own time limit ends a wait in vain.
  static void WaitFor(const std::function<bool()>& happened) {
    while (!happened()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  /// A run that goes on until it is told otherwise, past its first updates.
  void StartEndlessRun(const std::string& name) {
    Program::Options options = Options({"train", "--config", kSmoke, "--run", name, "--steps", "1000000000"});
    program_ = std::make_unique<Program>(options);
    const fs::path rows = folder_.path() / name / "episodes.csv";
    WaitFor([&] { return !program_->Running() || Lines(ReadText(rows)).size() > 200; });
    ASSERT_TRUE(program_->Running()) << program_->Wait().error;
  }

  /// Names of the numbered checkpoints, in order.
  static std::vector<std::int64_t> Numbered(const fs::path& run) {
    std::vector<std::int64_t> steps;
    for (const auto& entry : fs::directory_iterator(run / "checkpoints")) {
      const std::string name = entry.path().filename().string();
      if (name != "best" && !name.starts_with(".tmp-")) {
        EXPECT_EQ(name.find_first_not_of("0123456789"), std::string::npos) << name;
        steps.push_back(std::stoll(name));
      }
    }
    std::sort(steps.begin(), steps.end());
    return steps;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Program> program_;
};

TEST_F(TrainTest, StepsASecondWhileLearningCountTheStepsBetweenUpdates) {
  // Of eight steps one has an update, which takes nearly all of the time: eight steps pass in the time of one
  // with an update, by the median. On a machine with something else to do the mean is longer, but not five
  // times.
  const ProgramResult result = Run(
      {"train", "--config", kSmoke, "--set", "train.update_period=8", "--set", "network.hidden=[256, 256]"});
  ASSERT_EQ(result.code, 0) << result.error;
  const auto number_after = [&](const std::string& text) {
    const std::size_t found = result.error.find(text);
    EXPECT_NE(found, std::string::npos) << text;
    return std::stod(result.error.substr(found + text.size()));
  };
  const double per_second = number_after("while collecting, ");
  const double update_step_us = number_after("median step with update ");
  EXPECT_GT(per_second, 1.6 * 1e6 / update_step_us);
  // The flatness line's step is one with its share of the update, not one without.
  EXPECT_GT(number_after("flatness: median step "), update_step_us / 16.0);
}

TEST_F(TrainTest, SmokeRunEndsWithSuccessAndLeavesTheDocumentedFolder) {
  const ProgramResult result = Run({"train", "--config", kSmoke});
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.error, HasSubstr("run folder runs/cartpole-1\n"));
  EXPECT_THAT(result.error, HasSubstr("4000 steps, "));
  EXPECT_THAT(result.error, HasSubstr("best evaluation: mean return "));
  EXPECT_THAT(result.error, HasSubstr("steps/s: "));
  EXPECT_THAT(result.error, HasSubstr("flatness: "));
  EXPECT_THAT(result.error, Not(HasSubstr("\x1b")));  // standard error is no terminal here
  EXPECT_THAT(result.error, Not(HasSubstr("\r")));

  const fs::path run = folder_.path() / "runs" / "cartpole-1";
  for (const std::string name : {"config.toml", "log.txt", "episodes.csv", "evals.csv", "checkpoints/best"}) {
    EXPECT_TRUE(fs::exists(run / name)) << name;
  }
  EXPECT_THAT(Numbered(run), ElementsAre(3000, 4000));  // checkpoint.keep = 2
  EXPECT_THAT(ReadText(run / "log.txt"), HasSubstr("flatness: "));
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    EXPECT_THAT(entry.path().filename().string(), Not(StartsWith(".tmp-")));
  }
  // The written configuration is complete: fed back in, it says the same.
  const ProgramResult config = Run({"config", "--config", (run / "config.toml").string()});
  EXPECT_EQ(config.code, 0) << config.error;
  EXPECT_THAT(config.output, HasSubstr("\nhidden = [32, 32]\n"));
  EXPECT_THAT(config.output, Not(HasSubstr("From: default\nbatch_size")));
}

TEST_F(TrainTest, TakesTheFirstFreeFolderAndNeverOverwritesOne) {
  EXPECT_THAT(Run({"train", "--config", kSmoke}).error, HasSubstr("run folder runs/cartpole-1\n"));
  fs::create_directories(folder_.path() / "runs" / "cartpole-2");
  EXPECT_THAT(Run({"train", "--config", kSmoke}).error, HasSubstr("run folder runs/cartpole-3\n"));
  EXPECT_THAT(Refusal({"train", "--config", kSmoke, "--run", "runs/cartpole-1"}, 2),
              HasSubstr("runs/cartpole-1 exists already"));
}

TEST_F(TrainTest, ListsEveryEpisodeOnceWithHonestColumns) {
  const fs::path run = Train("run");
  const std::vector<std::string> rows = Lines(ReadText(run / "episodes.csv"));
  ASSERT_GT(rows.size(), 20U);
  EXPECT_EQ(rows.front(), kEpisodesHeader);
  EXPECT_EQ(Lines(ReadText(run / "evals.csv")).front(), kEvalsHeader);
  EXPECT_EQ(Lines(ReadText(run / "evals.csv")).size(), 5U);  // every 1000 of 4000 steps
  std::int64_t step = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i]);
    const std::vector<std::string> columns = Columns(rows[i]);
    ASSERT_EQ(columns.size(), 16U);
    const std::int64_t length = std::stoll(columns[3]);
    step += length;
    EXPECT_EQ(std::stoll(columns[0]), step);
    EXPECT_EQ(std::stoll(columns[1]), static_cast<std::int64_t>(i));
    EXPECT_EQ(std::stod(columns[2]), static_cast<double>(length));  // a point a step
    EXPECT_THAT(columns[4], ::testing::AnyOf("terminated", "truncated"));
    EXPECT_TRUE(length == 200 || columns[4] == "terminated");
    // Linear from 1 to 0.05 over 2000 steps; the value is that of the episode's last step, counted from 0.
    const double epsilon = std::max(0.05, 1.0 - 0.95 * static_cast<double>(step - 1) / 2000.0);
    EXPECT_NEAR(std::stod(columns[5]), epsilon, 1e-9);
    // An update at every step from the 500th on; no loss before.
    const std::int64_t updates = std::max<std::int64_t>(0, step - 499);
    EXPECT_EQ(std::stoll(columns[8]), updates);
    EXPECT_EQ(columns[6].empty(), updates == 0);
    EXPECT_EQ(columns[7].empty(), updates == 0);
    EXPECT_EQ(std::stoll(columns[9]), updates / 200);
    EXPECT_EQ(std::stoll(columns[14]), std::min<std::int64_t>(step, 2000));
    EXPECT_THAT(rows[i], Not(HasSubstr("nan")));
  }
  EXPECT_LE(step, 4000);
}

TEST_F(TrainTest, EqualSeedsGiveEqualRunsAndAnotherSeedAnother) {
  const fs::path first = Train("first");
  const fs::path second = Train("second");
  const fs::path other = Train("other", {"--seed", "2"});
  EXPECT_EQ(RowsButTimes(second), RowsButTimes(first));
  EXPECT_EQ(Weights(second), Weights(first));
  EXPECT_GT(Weights(first).size(), 1282U * 4 * sizeof(float));
  EXPECT_NE(RowsButTimes(other), RowsButTimes(first));
  EXPECT_NE(Weights(other), Weights(first));
}

TEST_F(TrainTest, StopsAtASignalWithACheckpointOfItsLastStep) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string name = "run-" + std::to_string(signal);
    StartEndlessRun(name);
    program_->Signal(signal);
    const ProgramResult result = program_->Wait();
    EXPECT_EQ(result.code, 128 + signal) << result.error;
    EXPECT_THAT(result.error, HasSubstr("stopped by signal " + std::to_string(signal)));
    const std::int64_t newest = Numbered(folder_.path() / name).back();
    EXPECT_THAT(result.error, HasSubstr(std::to_string(newest) + " steps, "));
    const ProgramResult eval =
        Run({"eval", name + "/checkpoints/" + std::to_string(newest), "--episodes", "1"});
    EXPECT_EQ(eval.code, 0) << eval.error;
    EXPECT_THAT(eval.output, HasSubstr("(step " + std::to_string(newest) + ")"));
  }
}

TEST_F(TrainTest, LosesNoEarlierRowAndNoCheckpointWhenItIsKilled) {
  StartEndlessRun("run");
  const fs::path run = folder_.path() / "run";
  WaitFor([&] { return !Numbered(run).empty(); });
  const std::size_t rows_before = Lines(ReadText(run / "episodes.csv")).size();
  program_->Signal(SIGKILL);
  EXPECT_EQ(program_->Wait().code, 1000 + SIGKILL);
  const std::vector<std::string> rows = Lines(ReadText(run / "episodes.csv"));
  EXPECT_GE(rows.size(), rows_before);
  for (std::size_t i = 1; i + 1 < rows.size(); ++i) {
    EXPECT_EQ(Columns(rows[i]).size(), 16U) << rows[i];  // at most the last one is cut
  }
  const ProgramResult eval =
      Run({"eval", "run/checkpoints/" + std::to_string(Numbered(run).back()), "--episodes", "1"});
  EXPECT_EQ(eval.code, 0) << eval.error;
}

TEST_F(TrainTest, EndsWhenAnEvaluationReachesTheReturnAskedFor) {
  const fs::path run = Train("run", {"--set", "eval.stop_at_return=1"});
  EXPECT_THAT(Numbered(run), ElementsAre(1000));
  EXPECT_THAT(ReadText(run / "log.txt"), HasSubstr("eval.stop_at_return reached"));
}

TEST_F(TrainTest, StopsAtTheFirstLossThatIsNotFiniteAndSavesNoneOfIt) {
  const ProgramResult result =
      Run({"train", "--config", kSmoke, "--run", "run", "--set", "learner.learning_rate=1e30"});
  EXPECT_EQ(result.code, 4) << result.error;
  const std::string last_line = Lines(result.error).back();
  EXPECT_THAT(last_line, AllOf(StartsWith("metronome: "), HasSubstr("step 5")));  // the first updates
  for (const auto& entry : fs::directory_iterator(folder_.path() / "run" / "checkpoints")) {
    EXPECT_EQ(Run({"eval", entry.path().string(), "--episodes", "1"}).code, 0) << entry.path();
  }
}

TEST_F(TrainTest, SaysWhereItCouldNotWrite) {
  WriteText(folder_.path() / "file", "");
  EXPECT_THAT(Refusal({"train", "--config", kSmoke, "--run", "file/run"}, 1), HasSubstr("file"));
  Program::Options options = Options({"train", "--config", kSmoke, "--run", "run"});
  options.most_file_bytes = 8192;  // as on a disk that is full: less than a checkpoint's weights
  const ProgramResult result = Program(options).Wait();
  EXPECT_EQ(result.code, 1) << result.error;
  EXPECT_THAT(Lines(result.error).back(), AllOf(StartsWith("metronome: "), HasSubstr("run")));
  EXPECT_THAT(Numbered(folder_.path() / "run"), ElementsAre());
}

TEST_F(TrainTest, FolderThatVanishesEndsTheRunAndItsCheckpointsCanBeGoneOnFrom) {
  StartEndlessRun("run");
  const fs::path run = folder_.path() / "run";
  WaitFor([&] { return !program_->Running() || !Numbered(run).empty(); });
  fs::rename(run, folder_.path() / "moved");
  const ProgramResult result = program_->Wait();
  EXPECT_EQ(result.code, 1) << result.error;
  EXPECT_THAT(Lines(result.error).back(),
              AllOf(StartsWith("metronome: run/"), HasSubstr("No such file or directory")));
  EXPECT_FALSE(fs::exists(run)) << "no leftover";
  const std::string steps = std::to_string(Numbered(folder_.path() / "moved").back() + 100);
  EXPECT_EQ(Run({"train", "--resume", "moved", "--steps", steps}).code, 0);
}

TEST_F(TrainTest, FullDiskIsToldAndTheRunGoesOnOnceThereIsRoom) {
#ifdef __linux__
  const fs::path disk = folder_.path() / "disk";
  fs::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "may not mount a small file system here: " << std::strerror(errno);
  }
  struct Unmount {
    fs::path disk;
    ~Unmount() { umount2(disk.c_str(), MNT_DETACH); }
  } unmount{disk};
  const fs::path whole = Train("whole");
  // The disk need is told beforehand, and refused; here the room goes while the run is on its way.
  Program::Options options = Options({"train", "--config", kSmoke, "--run", "disk/run"});
  program_ = std::make_unique<Program>(options);
  const fs::path run = disk / "run";
  WaitFor(
      [&] { return !program_->Running() || (fs::exists(run / "checkpoints") && !Numbered(run).empty()); });
  std::ofstream filler(disk / "filler", std::ios::binary);
  for (int i = 0; i < 4096 && filler.flush(); ++i) filler << std::string(1024, 'x');
  filler.close();
  const ProgramResult result = program_->Wait();
  if (result.code == 0) GTEST_SKIP() << "the run ended before the disk was full";
  EXPECT_EQ(result.code, 1) << result.error;
  EXPECT_THAT(Lines(result.error).back(),
              AllOf(StartsWith("metronome: disk/run/"), HasSubstr("No space left on device")));
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    EXPECT_THAT(entry.path().filename().string(), Not(StartsWith(".tmp-")));
  }
  fs::remove(disk / "filler");
  const ProgramResult resumed = Run({"train", "--resume", "disk/run"});
  EXPECT_EQ(resumed.code, 0) << resumed.error;
  EXPECT_EQ(RowsButTimes(run), RowsButTimes(whole));
  EXPECT_EQ(Weights(run), Weights(whole));
#else
  GTEST_SKIP() << "mounts no small file system on this system";
#endif
}

TEST_F(TrainTest, FolderThatIsReadOnlyIsRefusedInOneLine) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::create_directory(folder_.path() / "closed");
  fs::permissions(folder_.path() / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(Refusal({"train", "--config", kSmoke, "--run", "closed/run"}, 1),
              AllOf(HasSubstr("closed/run"), HasSubstr("Permission denied")));
}

TEST_F(TrainTest, EvalPlaysTheBestCheckpointOfARunAndAnyOneOfThem) {
  const fs::path run = Train("run");
  double best = -1.0;
  std::string best_step;
  for (const std::string& row : Lines(ReadText(run / "evals.csv"))) {
    const std::vector<std::string> columns = Columns(row);
    if (columns[0] != "step" && std::stod(columns[2]) > best) {
      best = std::stod(columns[2]);
      best_step = columns[0];
    }
  }
  const ProgramResult of_run = Run({"eval", "run", "--episodes", "3"});
  EXPECT_EQ(of_run.code, 0) << of_run.error;
  EXPECT_THAT(of_run.output,
              StartsWith("cartpole, greedy policy of run/checkpoints/best (step " + best_step + ")"));
  EXPECT_THAT(of_run.output, HasSubstr("\n3 episodes: mean "));
  EXPECT_EQ(Run({"eval", "run", "--episodes", "3"}).output, of_run.output);
  EXPECT_THAT(Run({"eval", "run/checkpoints/4000"}).output, HasSubstr("(step 4000)"));
  fs::remove_all(run / "checkpoints" / "best");
  EXPECT_THAT(Run({"eval", "run"}).output, HasSubstr("(step 4000)"));  // else the newest

  const nlohmann::json json = nlohmann::json::parse(Run({"eval", "run", "--json", "--epsilon", "1"}).output);
  EXPECT_EQ(json["step"], 4000);
  EXPECT_EQ(json["epsilon"], 1.0);
  EXPECT_EQ(json["episodes"].size(), 20U);
}

TEST_F(TrainTest, QPrintsTheQValuesOfEachObservationAsTheScriptComputesThem) {
  Train("run");
  WriteText(folder_.path() / "observation.txt", "-0.1\n0.5 0.02,\n-0.3\n");
  const ProgramResult result = Run({"q", "run", "--observation", "0.1, 0, -0.02, 0.3", "--observation",
                                    "@observation.txt", "--observation", "-1,0,0,0", "--json"});
  ASSERT_EQ(result.code, 0) << result.error;
  const nlohmann::json json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["game"], "cartpole");
  EXPECT_EQ(json["checkpoint"], "run/checkpoints/best");
  EXPECT_EQ(json["actions"], (nlohmann::json{"left", "right"}));
  ASSERT_EQ(json["q_values"].size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<double> q = json["q_values"][i];
    ASSERT_EQ(q.size(), 2U);
    EXPECT_EQ(json["greedy_actions"][i], q[1] > q[0] ? 1 : 0);
  }
  const ProgramResult text = Run({"q", "run", "--observation", "0.1 0 -0.02 0.3"});
  EXPECT_EQ(text.code, 0) << text.error;
  const bool left = json["greedy_actions"][0] == 0;
  EXPECT_THAT(text.output,
              AllOf(HasSubstr(left ? "* left " : "  left "), HasSubstr(left ? "  right " : "* right ")));

  if (!PythonHas("safetensors.numpy")) {
    GTEST_SKIP() << "the script is not asked: there is no python3 with the packages safetensors and numpy";
  }
  const std::string output = RunPython(R"(
import json, runpy
script = runpy.run_path(")" METRONOME_SOURCE_DIR R"(/scripts/q_values.py")
path = "run/checkpoints/best/weights.safetensors"
_, values = script["q_values"](path, [[0.1, 0, -0.02, 0.3], [-0.1, 0.5, 0.02, -0.3], [-1, 0, 0, 0]])
print(json.dumps(values.tolist()))
)",
                                       folder_.path());
  const nlohmann::json values = nlohmann::json::parse(output);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t action = 0; action < 2; ++action) {
      const double q = json["q_values"][i][action];
      EXPECT_NEAR(values[i][action], q, 1e-5 * std::max(1.0, std::abs(q)));
    }
  }
}

TEST_F(TrainTest, QRefusesWhatIsNoObservation) {
  Train("run");
  EXPECT_THAT(Refusal({"q", "run"}, 2), HasSubstr("--observation is required"));
  EXPECT_THAT(Refusal({"q", "run", "--observation", "1,2,3"}, 2),
              AllOf(HasSubstr("found 3 numbers"), HasSubstr("4 numbers: cart position, m; ")));
  for (const std::string number : {"x", "nan", "1e999", "0x1"}) {
    EXPECT_THAT(Refusal({"q", "run", "--observation", "1,2,3," + number}, 2),
                HasSubstr("\"" + number + "\""));
  }
  EXPECT_THAT(Refusal({"q", "run", "--observation", "@nowhere"}, 1), HasSubstr("nowhere"));
  EXPECT_THAT(Refusal({"q", "nowhere", "--observation", "1,2,3,4"}, 1), HasSubstr("nowhere"));
}

TEST_F(TrainTest, RefusesACheckpointThatIsCutOrChangedAnywhereInOneLine) {
  const fs::path run = Train("run");
  const fs::path checkpoint = run / "checkpoints" / "4000";
  for (const std::string part : {"weights.safetensors", "config.toml", "state.json", "manifest.json"}) {
    const std::string whole = ReadText(checkpoint / part);
    WriteText(checkpoint / part, whole.substr(0, whole.size() / 2));
    EXPECT_THAT(Refusal({"eval", "run/checkpoints/4000"}, 3), HasSubstr("run/checkpoints/4000")) << part;
    std::string flipped = whole;
    flipped[whole.size() / 2] = static_cast<char>(flipped[whole.size() / 2] ^ 1);
    WriteText(checkpoint / part, flipped);
    EXPECT_THAT(Refusal({"eval", "run/checkpoints/4000"}, 3), HasSubstr("run/checkpoints/4000")) << part;
    WriteText(checkpoint / part, whole);
  }
  fs::rename(checkpoint / "state.json", checkpoint / "other.json");
  EXPECT_THAT(Refusal({"eval", "run/checkpoints/4000"}, 3), HasSubstr("state.json"));
}

TEST_F(TrainTest, ComputesTheSameWithTheAutogradEngineUpToRounding) {
  // Not the same to the bit, but the same run: the first episodes are equal, and it ends well.
  const fs::path with_static = Train("static");
  const fs::path with_autograd = Train("autograd", {"--set", "learner.engine=autograd", "--steps", "1000"});
  const std::vector<std::string> left = Lines(ReadText(with_static / "episodes.csv"));
  const std::vector<std::string> right = Lines(ReadText(with_autograd / "episodes.csv"));
  for (std::size_t i = 1; i < 10; ++i) {
    const std::vector<std::string> row = Columns(left[i]);
    const std::vector<std::string> other = Columns(right[i]);
    for (std::size_t column = 0; column < 6; ++column) {
      EXPECT_EQ(other[column], row[column]) << "row " << i;
    }
  }
}

/// A run of 4000 steps that is stopped somewhere on its way by `signal`.
class ResumeTest : public TrainTest {
 protected:
  void StopOnItsWay(const std::string& name, int signal) {
    program_ =
        std::make_unique<Program>(Options({"train", "--config", kSmoke, "--run", name, "--set",
                                           "checkpoint.period=300", "--set", "train.update_period=1"}));
    const fs::path run = folder_.path() / name;
    WaitFor([&] {
      return !program_->Running() || (fs::exists(run / "checkpoints") && Numbered(run).size() == 2);
    });
    program_->Signal(signal);
    program_->Wait();
  }
};

TEST_F(ResumeTest, RunThatWasStoppedOrKilledAndGoesOnIsTheRunThatWasNot) {
  const fs::path whole = Train("whole");
  for (const int signal : {SIGTERM, SIGKILL}) {
    const std::string name = "stopped-" + std::to_string(signal);
    StopOnItsWay(name, signal);
    const ProgramResult result = Run({"train", "--resume", name});
    // A fast machine may have been through before the signal came; then there is nothing to go on with.
    if (result.code == 2) GTEST_SKIP() << "the run ended before its signal: " << result.error;
    ASSERT_EQ(result.code, 0) << result.error;
    EXPECT_THAT(result.error, HasSubstr("goes on from step "));
    EXPECT_EQ(RowsButTimes(folder_.path() / name), RowsButTimes(whole));
    EXPECT_EQ(Weights(folder_.path() / name), Weights(whole));
  }
}

TEST_F(ResumeTest, FinishedRunNeedsMoreStepsToGoOn) {
  Train("run");
  EXPECT_THAT(Refusal({"train", "--resume", "run"}, 2),
              AllOf(HasSubstr("4000 of 4000"), HasSubstr("--steps")));
  const ProgramResult result = Run({"train", "--resume", "run", "--steps", "5000"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(Numbered(folder_.path() / "run"), ElementsAre(4000, 5000));
  EXPECT_THAT(ReadText(folder_.path() / "run" / "config.toml"), HasSubstr("\nsteps = 5000\n"));
}

TEST_F(ResumeTest, WhatDecidesHowItLearnsCantChange) {
  Train("run");
  EXPECT_THAT(
      Refusal({"train", "--resume", "run", "--steps", "5000", "--set", "learner.learning_rate=0.01"}, 2),
      AllOf(HasSubstr("learner.learning_rate"), HasSubstr("0.001"), HasSubstr("0.01")));
  EXPECT_THAT(Refusal({"train", "--resume", "run", "--steps", "5000", "--seed", "9"}, 2),
              AllOf(HasSubstr("train.seed"), HasSubstr("1"), HasSubstr("9")));
  const ProgramResult result = Run({"train", "--resume", "run", "--steps", "4100", "--set", "eval.period=50",
                                    "--set", "checkpoint.keep=1", "--set", "log.tensorboard=false"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(Numbered(folder_.path() / "run"), ElementsAre(4100));
}

TEST_F(ResumeTest, RunMovesBetweenDevicesAndOpsAndTellsSo) {
  Train("run");
  // Another number of threads changes nothing, and needs no word.
  ProgramResult result = Run({"train", "--resume", "run", "--steps", "4100", "--threads", "2"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(ReadText(folder_.path() / "run" / "log.txt").find("but for rounding"), std::string::npos);
  // There and back.
  for (const auto& [steps, ops] : {std::pair("4200", "generic"), {"4300", "fused"}}) {
    result = Run({"train", "--resume", "run", "--steps", steps, "--device", "cpu", "--set",
                  std::string("learner.ops=") + ops});
    EXPECT_EQ(result.code, 0) << result.error;
    const std::string log = ReadText(folder_.path() / "run" / "log.txt");
    EXPECT_THAT(log.substr(log.find("goes on from step")),
                HasSubstr(std::string(ops) == "generic" ? "generic ops" : "static engine, cpu"));
    EXPECT_THAT(
        log,
        HasSubstr("learner.ops has changed; from here on it is the run that did not move but for rounding"));
  }
  EXPECT_THAT(Numbered(folder_.path() / "run"), ElementsAre(4200, 4300));
  EXPECT_THAT(ReadText(folder_.path() / "run" / "checkpoints" / "4300" / "state.json"),
              HasSubstr("\"device\""));
}

TEST_F(ResumeTest, DeviceThatIsNotThereIsRefusedForARunThatGoesOnToo) {
  const std::string devices = Run({"--version"}).output;
  if (devices.find("cuda") != std::string::npos) GTEST_SKIP() << "there is cuda here";
  Train("run");
  EXPECT_THAT(Refusal({"train", "--resume", "run", "--steps", "5000", "--device", "cuda"}, 5),
              HasSubstr("device.name = \"cuda\": there is no such device here"));
}

TEST_F(ResumeTest, FolderThatHoldsNoRunIsRefusedInOneLine) {
  Refusal({"train", "--resume", "nowhere"}, 1);
  fs::create_directories(folder_.path() / "empty");
  EXPECT_THAT(Refusal({"train", "--resume", "empty"}, 3), HasSubstr("no checkpoint"));
  EXPECT_THAT(Refusal({"train", "--resume", "empty", "--run", "other"}, 2), HasSubstr("--run"));
  Refusal({"train", "--resume", ""}, 2);
}

TEST_F(ResumeTest, FolderInUseIsRefused) {
  StartEndlessRun("run");
  WaitFor([&] { return !Numbered(folder_.path() / "run").empty(); });
  EXPECT_THAT(Refusal({"train", "--resume", "run"}, 1), HasSubstr("another process"));
  program_->Signal(SIGTERM);
  EXPECT_EQ(program_->Wait().code, 128 + SIGTERM);
}

TEST_F(ResumeTest, BadNewestCheckpointIsToldAndAnOlderOneUsed) {
  const fs::path whole = Train("whole");
  const fs::path run = Train("run");
  fs::resize_file(run / "checkpoints" / "4000" / "weights.safetensors", 100);
  const ProgramResult result = Run({"train", "--resume", "run"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.error, AllOf(HasSubstr("4000/weights.safetensors"), HasSubstr("older checkpoint")));
  EXPECT_EQ(Weights(run), Weights(whole));
}

}  // namespace
}  // namespace metronome
