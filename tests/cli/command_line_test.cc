// The program from outside: what it prints and with which code it ends. No test here trains.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "metronome/core/memory.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kRun[] = "[game]\nname = \"cartpole\"\n[train]\nsteps = 5000\n";

class CommandLineTest : public ::testing::Test {
 protected:
  ProgramResult Run(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment = {}) const {
    Program::Options options;
    options.arguments = arguments;
    options.folder = folder_.path();
    options.environment = environment;
    return Program(options).Wait();
  }

  void Write(const std::string& name, const std::string& text) const {
    WriteText(folder_.path() / name, text);
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      names.push_back(entry.path().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  /// The one line on standard error with which the program refuses `arguments`, having created nothing.
  std::string Refusal(const std::vector<std::string>& arguments, int code) const {
    const std::vector<std::string> before = Files();
    const ProgramResult result = Run(arguments);
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    EXPECT_THAT(result.error, AllOf(StartsWith("metronome: "), EndsWith("\n")));
    EXPECT_EQ(Files(), before);
    return result.error;
  }

  TemporaryFolder folder_;
};

TEST_F(CommandLineTest, TrainRefusesEachBadConfigurationBeforeItCreatesAnything) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[learner]\nbatch_sise = 3\n",
       "bad.toml:6:1: learner.batch_sise: unknown key; did you mean learner.batch_size?"},
      {"[learner]\nbatch-size = 3\n",
       "bad.toml:6:1: learner.batch-size: unknown key; did you mean learner.batch_size?"},
      {"[lerner]\nbatch_size = 3\n", "bad.toml:5:2: unknown section [lerner]; did you mean [learner]?"},
      {"[replay]\nbatch_size = 3\n",
       "bad.toml:6:1: replay.batch_size: unknown key; did you mean learner.batch_size?"},
      {"[learner]\nbatch_size = 3\nbatch_size = 3\n", "bad.toml:7:14: learner.batch_size: "},
      {"[learner]\nbatch_size = \"many\"\n",
       "bad.toml:6:14: learner.batch_size = \"many\": must be an integer from 1 to "},
      {"[learner]\nbatch_size = 3 rows\n", "bad.toml:6:16: learner.batch_size: "},
      {"[learner]\ndiscount = 1.5\n", "bad.toml:6:12: learner.discount = 1.5: must be a number from 0 to 1"},
      {"[replay]\ncapacity = 100\n", "bad.toml:6:1: learner.batch_size = 128 and replay.capacity = 100: "},
      {"[replay]\nwarmup = 200000\n", "replay.warmup = 200000 and replay.capacity = 100000: "},
      {"[replay]\nwarmup = 5001\n", "train.steps = 5000, replay.warmup = 5001 and "},
      {"[exploration]\nepsilon_start = 0.01\n",
       "exploration.epsilon_end = 0.05 and exploration.epsilon_start = 0.01: "},
      {"[network]\nconv = [[16, 3, 1]]\n",
       "bad.toml:6:1: network.conv = [[16, 3, 1]] and game.name = \"cartpole\": "},
      {"[eval]\nperiod = 0\nstop_at_return = 475\n", "eval.stop_at_return = 475.0 and eval.period = 0: "},
  };
  for (const auto& [text, message] : cases) {
    Write("bad.toml", kRun + text);
    EXPECT_THAT(Refusal({"train", "--config", "bad.toml"}, 2), HasSubstr(message)) << text;
  }
}

TEST_F(CommandLineTest, TrainRefusesAConfigurationWithoutTheRequiredKeys) {
  Write("run.toml", "[game]\nname = \"cartpole\"\n");
  EXPECT_THAT(Refusal({"train", "--config", "run.toml"}, 2), HasSubstr("run.toml: train.steps is missing"));
  Write("run.toml", "[train]\nsteps = 5000\n");
  EXPECT_THAT(Refusal({"train", "--config", "run.toml"}, 2), HasSubstr("run.toml: game.name is missing"));
}

TEST_F(CommandLineTest, TrainRefusesAMissingOrEmptyConfigurationFile) {
  EXPECT_THAT(Refusal({"train", "--config", "nowhere.toml"}, 2), HasSubstr("there is no file nowhere.toml"));
  EXPECT_THAT(Refusal({"train", "--config", ""}, 2), HasSubstr("--config: the file name is empty"));
  EXPECT_THAT(Refusal({"train", "--config", "."}, 2), HasSubstr("is a folder"));
  EXPECT_THAT(Refusal({"train", "--config"}, 2), HasSubstr("--config"));
  EXPECT_THAT(Refusal({"train"}, 2), HasSubstr("--config FILE is missing"));
  Write("empty.toml", "");
  EXPECT_THAT(Refusal({"train", "--config", "empty.toml"}, 2), HasSubstr("empty.toml: game.name is missing"));
}

TEST_F(CommandLineTest, TrainRefusesEachBadFlagBeforeItCreatesAnything) {
  Write("run.toml", kRun);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--steps", "5k"}, "--steps: train.steps: found \"5k\", must be an integer from 1"},
      {{"--steps", "0"}, "--steps: train.steps = 0: must be an integer from 1"},
      {{"--steps", "999"}, "--steps: train.steps = 999, replay.warmup = 1000 and"},
      {{"--seed", "-1"}, "--seed: train.seed = -1: must be an integer from 0"},
      {{"--seed", "1.5"}, "--seed: train.seed = 1.5: must be an integer from 0"},
      {{"--seed", ""}, "--seed: train.seed: found nothing, must be an integer from 0"},
      {{"--seed", "1", "--set", "train.seed=1"}, "train.seed: set twice"},
      {{"--seed", "1", "--seed", "2"}, "--seed"},
      {{"--device", "gpu"},
       "--device: device.name = \"gpu\": must be one of \"auto\", \"cpu\", \"mps\", \"cuda\""},
      {{"--threads", "many"}, "--threads: device.threads: found \"many\", must be an integer from 0"},
      {{"--set", "learner.batch-size=3"},
       "--set learner.batch-size=3: learner.batch-size: unknown key; did you mean "
       "learner.batch_size?"},
      {{"--set", "learner.loss"}, "--set learner.loss: must have the form section.key=value"},
      {{"--set", "learner.loss=mse", "--set", "learner.loss=mse"}, "learner.loss: set twice"},
      {{"--set"}, "--set"},
      {{"--sed", "3"}, "train: unknown option --sed; did you mean --se"},
      {{"--run", ""}, "--run: the folder's name is empty"},
      {{"extra"}, "train: unexpected argument \"extra\""},
      {{"--config", "run.toml"}, "--config"},
  };
  for (const auto& [flags, message] : cases) {
    std::vector<std::string> arguments = {"train", "--config", "run.toml"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_THAT(Refusal(arguments, 2), HasSubstr(message)) << flags.front();
  }
}

constexpr std::int64_t kMemoryOfNoTestMachine = std::int64_t{400} << 30;

TEST_F(CommandLineTest, TrainRefusesAReplayThatMemoryCannotHold) {
  if (AvailableMemoryBytes().value_or(0) >= kMemoryOfNoTestMachine) {
    GTEST_SKIP() << "this machine holds even that";
  }
  Write("run.toml", std::string(kRun) + "[replay]\ncapacity = 10_000_000_000\n");
  const std::string message = Refusal({"train", "--config", "run.toml"}, 2);
  EXPECT_THAT(message, HasSubstr("run.toml:6:1: replay.capacity"));
  EXPECT_THAT(message, HasSubstr("10000000000 transitions"));
  // 16 bytes a transition and, for each two rows of 4 floats, one row more: 480000000016 bytes.
  EXPECT_THAT(message, HasSubstr("480000000016 bytes"));
}

TEST_F(CommandLineTest, TrainRefusesANetworkThatMemoryCannotHold) {
  if (AvailableMemoryBytes().value_or(0) >= kMemoryOfNoTestMachine) {
    GTEST_SKIP() << "this machine holds even that";
  }
  Write("run.toml", std::string(kRun) + "[network]\nhidden = [65536, 65536, 65536, 65536, 65536, 65536]\n");
  EXPECT_THAT(
      Refusal({"train", "--config", "run.toml"}, 2),
      HasSubstr("run.toml:6:1: network.hidden and learner.batch_size = 128: the network needs at least 40"));
}

TEST_F(CommandLineTest, TrainRefusesCheckpointsThatTheDiskCannotHold) {
  // 8192 * 8192 weights of 4 bytes, 4 times in each of 1002 checkpoints: 1002 GiB, 1 GiB for the other
  // layers' weights (65,538 of them), and a little.
  constexpr std::uintmax_t kDiskNeeded = std::uintmax_t{1002} << 30;
  constexpr std::int64_t kMemoryNeeded = std::int64_t{2} << 30;
  if (std::filesystem::space(folder_.path()).available > kDiskNeeded ||
      AvailableMemoryBytes().value_or(0) < kMemoryNeeded) {
    GTEST_SKIP() << "needs 2 GiB of memory and less than 1 TiB of disk";
  }
  Write("run.toml", std::string(kRun) + "[network]\nhidden = [8192, 8192]\n[checkpoint]\nkeep = 1000\n");
  EXPECT_THAT(Refusal({"train", "--config", "run.toml"}, 1), HasSubstr("the checkpoints need up to 1003."));
}

TEST_F(CommandLineTest, TrainNeverOverwritesARun) {
  Write("run.toml", kRun);
  std::filesystem::create_directories(folder_.path() / "old" / "run");
  EXPECT_THAT(Refusal({"train", "--config", "run.toml", "--run", "old/run"}, 2),
              HasSubstr("old/run exists already"));
  EXPECT_THAT(Refusal({"train", "--config", "run.toml", "--run", "run.toml"}, 2),
              HasSubstr("run.toml exists already"));
}

TEST_F(CommandLineTest, TrainRefusesADeviceThatIsNotThere) {
  Write("run.toml", kRun);
  const std::string devices = Run({"--version"}).output;
  for (const std::string device : {"cuda", "mps"}) {
    if (devices.find(device) != std::string::npos) {
      continue;
    }
    EXPECT_THAT(
        Refusal({"train", "--config", "run.toml", "--device", device}, 5),
        HasSubstr("--device: device.name = \"" + device + "\": there is no such device here, only cpu"));
  }
}

TEST_F(CommandLineTest, NamesTheNearestCommand) {
  EXPECT_EQ(Refusal({"trian", "--config", "run.toml"}, 2),
            "metronome: unknown command \"trian\"; did you mean train?\n");
  EXPECT_THAT(Refusal({}, 2), HasSubstr("no command given"));
  EXPECT_THAT(Refusal({"--versoin"}, 2), HasSubstr("unknown option --versoin; did you mean --version?"));
}

TEST_F(CommandLineTest, HelpsWithEveryCommandAndAnExample) {
  for (const std::string command : {"", "train", "eval", "q", "watch", "play", "bench", "games", "config"}) {
    const ProgramResult result = Run(command.empty() ? std::vector<std::string>{"--help"}
                                                     : std::vector<std::string>{command, "--help"});
    EXPECT_EQ(result.code, 0) << command;
    EXPECT_EQ(result.error, "") << command;
    EXPECT_THAT(result.output, HasSubstr("Example:\n  metronome " + command)) << command;
  }
}

TEST_F(CommandLineTest, PrintsItsVersionAndWhatItRunsOn) {
  const ProgramResult result = Run({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.output, StartsWith("metronome "));
  for (const std::string line : {"\ncompiler: ", "\nlibtorch: ", "\nBLAS: ", "\ndevices: cpu"}) {
    EXPECT_THAT(result.output, HasSubstr(line));
  }
}

TEST_F(CommandLineTest, ListsTheGames) {
  const ProgramResult result = Run({"games"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.output, HasSubstr("\ncartpole "));
}

TEST_F(CommandLineTest, ExplainsOneGame) {
  const ProgramResult result = Run({"games", "cartpole"});
  EXPECT_EQ(result.code, 0);
  for (const std::string part :
       {"0  left", "1  right", "shape (4), float32", "pole angle, rad", "sutton_barto_reward  default false",
        "Episode limit: 500 steps", "Tick rate: 50 Hz, 1 tick a step", "Scripted policy: yes"}) {
    EXPECT_THAT(result.output, HasSubstr(part));
  }
}

TEST_F(CommandLineTest, NamesTheNearestGame) {
  EXPECT_THAT(Refusal({"games", "cartpol"}, 2), HasSubstr("\"cartpol\"; the nearest is \"cartpole\""));
  EXPECT_THAT(Refusal({"games", "a", "b"}, 2), HasSubstr("unexpected argument \"b\""));
}

TEST_F(CommandLineTest, ConfigPrintsWhatItCanReadBack) {
  Write("run.toml", std::string(kRun) + "[learner]\nloss = \"mse\"\n");
  const ProgramResult first = Run({"config", "--config", "run.toml", "--set", "network.hidden=[64, 32]"});
  EXPECT_EQ(first.code, 0) << first.error;
  EXPECT_THAT(first.output, HasSubstr("# From: run.toml:6:1\nloss = \"mse\"\n"));
  EXPECT_THAT(first.output, HasSubstr("# From: --set network.hidden=[64, 32]\nhidden = [64, 32]\n"));
  EXPECT_THAT(first.output, HasSubstr("# From: default\nbatch_size = 128\n"));

  Write("first.toml", first.output);
  const ProgramResult second = Run({"config", "--config", "first.toml"});
  EXPECT_EQ(second.code, 0) << second.error;
  const auto without_comments = [](const std::string& text) {
    std::string kept;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('#')) {
        kept += line + "\n";
      }
    }
    return kept;
  };
  EXPECT_EQ(without_comments(second.output), without_comments(first.output));
}

TEST_F(CommandLineTest, ConfigPrintsTheDefaultsWithTheRequiredKeysLeftOpen) {
  const ProgramResult result = Run({"config"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("\n# name =\n"));
  EXPECT_THAT(result.output, HasSubstr("\n# steps =\n"));
  Write("defaults.toml", result.output);
  EXPECT_EQ(Run({"config", "--config", "defaults.toml"}).code, 0);
}

TEST_F(CommandLineTest, EvalPlaysWithoutANetwork) {
  for (const std::string policy : {"random", "scripted"}) {
    const std::vector<std::string> arguments = {"eval", "cartpole", "--policy", policy, "--episodes", "3"};
    const ProgramResult result = Run(arguments);
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 5) << result.output;
    EXPECT_THAT(result.output, HasSubstr("\nepisode 3: return "));
    EXPECT_THAT(result.output, HasSubstr("\n3 episodes: mean "));
    EXPECT_EQ(Run(arguments).output, result.output);  // the same seed
  }
}

TEST_F(CommandLineTest, EvalPrintsEveryEpisodeAsJson) {
  const ProgramResult result = Run({"eval", "cartpole", "--policy", "random", "--episodes", "30", "--seed",
                                    "4", "--json", "--set", "game.max_episode_steps=20"});
  ASSERT_EQ(result.code, 0) << result.error;
  const nlohmann::json json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["game"], "cartpole");
  EXPECT_EQ(json["policy"], "random");
  EXPECT_EQ(json["seed"], 4);
  ASSERT_EQ(json["episodes"].size(), 30U);
  double sum = 0.0;
  int truncated = 0;
  for (const nlohmann::json& episode : json["episodes"]) {
    // One point a step, and cut off after 20.
    EXPECT_EQ(episode["return"].get<double>(), episode["length"].get<double>());
    EXPECT_LE(episode["length"], 20);
    if (episode["ending"] == "truncated") {
      EXPECT_EQ(episode["length"], 20);
      ++truncated;
    }
    sum += episode["return"].get<double>();
  }
  EXPECT_GT(truncated, 0);
  EXPECT_LT(truncated, 30);
  EXPECT_DOUBLE_EQ(json["mean"], sum / 30.0);
  EXPECT_EQ(json["max"], 20.0);
}

TEST_F(CommandLineTest, EvalOfAnotherSeedPlaysOtherEpisodes) {
  const auto play = [this](const std::string& seed) {
    return Run({"eval", "cartpole", "--policy", "random", "--json", "--seed", seed}).output;
  };
  EXPECT_NE(nlohmann::json::parse(play("1"))["episodes"], nlohmann::json::parse(play("2"))["episodes"]);
}

TEST_F(CommandLineTest, EvalRefusesWhatDoesNotGoTogether) {
  EXPECT_THAT(Refusal({"eval"}, 2), HasSubstr("PATH|GAME is required"));
  EXPECT_THAT(Refusal({"eval", "cartpole"}, 2), HasSubstr("cartpole is a game: say who plays it"));
  EXPECT_THAT(Refusal({"eval", "cartpol", "--policy", "random"}, 2), HasSubstr("nearest is \"cartpole\""));
  EXPECT_THAT(Refusal({"eval", "cartpole", "--policy", "best"}, 2),
              HasSubstr("--policy: found \"best\", must be random or scripted"));
  EXPECT_THAT(Refusal({"eval", "cartpole", "--policy", "random", "--epsilon", "0.1"}, 2),
              HasSubstr("--epsilon"));
  EXPECT_THAT(Refusal({"eval", "cartpole", "--policy", "random", "--episodes", "0"}, 2),
              HasSubstr("--episodes: found \"0\", must be an integer from 1"));
  EXPECT_THAT(Refusal({"eval", "cartpole", "--policy", "random", "--seed", "x"}, 2),
              HasSubstr("--seed: found \"x\", must be an integer from 0"));
  EXPECT_THAT(Refusal({"eval", "runs/a", "--epsilon", "2"}, 2),
              HasSubstr("--epsilon: found \"2\", must be a number from 0 to 1"));
  EXPECT_THAT(Refusal({"eval", "cartpole", "--policy", "random", "--set", "learner.loss=mse"}, 2),
              HasSubstr("settings of the game alone"));
  EXPECT_THAT(Refusal({"eval", "cartpole", "--policy", "random", "--set", "game.gravity=1"}, 2),
              HasSubstr("--set game.gravity=1: game.gravity: unknown key for the game cartpole"));
  EXPECT_THAT(Refusal({"eval", "runs/a", "--set", "game.max_episode_steps=1"}, 2),
              HasSubstr("goes with --policy"));
}

TEST_F(CommandLineTest, EvalSaysThatAPathIsNotThereOrNoCheckpoint) {
  EXPECT_THAT(Refusal({"eval", "runs/nowhere"}, 1), HasSubstr("runs/nowhere"));
  std::filesystem::create_directories(folder_.path() / "empty");
  EXPECT_THAT(Refusal({"eval", "empty"}, 3), HasSubstr("empty"));
}

TEST_F(CommandLineTest, BenchMeasuresEveryPhaseAndSimulatesTheSameEachTime) {
  const auto bench = [this] {
    const ProgramResult result =
        Run({"bench", "--json", "--set", "network.hidden=[16]", "--set", "device.threads=1"});
    EXPECT_EQ(result.code, 0) << result.error;
    return nlohmann::json::parse(result.output);
  };
  const nlohmann::json first = bench();
  for (const auto& [name, game] : first["games"].items()) {
    EXPECT_GT(game["steps_per_second"], 0.0) << name;
  }
  EXPECT_TRUE(first["games"].contains("cartpole"));
  const nlohmann::json& learning = first["learning"];
  for (const std::string phase : {"act", "sample", "update", "step", "static_update", "autograd_update"}) {
    EXPECT_GT(learning[phase]["median_us"], 0.0) << phase;
    EXPECT_GE(learning[phase]["p99_us"], learning[phase]["median_us"]) << phase;
    EXPECT_GT(learning[phase]["per_second"], 0.0) << phase;
  }
  // The processor at least, with both kinds of ops.
  ASSERT_GE(learning["devices"].size(), 2u);
  EXPECT_EQ(learning["devices"][0]["device"], "cpu, fused");
  EXPECT_EQ(learning["devices"][0]["uploads_per_step"], 0.0);
  EXPECT_EQ(learning["devices"][1]["device"], "cpu, generic");
  EXPECT_EQ(learning["devices"][1]["uploads_per_step"], 1.0);
  EXPECT_EQ(learning["devices"][1]["read_backs_per_step"], 1.0);
  // A sanitizer's heap can't be counted; then it says so with a null.
  if (!learning["allocations_per_step"].is_null()) {
    EXPECT_EQ(learning["allocations_per_step"], 0.0);
  }
  EXPECT_EQ(bench()["hash"], first["hash"]);
}

TEST_F(CommandLineTest, BenchRefusesABadConfiguration) {
  EXPECT_THAT(Refusal({"bench", "--set", "game.name=chess"}, 2),
              HasSubstr("game.name = \"chess\": must be one of"));
  EXPECT_THAT(Refusal({"bench", "--config", "nowhere.toml"}, 2), HasSubstr("there is no file nowhere.toml"));
}

#ifdef __linux__
TEST_F(CommandLineTest, SaysThatItsOutputCouldNotBeWritten) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"games"}, {"config"}, {"--version"}, {"--help"}}) {
    Program::Options options;
    options.arguments = arguments;
    options.output_file = "/dev/full";
    const ProgramResult result = Program(options).Wait();
    EXPECT_EQ(result.code, 1) << arguments.front();
    EXPECT_EQ(result.error, "metronome: standard output can't be written\n") << arguments.front();
  }
}
#endif

TEST_F(CommandLineTest, KeepsAnErrorOnOneLineWhateverTheArgumentsHold) {
  EXPECT_THAT(Refusal({"games", "a\nb\tc"}, 2), HasSubstr("\"a b?c\""));
  EXPECT_THAT(Refusal({"train", "--config", "a\nb"}, 2), HasSubstr("a b"));
}

}  // namespace
}  // namespace metronome
