#include "app/agent.h"

#include "app/effective_config.h"
#include "metronome/core/rng.h"
#include "metronome/games/registry.h"
#include "train/trainer.h"

namespace metronome {

Agent LoadAgent(const std::filesystem::path& path) {
  const Checkpoint checkpoint = ReadCheckpoint(path);
  Agent agent;
  agent.config = ParseSavedConfig(checkpoint.config_text, (path / "config.toml").string());
  const GameConfig& game = agent.config.game;
  agent.network = NetworkSpecFor(MakeGame(game.name, game.parameters)->spec(), agent.config.network);
  // One observation at a time: neither a batch nor another device than the processor would be of use.
  LearnerConfig learner = agent.config.learner;
  learner.engine = Engine::kStatic;
  learner.ops = Ops::kAuto;
  learner.batch_size = 1;
  Rng unused_weights(0);
  agent.learner = MakeLearner(agent.network, learner, {.name = "cpu", .threads = 1}, unused_weights);
  RestoreLearner(checkpoint, game.name, agent.network, *agent.learner);
  agent.step = checkpoint.state.trainer.steps;
  return agent;
}

void ReplaceNetwork(const std::filesystem::path& path, Agent& agent) {
  const Checkpoint checkpoint = ReadCheckpoint(path);
  RestoreLearner(checkpoint, agent.config.game.name, agent.network, *agent.learner);
  agent.step = checkpoint.state.trainer.steps;
}

}  // namespace metronome
