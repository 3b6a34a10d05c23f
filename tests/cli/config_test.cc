#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "app/config_file.h"
#include "app/config_table.h"
#include "app/consistency.h"
#include "app/effective_config.h"
#include "metronome/core/error.h"
#include "metronome/core/file.h"

namespace metronome {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

EffectiveConfig FromText(const std::string& text, const std::vector<std::string>& set = {}) {
  std::vector<Setting> arguments;
  for (const std::string& argument : set) {
    arguments.push_back(ParseSetOption(argument));
  }
  return MakeEffectiveConfig(ParseConfigText(text, "file.toml"), arguments);
}

/// The message with which `text` and `set` are refused; empty when they are taken.
std::string Refusal(const std::string& text, const std::vector<std::string>& set = {}) {
  try {
    FromText(text, set);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

std::string RefusalOfSet(const std::vector<std::string>& set) { return Refusal("", set); }

constexpr char kRun[] = "[game]\nname = \"cartpole\"\n[train]\nsteps = 5000\n";

TEST(ConfigTableTest, HasEveryKeyOfTheDesignWithItsDefault) {
  // Copied by hand from the design's table; "-" where there is no value.
  const std::map<std::string, std::string> expected = {
      {"game.name", "-"},
      {"game.max_episode_steps", "-"},
      {"network.hidden", "[128, 128]"},
      {"network.conv", "[]"},
      {"learner.engine", "\"static\""},
      {"learner.ops", "\"auto\""},
      {"learner.batch_size", "128"},
      {"learner.discount", "0.99"},
      {"learner.learning_rate", "5e-04"},
      {"learner.adam_epsilon", "1e-08"},
      {"learner.adam_beta1", "0.9"},
      {"learner.adam_beta2", "0.999"},
      {"learner.loss", "\"huber\""},
      {"learner.max_gradient_norm", "10.0"},
      {"learner.double", "true"},
      {"learner.target_update_period", "1000"},
      {"learner.target_update_rate", "1.0"},
      {"replay.capacity", "100000"},
      {"replay.warmup", "1000"},
      {"exploration.epsilon_start", "1.0"},
      {"exploration.epsilon_end", "0.05"},
      {"exploration.epsilon_decay_steps", "20000"},
      {"train.steps", "-"},
      {"train.update_period", "1"},
      {"train.updates_per_period", "1"},
      {"train.seed", "1"},
      {"eval.period", "10000"},
      {"eval.episodes", "20"},
      {"eval.stop_at_return", "-"},
      {"checkpoint.period", "50000"},
      {"checkpoint.keep", "2"},
      {"device.name", "\"auto\""},
      {"device.threads", "0"},
      {"log.tensorboard", "true"},
      {"log.on_error", "\"continue\""},
  };
  std::map<std::string, std::string> actual;
  for (const ConfigKey& key : ConfigKeys()) {
    const std::optional<ConfigValue> value = key.value(RunConfig());
    actual[key.full_name()] = value ? FormatConfigValue(*value) : "-";
  }
  EXPECT_EQ(actual, expected);
}

TEST(ConfigTableTest, ExplainsEveryKey) {
  for (const ConfigKey& key : ConfigKeys()) {
    EXPECT_FALSE(key.meaning.empty()) << key.full_name();
    EXPECT_FALSE(key.allowed.empty()) << key.full_name();
    EXPECT_TRUE(key.value(RunConfig()) || key.required || !key.when_unset.empty()) << key.full_name();
  }
}

TEST(ConfigTableTest, SetsEveryFieldToAValueOfItsOwn) {
  // Every key gets a value that no other key has as its default; reading all of them back shows that no two
  // keys share a field and that each reads the field it writes.
  const std::map<std::string, std::string> values = {
      {"game.name", "\"cartpole\""},
      {"game.max_episode_steps", "301"},
      {"game.sutton_barto_reward", "true"},
      {"network.hidden", "[31, 32, 33]"},
      {"network.conv", "[]"},
      {"learner.engine", "\"static\""},  // the other one has no choice of ops
      {"learner.ops", "\"generic\""},
      {"learner.batch_size", "61"},
      {"learner.discount", "0.91"},
      {"learner.learning_rate", "0.0123"},
      {"learner.adam_epsilon", "0.0321"},
      {"learner.adam_beta1", "0.81"},
      {"learner.adam_beta2", "0.82"},
      {"learner.loss", "\"mse\""},
      {"learner.max_gradient_norm", "3.25"},
      {"learner.double", "false"},
      {"learner.target_update_period", "71"},
      {"learner.target_update_rate", "0.72"},
      {"replay.capacity", "8001"},
      {"replay.warmup", "802"},
      {"exploration.epsilon_start", "0.93"},
      {"exploration.epsilon_end", "0.094"},
      {"exploration.epsilon_decay_steps", "9005"},
      {"train.steps", "10006"},
      {"train.update_period", "7"},
      {"train.updates_per_period", "8"},
      {"train.seed", "9"},
      {"eval.period", "1001"},
      {"eval.episodes", "12"},
      {"eval.stop_at_return", "-13.5"},
      {"checkpoint.period", "1402"},
      {"checkpoint.keep", "15"},
      {"device.name", "\"cpu\""},
      {"device.threads", "16"},
      {"log.tensorboard", "false"},
      {"log.on_error", "\"stop\""},
  };
  std::vector<std::string> set;
  for (const auto& [name, value] : values) {
    set.push_back(name + "=" + value);
  }
  const EffectiveConfig effective = FromText("", set);
  std::map<std::string, std::string> read;
  for (const ConfigKey& key : AllConfigKeys(&FindGame("cartpole"))) {
    const std::optional<ConfigValue> value = key.value(effective.config);
    read[key.full_name()] = value ? FormatConfigValue(*value) : "-";
  }
  EXPECT_EQ(read, values);
  // And a few by the field itself.
  EXPECT_EQ(effective.config.learner.ops, Ops::kGeneric);
  EXPECT_EQ(FromText("", {"learner.engine=autograd"}).config.learner.engine, Engine::kAutograd);
  EXPECT_EQ(effective.config.learner.loss, Loss::kMse);
  EXPECT_FALSE(effective.config.learner.double_dqn);
  EXPECT_EQ(effective.config.learner.adam_beta2, 0.82);
  EXPECT_EQ(effective.config.replay.warmup, 802);
  EXPECT_EQ(effective.config.device.threads, 16);
  EXPECT_EQ(effective.config.eval.stop_at_return, -13.5);
}

TEST(ConfigTableTest, TakesTheBoundsThatItNamesAndNothingBeyond) {
  const std::string long_list = [] {
    std::string list = "1";
    for (int i = 1; i < 64; ++i) {
      list += ",1";
    }
    return list;
  }();
  const std::vector<std::pair<std::string, std::string>> taken = {
      {"network.hidden", "[]"},
      {"network.hidden", "[65536]"},
      {"network.hidden", "[" + long_list + "]"},
      {"learner.discount", "0"},
      {"learner.discount", "1"},
      {"learner.learning_rate", "1e30"},
      {"learner.max_gradient_norm", "0"},
      {"learner.target_update_rate", "1"},
      {"exploration.epsilon_decay_steps", "0"},
      {"train.seed", "9223372036854775807"},
      {"train.seed", "0"},
      {"eval.period", "0"},
      {"checkpoint.period", "0"},
      {"game.max_episode_steps", "0"},
      {"device.threads", "0"},
  };
  for (const auto& [name, value] : taken) {
    EXPECT_EQ(Refusal(kRun, {name + "=" + value}), "") << name << " " << value;
  }
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"game.max_episode_steps", "-1"},
      {"network.hidden", "[0]"},
      {"network.hidden", "[65537]"},
      {"network.hidden", "[1.0]"},
      {"network.hidden", "128"},
      {"network.hidden", "[" + long_list + ",1]"},
      {"network.hidden", "[[1]]"},
      {"network.conv", "[1, 2, 3]"},
      {"network.conv", "[[1, 2]]"},
      {"network.conv", "[[1, 2, 0]]"},
      {"network.conv", "[[1, 2000, 1]]"},
      {"learner.batch_size", "0"},
      {"learner.batch_size", "1048577"},
      {"learner.batch_size", "true"},
      {"learner.batch_size", "1979-05-27"},
      {"learner.discount", "-0.01"},
      {"learner.discount", "1.5"},
      {"learner.learning_rate", "0"},
      {"learner.learning_rate", "-1e-3"},
      {"learner.learning_rate", "inf"},
      {"learner.learning_rate", "nan"},
      {"learner.learning_rate", "\"1e-3\""},
      {"learner.adam_epsilon", "0"},
      {"learner.adam_beta1", "1"},
      {"learner.adam_beta2", "1"},
      {"learner.adam_beta2", "0.99999999999"},  // 1 in float32
      {"learner.max_gradient_norm", "-1"},
      {"learner.double", "1"},
      {"learner.double", "\"true\""},
      {"learner.target_update_period", "0"},
      {"learner.target_update_rate", "0"},
      {"learner.target_update_rate", "1.001"},
      {"replay.capacity", "0"},
      {"replay.capacity", "10000000001"},
      {"replay.warmup", "0"},
      {"exploration.epsilon_start", "1.01"},
      {"exploration.epsilon_end", "-0.01"},
      {"train.steps", "0"},
      {"train.steps", "1e6"},
      {"train.update_period", "0"},
      {"train.updates_per_period", "0"},
      {"train.seed", "-1"},
      {"train.seed", "9223372036854775808"},
      {"eval.episodes", "0"},
      {"eval.stop_at_return", "nan"},
      {"checkpoint.keep", "0"},
      {"device.name", "gpu"},
      {"device.threads", "-1"},
      {"log.tensorboard", "yes"},
      {"log.on_error", "halt"},
      {"game.sutton_barto_reward", "1"},
  };
  for (const auto& [name, value] : refused) {
    const std::string message = Refusal("", {"game.name=cartpole", name + "=" + value});
    EXPECT_THAT(message, StartsWith("--set " + name + "=" + value + ": " + name)) << message;
    EXPECT_THAT(message, HasSubstr("must be")) << message;
  }
}

TEST(ConfigFileTest, TakesAnIntegerForAFloatButNoFloatForAnInteger) {
  EXPECT_EQ(FromText("[learner]\nmax_gradient_norm = 3\n").config.learner.max_gradient_norm, 3.0);
  EXPECT_EQ(Refusal("[learner]\nbatch_size = 64.0\n"),
            "file.toml:2:14: learner.batch_size = 64.0: must be an integer from 1 to 1048576");
}

TEST(ConfigFileTest, RefusesEachMistakeWithItsPlaceAndTheNearestName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      // misspelt key
      {"[learner]\nbatch_sise = 3\n",
       "file.toml:2:1: learner.batch_sise: unknown key; did you mean learner.batch_size?"},
      // dash for underscore
      {"[learner]\nbatch-size = 3\n",
       "file.toml:2:1: learner.batch-size: unknown key; did you mean learner.batch_size?"},
      // right key in the wrong section
      {"[replay]\n\n  batch_size = 3\n",
       "file.toml:3:3: replay.batch_size: unknown key; did you mean learner.batch_size?"},
      {"[replay]\nbatch-size = 3\n",
       "file.toml:2:1: replay.batch-size: unknown key; did you mean learner.batch_size?"},
      {"[checkpoint]\nseed = 3\n", "file.toml:2:1: checkpoint.seed: unknown key; did you mean train.seed?"},
      // unknown section, also an empty one
      {"[lerner]\nbatch_size = 3\n", "file.toml:1:2: unknown section [lerner]; did you mean [learner]?"},
      {"[lerner]\n", "file.toml:1:2: unknown section [lerner]; did you mean [learner]?"},
      // a key outside of every section
      {"batch_size = 3\n",
       "file.toml:1:1: batch_size: a key outside of every section; did you mean learner.batch_size?"},
      {"learner = 3\n", "file.toml:1:1: learner is a section: write [learner]"},
      {"[[learner]]\nbatch_size = 3\n", "file.toml:1:3: learner is a section: write [learner]"},
      // a section in a section
      {"[learner.batch_size]\n",
       "file.toml:1:1: learner.batch_size = a table: must be an integer from 1 to 1048576"},
      {"[learner.adam]\nbeta1 = 0.5\n", "file.toml:1:10: learner.adam: unknown key; did you mean learner."},
      // wrong type
      {"[learner]\nbatch_size = \"many\"\n",
       "file.toml:2:14: learner.batch_size = \"many\": must be an integer from 1 to 1048576"},
      {"[learner]\nloss = 3\n", "file.toml:2:8: learner.loss = 3: must be one of \"huber\", \"mse\""},
      // out of range
      {"[learner]\ndiscount = 1.5\n", "file.toml:2:12: learner.discount = 1.5: must be a number from 0 to 1"},
      {"[learner]\nloss = \"hubert\"\n",
       "file.toml:2:8: learner.loss = \"hubert\": must be one of \"huber\", \"mse\"; did you mean "
       "\"huber\"?"},
      // the game's own
      {"[game]\nname = \"cartpol\"\n", "did you mean \"cartpole\"?"},
      {"[game]\nname = \"cartpole\"\nsutton_barto_reword = true\n",
       "file.toml:3:1: game.sutton_barto_reword: unknown key for the game cartpole; did you mean "
       "game.sutton_barto_reward?"},
      {"[game]\nsutton_barto_reward = true\n",
       "file.toml:2:1: game.sutton_barto_reward: unknown key while game.name"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(Refusal(text), HasSubstr(message)) << text;
  }
}

TEST(ConfigFileTest, NamesPlaceAndKeyOfBrokenToml) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[learner]\nbatch_size = 3\nbatch_size = 4\n", "file.toml:3:14: learner.batch_size: "},  // twice
      {"[learner]\nbatch_size = 3\nbatch_size = 3\n", "file.toml:3:14: learner.batch_size: "},
      {"[learner]\nlearning_rate = 5e-4x\n", "file.toml:2:21: learner.learning_rate: "},
      {"[learner]\nbatch_size = 3 4\n", "file.toml:2:16: learner.batch_size: "},
      {"[learner]\nbatch_size = 99999999999999999999\n", "file.toml:2:"},
      {"[learner]\nloss = huber\n", "file.toml:2:8: learner.loss: "},
      {"[learner]\nloss = \"huber\n", "file.toml:2:"},
      {"[learner]\n[learner]\n", "file.toml:2:1: "},
      {"[learner\n", "file.toml:1:"},
      {"[learner]\nbatch_size =\n", "file.toml:2:"},
      {std::string("[learner]\nbatch_size = \xff\n"), "file.toml:2:"},
      {std::string("[learner]\n\0", 11), "file.toml:2:"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(Refusal(text), StartsWith(message)) << text;
  }
}

TEST(ConfigFileTest, SpeaksOfTheFirstMistakeInTheText) {
  EXPECT_THAT(Refusal("[train]\nsteps = 0\n[learner]\nbatch_size = 0\n"),
              StartsWith("file.toml:2:9: train.steps"));
  EXPECT_THAT(Refusal("[train]\nzeed = 1\nabc = 2\n"), StartsWith("file.toml:2:1: train.zeed"));
}

TEST(ConfigFileTest, ChecksAlsoWhatTheCommandLineOverrides) {
  EXPECT_THAT(Refusal("[learner]\nbatch_size = 0\n", {"learner.batch_size=3"}),
              StartsWith("file.toml:2:14: learner.batch_size = 0"));
}

TEST(SetOptionTest, GoesOverTheFileAndTheFileOverTheDefault) {
  const EffectiveConfig effective =
      FromText("[learner]\nbatch_size = 3\ndiscount = 0.5\n", {"learner.discount=0.25"});
  EXPECT_EQ(effective.config.learner.batch_size, 3);
  EXPECT_EQ(effective.config.learner.discount, 0.25);
  EXPECT_EQ(effective.config.replay.capacity, 100000);
  EXPECT_EQ(effective.origins.at("learner.batch_size"), "file.toml:2:1");
  EXPECT_EQ(effective.origins.at("learner.discount"), "--set learner.discount=0.25");
  EXPECT_FALSE(effective.origins.contains("replay.capacity"));
}

TEST(SetOptionTest, TakesTomlValuesAndBareWordsForTexts) {
  EXPECT_EQ(FromText("", {"learner.loss=mse"}).config.learner.loss, Loss::kMse);
  EXPECT_EQ(FromText("", {"learner.loss=\"mse\""}).config.learner.loss, Loss::kMse);
  EXPECT_EQ(FromText("", {"learner.loss='mse'"}).config.learner.loss, Loss::kMse);
  EXPECT_EQ(FromText("", {" learner.loss = mse "}).config.learner.loss, Loss::kMse);
  EXPECT_THAT(FromText("", {"network.hidden=[64, 32]"}).config.network.hidden,
              ::testing::ElementsAre(64, 32));
  EXPECT_EQ(FromText("", {"replay.capacity=1_000"}).config.replay.capacity, 1000);
}

TEST(SetOptionTest, RefusesWhatIsNoSingleSetting) {
  for (const std::string text : {"", "learner", "learner.loss", "=3", ".loss=mse", "learner.=mse", "loss=mse",
                                 "learner.adam.beta1=0.5"}) {
    EXPECT_THAT(RefusalOfSet({text}), HasSubstr("must have the form section.key=value")) << text;
  }
  for (const std::string value : {"", "3x", "3 # three", "3\nseed = 4", "[3", "3, 4", "three"}) {
    EXPECT_THAT(RefusalOfSet({"learner.batch_size=" + value}), HasSubstr("learner.batch_size: found"))
        << value;
  }
  EXPECT_THAT(RefusalOfSet({"learner.loss="}), HasSubstr("must be one of \"huber\", \"mse\""));
}

TEST(SetOptionTest, RefusesAKeySetTwice) {
  EXPECT_THAT(
      RefusalOfSet({"learner.loss=mse", "learner.loss=huber"}),
      StartsWith("--set learner.loss=huber: learner.loss: set twice on the command line, before by --set "
                 "learner.loss=mse"));
  EXPECT_THAT(RefusalOfSet({"learner.loss=mse", "learner.loss=mse"}), HasSubstr("set twice"));
}

TEST(SetOptionTest, NamesTheNearestKey) {
  EXPECT_EQ(RefusalOfSet({"learner.batch-size=3"}),
            "--set learner.batch-size=3: learner.batch-size: unknown key; did you mean learner.batch_size?");
  EXPECT_EQ(RefusalOfSet({"lerner.batch_size=3"}),
            "--set lerner.batch_size=3: lerner.batch_size: unknown section and key; did you mean "
            "learner.batch_size?");
}

TEST(ConsistencyTest, RefusesABatchLargerThanTheReplay) {
  EXPECT_EQ(
      Refusal("[replay]\ncapacity = 100\nwarmup = 50\n"),
      "file.toml:2:1: learner.batch_size = 128 and replay.capacity = 100: a batch can't be larger than the "
      "replay it is drawn from");
  EXPECT_EQ(Refusal("[replay]\ncapacity = 128\nwarmup = 50\n"), "");
}

TEST(ConsistencyTest, RefusesAWarmupThatTheReplayNeverHolds) {
  EXPECT_THAT(Refusal("[replay]\ncapacity = 1000\nwarmup = 1001\n"),
              StartsWith("file.toml:3:1: replay.warmup = 1001 and replay.capacity = 1000: "));
  EXPECT_EQ(Refusal("[replay]\ncapacity = 1000\nwarmup = 1000\n"), "");
}

TEST(ConsistencyTest, RefusesARunWithoutASingleUpdate) {
  EXPECT_THAT(
      Refusal("[train]\nsteps = 999\n"),
      StartsWith("file.toml:2:1: train.steps = 999, replay.warmup = 1000 and train.update_period = 1: "));
  EXPECT_EQ(Refusal("[train]\nsteps = 1000\n"), "");
  // The first learning moment with 1000 transitions held is step 1200.
  EXPECT_THAT(Refusal("[train]\nsteps = 1199\nupdate_period = 400\n"), HasSubstr("after 1200 steps"));
  EXPECT_EQ(Refusal("[train]\nsteps = 1200\nupdate_period = 400\n"), "");
}

TEST(ConsistencyTest, RefusesAnEpsilonThatRises) {
  EXPECT_THAT(Refusal("[exploration]\nepsilon_start = 0.1\nepsilon_end = 0.2\n"),
              HasSubstr("exploration.epsilon_end = 0.2 and exploration.epsilon_start = 0.1"));
  EXPECT_EQ(Refusal("[exploration]\nepsilon_start = 0.1\nepsilon_end = 0.1\n"), "");
}

TEST(ConsistencyTest, RefusesAStopThatNoEvaluationCanReach) {
  EXPECT_THAT(Refusal("[eval]\nperiod = 0\nstop_at_return = 475\n"),
              HasSubstr("eval.stop_at_return = 475.0 and eval.period = 0"));
  EXPECT_EQ(Refusal("[eval]\nperiod = 0\n"), "");
}

TEST(ConsistencyTest, RefusesOpsAndEnginesWhereTheyAreNot) {
  EXPECT_THAT(RefusalOfSet({"learner.engine=autograd", "device.name=mps"}),
              HasSubstr("learner.engine = \"autograd\" and device.name = \"mps\": the autograd engine"));
  EXPECT_THAT(
      RefusalOfSet({"learner.engine=autograd", "learner.ops=generic"}),
      HasSubstr("learner.engine = \"autograd\" and learner.ops = \"generic\": only the static engine"));
  EXPECT_THAT(RefusalOfSet({"learner.ops=fused", "device.name=cuda"}),
              HasSubstr("learner.ops = \"fused\" and device.name = \"cuda\": the fused ops"));
}

TEST(SettleDeviceTest, RunThatGoesOnStaysWhereItWasUnlessItIsToldOrCanNot) {
  const auto settle = [](const std::string& saved_device, const std::string& asked, Ops ops = Ops::kAuto) {
    RunConfig saved;
    RunConfig config;
    config.device.name = asked;
    config.learner.ops = ops;
    const std::vector<std::string> notes = SettleDevice(saved, saved_device, {"cpu", "mps"}, config);
    return std::pair(config.device.name, notes);
  };
  using Notes = std::vector<std::string>;
  EXPECT_EQ(settle("mps", "auto"), std::pair(std::string("mps"), Notes{}));
  EXPECT_EQ(settle("cpu", "auto"), std::pair(std::string("cpu"), Notes{}));
  EXPECT_EQ(settle("cpu", "cpu"), std::pair(std::string("cpu"), Notes{}));
  EXPECT_EQ(settle("", "auto"), std::pair(std::string("auto"), Notes{}))
      << "a checkpoint of an older version";
  EXPECT_EQ(settle("mps", "cpu").first, "cpu");
  EXPECT_THAT(settle("mps", "cpu").second, ElementsAre(StartsWith("the run was on mps and moves to cpu; ")));
  EXPECT_EQ(settle("cuda", "auto").first, "auto");
  EXPECT_THAT(
      settle("cuda", "auto").second,
      ElementsAre(StartsWith("the run was on cuda, which is not here, and moves to the fastest device")));
  EXPECT_EQ(settle("mps", "auto", Ops::kFused).first, "auto");
  EXPECT_THAT(
      settle("mps", "auto", Ops::kFused).second,
      ElementsAre(StartsWith("learner.ops has changed"), StartsWith("the run was on mps and moves to")));
}

TEST(ConsistencyTest, RefusesConvolutionsWithoutAGrid) {
  EXPECT_THAT(Refusal("[game]\nname = \"cartpole\"\n[network]\nconv = [[16, 3, 1]]\n"),
              AllOf(StartsWith("file.toml:4:1: network.conv = [[16, 3, 1]] and game.name = \"cartpole\": "),
                    HasSubstr("a vector of 4 numbers")));
}

TEST(ConsistencyTest, FollowsTheGridThroughTheConvolutions) {
  ObservationSpec grid;
  grid.shape = {4, 10, 8};
  NetworkConfig network;
  EXPECT_EQ(ConvolutionFault(network, grid), "");
  network.conv = {{16, 8, 1}};
  EXPECT_EQ(ConvolutionFault(network, grid), "");
  network.conv = {{16, 9, 1}};
  EXPECT_EQ(ConvolutionFault(network, grid),
            "the kernel of layer 1, 9, is larger than the grid it gets, 10 by 8");
  // 10 by 8 becomes 4 by 3: (10 - 3) / 2 + 1 and (8 - 3) / 2 + 1, rounded down.
  network.conv = {{16, 3, 2}, {32, 3, 1}};
  EXPECT_EQ(ConvolutionFault(network, grid), "");
  network.conv = {{16, 3, 2}, {32, 4, 1}};
  EXPECT_EQ(ConvolutionFault(network, grid),
            "the kernel of layer 2, 4, is larger than the grid it gets, 4 by 3");
}

TEST(FormatConfigTest, ReadsBackToTheSameConfiguration) {
  const std::string text =
      "[game]\nname = \"cartpole\"\nsutton_barto_reward = true\n[network]\nhidden = []\n[learner]\n"
      "learning_rate = 1e-7\ndiscount = 1\nloss = \"mse\"\n[train]\nsteps = 123456\n[eval]\n"
      "stop_at_return = 475\n";
  for (const bool with_origins : {false, true}) {
    const EffectiveConfig first = FromText(text, {"train.seed=77"});
    const EffectiveConfig second = FromText(FormatConfig(first, with_origins));
    EXPECT_EQ(FormatConfig(second, false), FormatConfig(first, false));
    EXPECT_EQ(second.config.game.parameters, first.config.game.parameters);
    EXPECT_EQ(second.config.learner.learning_rate, 1e-7);
    EXPECT_EQ(second.config.train.seed, 77);
    EXPECT_EQ(second.config.eval.stop_at_return, 475.0);
  }
}

TEST(FormatConfigTest, WritesTheGamesOwnEpisodeLimitOut) {
  const EffectiveConfig effective = FromText("[game]\nname = \"cartpole\"\n");
  EXPECT_EQ(effective.config.game.max_episode_steps, 500);
  EXPECT_THAT(FormatConfig(effective, false), HasSubstr("\nmax_episode_steps = 500\n"));
}

TEST(FormatConfigTest, SaysWhereEachValueCameFrom) {
  const std::string text = FormatConfig(FromText("[learner]\nbatch_size = 3\n", {"train.seed=77"}), true);
  EXPECT_THAT(text, HasSubstr("# From: file.toml:2:1\nbatch_size = 3\n"));
  EXPECT_THAT(text, HasSubstr("# From: --set train.seed=77\nseed = 77\n"));
  EXPECT_THAT(text, HasSubstr("\n# From: default\ncapacity = 100000\n"));
  EXPECT_THAT(text, HasSubstr("# name =\n"));
}

TEST(FormatConfigTest, StaysTomlWhateverTheFileIsCalled) {
  std::vector<Setting> file = ParseConfigText("[learner]\nbatch_size = 3\n", "a\nb = [");
  const std::string text = FormatConfig(MakeEffectiveConfig(file, {}), true);
  EXPECT_EQ(FromText(text).config.learner.batch_size, 3);
}

TEST(ShippedConfigsTest, AreTakenAndSayWhatEachKeyMeans) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(METRONOME_SOURCE_DIR "/configs")) {
    if (entry.is_directory()) continue;
    const EffectiveConfig effective = MakeEffectiveConfig(ReadConfigFile(entry.path()), {});
    EXPECT_NO_THROW(RequireKeys(effective, {"game.name", "train.steps"}, entry.path().string()));
    std::istringstream lines(ReadFile(entry.path()));
    for (std::string line; std::getline(lines, line);) {
      const bool sets_a_key = line.find('=') != std::string::npos && !line.starts_with('#');
      const bool names_the_game = line.starts_with("name = ") && effective.config.game.name != "";
      EXPECT_TRUE(!sets_a_key || names_the_game || line.find("  # ") != std::string::npos)
          << entry.path() << ": " << line;
    }
    ++count;
  }
  EXPECT_GE(count, 10);
}

TEST(SavedConfigTest, IsABadCheckpointWhereItIsBroken) {
  EXPECT_EQ(ParseSavedConfig(kRun, "config.toml").train.steps, 5000);
  for (const std::string text : {"[game]\n", "[train]\nsteps = 5000\n", "x", "[game]\nname = \"chess\"\n"}) {
    try {
      ParseSavedConfig(text, "runs/a/config.toml");
      ADD_FAILURE() << "taken: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadCheckpoint);
      EXPECT_THAT(error.what(), StartsWith("runs/a/config.toml:"));
    }
  }
}

}  // namespace
}  // namespace metronome
