// scripts/q_values.py, which knows nothing of this program but the metadata of weights.safetensors, against
// the learner.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "metronome/core/file.h"
#include "metronome/core/rng.h"
#include "metronome/games/registry.h"
#include "metronome/learner/learner.h"
#include "metronome/train/checkpoint.h"
#include "metronome/train/safetensors.h"
#include "support/python.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

/// Q-values of `count` observations, by the learner and by the script.
void ExpectTheScriptAgrees(const GameSpec& game, const NetworkSpec& network, std::int64_t count) {
  const TemporaryFolder folder;
  Rng rng(5);
  LearnerConfig config;
  config.batch_size = 8;
  const std::unique_ptr<Learner> learner = MakeLearner(network, config, {.name = "cpu", .threads = 1}, rng);
  // Biases and an output as after training, and not the small ones of the start.
  std::vector<float> weights(learner->online().begin(), learner->online().end());
  for (float& weight : weights) weight *= 3.0f;
  const std::vector<float> zeros(weights.size(), 0.0f);
  learner->Restore(weights, weights, zeros, zeros, 0, 0);
  WriteCheckpoint(folder.path() / "checkpoint", *learner, game, network, "# none\n", {});

  const auto size = static_cast<std::size_t>(game.observation.size());
  std::ostringstream script;
  script.precision(9);
  script << "import runpy\nscript = runpy.run_path('" METRONOME_SOURCE_DIR
            "/scripts/q_values.py')\nactions, values = script['q_values']("
            "'checkpoint/weights.safetensors', [";
  std::vector<std::vector<float>> expected;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<float> observation(size);
    for (float& value : observation) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
    script << "[";
    for (const float value : observation) script << value << ",";
    script << "],";
    expected.emplace_back(static_cast<std::size_t>(network.num_actions));
    learner->QValues(observation, expected.back());
  }
  script << "])\nprint(*actions, sep='\\n')\nfor row in values.tolist(): print(*row)\n";

  std::istringstream output(RunPython(script.str(), folder.path()));
  for (const ActionSpec& action : game.actions) {
    std::string name;
    std::getline(output, name);
    EXPECT_EQ(name, action.name);
  }
  double largest = 0.0;
  for (const std::vector<float>& row : expected) {
    for (const float q : row) {
      double value = std::nan("");
      output >> value;
      EXPECT_NEAR(value, static_cast<double>(q), 1e-5 * std::max(1.0, std::abs(static_cast<double>(q))));
      largest = std::max(largest, std::abs(value));
    }
  }
  EXPECT_GT(largest, 0.1) << "a network that says nothing proves nothing";
}

class QValuesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!PythonHas("safetensors.numpy")) {
      GTEST_SKIP() << "there is no python3 with the packages safetensors and numpy";
    }
  }
};

TEST_F(QValuesTest, TheScriptAgreesForEveryGame) {
  for (const GameInfo& info : Games()) {
    SCOPED_TRACE(info.name);
    const GameSpec game = MakeGame(info.name, GameParameters(info.parameters))->spec();
    ExpectTheScriptAgrees(game, {game.observation.shape, game.num_actions(), {{24, 17}, {}}}, 20);
  }
}

TEST_F(QValuesTest, TheScriptAgreesForANetworkWithoutHiddenLayers) {
  GameSpec game;
  game.name = "probe";
  game.actions = {{"a", {}}, {"b", {}}, {"c", {}}};
  game.observation.shape = {2};
  game.observation.features = {{"x", -1.0, 1.0}, {"y", -1.0, 1.0}};
  ExpectTheScriptAgrees(game, {game.observation.shape, game.num_actions(), {{}, {}}}, 5);
}

TEST_F(QValuesTest, TheScriptAgreesForConvolutions) {
  GameSpec game;
  game.name = "probe";
  game.actions = {{"a", {}}, {"b", {}}, {"c", {}}};
  game.observation.shape = {3, 10, 9};
  game.observation.features = {{"x", -1.0, 1.0}, {"y", -1.0, 1.0}, {"z", -1.0, 1.0}};
  ExpectTheScriptAgrees(game, {game.observation.shape, 3, {{20}, {{5, 3, 1}}}}, 5);
  ExpectTheScriptAgrees(game, {game.observation.shape, 3, {{20}, {{5, 3, 2}, {4, 2, 1}}}}, 5);
  ExpectTheScriptAgrees(game, {game.observation.shape, 3, {{}, {{6, 4, 3}}}}, 5);
}

TEST(WeightsTest, MetadataDescribesGameObservationActionsAndEachLayer) {
  const TemporaryFolder folder;
  GameSpec game;
  game.name = "probe";
  game.actions = {{"left", {}}, {"right", {}}};
  game.observation.shape = {1, 6, 5};
  game.observation.features = {{"walls", 0.0, 1.0}};
  const NetworkSpec network = {game.observation.shape, 2, {{7}, {{3, 2, 2}}}};
  Rng rng(1);
  const std::unique_ptr<Learner> learner = MakeLearner(network, {}, {.name = "cpu", .threads = 1}, rng);
  WriteCheckpoint(folder.path() / "checkpoint", *learner, game, network, "# none\n", {});
  const SafetensorsContent content =
      ParseSafetensors(ReadFile(folder.path() / "checkpoint" / "weights.safetensors"), "weights");
  const auto json = [&](const char* key) { return nlohmann::json::parse(content.metadata.at(key)); };
  EXPECT_EQ(content.metadata.at("game"), "probe");
  EXPECT_EQ(json("observation_shape"), (nlohmann::json{1, 6, 5}));
  EXPECT_EQ(json("observation_features"), nlohmann::json::array({"walls"}));
  EXPECT_EQ(json("actions"), (nlohmann::json{"left", "right"}));
  EXPECT_EQ(json("layers"), nlohmann::json::parse(R"([
      {"type": "convolution", "weight": "conv.0.weight", "bias": "conv.0.bias", "stride": 2, "activation": "relu"},
      {"type": "linear", "weight": "hidden.0.weight", "bias": "hidden.0.bias", "activation": "relu"},
      {"type": "linear", "weight": "output.weight", "bias": "output.bias", "activation": "none"}])"));
  for (const nlohmann::json& layer : json("layers")) {
    for (const char* part : {"weight", "bias"}) {
      const std::string name = "online." + layer[part].get<std::string>();
      EXPECT_TRUE(std::any_of(content.tensors.begin(), content.tensors.end(),
                              [&](const StoredTensor& tensor) { return tensor.name == name; }))
          << name;
    }
  }
}

TEST(QValuesScriptTest, HasAtMostFortyLines) {
  const std::string script = ReadFile(METRONOME_SOURCE_DIR "/scripts/q_values.py");
  EXPECT_LE(std::count(script.begin(), script.end(), '\n'), 40);
}

}  // namespace
}  // namespace metronome
