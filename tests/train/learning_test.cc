// Whole runs that must learn: what the unit tests can't see, such as a sign that is wrong in two places,
// shows here.

#include <gtest/gtest.h>

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
  request.quiet = true;
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

}  // namespace
}  // namespace metronome
