// Whole runs that must learn: what the unit tests can't see, such as a sign that is wrong in two places,
// shows here.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "metronome/core/stop_signal.h"
#include "metronome/train/checkpoint.h"
#include "metronome/train/run.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

TEST(LearningTest, CartpoleIsBalancedTenTimesAsLongAsAtRandom) {
  // A random player lasts 22 steps. Of the seeds 1 to 5 the worst reaches 293 in this budget.
  TemporaryFolder temporary;
  StopSignal::Clear();
  RunRequest request;
  request.folder = temporary.path() / "run";
  request.log_level = LogLevel::kWarning;
  request.config.game = MakeGameConfig("cartpole");
  request.config.network.hidden = {64, 64};
  request.config.learner.batch_size = 64;
  request.config.learner.learning_rate = 1e-3;
  request.config.learner.target_update_period = 1;
  request.config.learner.target_update_rate = 0.01;
  request.config.replay = {20'000, 500};
  request.config.exploration = {1.0, 0.05, 4000};
  request.config.train.steps = 20'000;
  request.config.eval = {500, 20, 400.0};
  request.config.checkpoint.period = 0;
  request.config.device.threads = 1;
  ASSERT_EQ(RunTraining(request), 0);
  const Checkpoint best = ReadCheckpoint(request.folder / "checkpoints" / "best");
  EXPECT_GE(best.state.best_mean.value_or(0.0), 220.0);
}

/// What a small network with a convolution reaches in a MinAtar game: the best evaluation's mean return over
/// 20 episodes. The run ends when `enough` is reached.
double BestReturnOf(const std::string& game, std::int64_t max_episode_steps, double enough) {
  TemporaryFolder temporary;
  StopSignal::Clear();
  RunRequest request;
  request.folder = temporary.path() / "run";
  request.log_level = LogLevel::kWarning;
  request.config.game = MakeGameConfig(game);
  request.config.game.max_episode_steps = max_episode_steps;
  request.config.network.conv = {{16, 3, 1}};
  request.config.network.hidden = {128};
  request.config.learner.batch_size = 32;
  request.config.learner.learning_rate = 1e-3;
  request.config.learner.adam_epsilon = 1e-4;
  request.config.learner.target_update_period = 250;
  request.config.replay = {60'000, 1'000};
  request.config.exploration = {1.0, 0.05, 15'000};
  request.config.train.steps = 60'000;
  request.config.train.update_period = 4;
  request.config.eval = {10'000, 20, enough};
  request.config.checkpoint.period = 0;
  request.config.device.threads = 1;
  EXPECT_EQ(RunTraining(request), 0);
  return ReadCheckpoint(request.folder / "checkpoints" / "best").state.best_mean.value_or(0.0);
}

TEST(LearningTest, BreakoutIsPlayedEightTimesAsWellAsAtRandom) {
  // At random 0.53. The seeds 1 to 4 reach 4.05 to 6.45 within 50,000 steps.
  EXPECT_GE(BestReturnOf("breakout", 1'000, 4.0), 4.0);
}

TEST(LearningTest, FreewaysChickenCrossesAHundredTimesAsOftenAsAtRandom) {
  // In 1,000 steps; at random 0.07. The seeds 1 to 4 reach 10.2 to 11.85 within 60,000 steps.
  EXPECT_GE(BestReturnOf("freeway", 1'000, 8.0), 8.0);
}

}  // namespace
}  // namespace metronome
