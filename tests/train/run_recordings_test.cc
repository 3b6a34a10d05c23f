#include "train/run_recordings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "metronome/core/rng.h"
#include "support/allocation_counter.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

class RunRecordingsTest : public ::testing::Test {
 protected:
  RunRecordingsTest() : game_(MakeGameConfig("cartpole")) {
    if (!game_.max_episode_steps) game_.max_episode_steps = 500;
  }

  /// An episode of cartpole in which the cart is pushed to the right after `balanced` steps of to and fro.
  Recording Episode(std::uint64_t seed, std::int64_t balanced) const {
    TimeLimit environment(game_);
    Recorder recorder(game_, 500);
    environment.Reset(seed);
    recorder.Begin(seed);
    for (EpisodeStep step; !step.ended();) {
      const int action = environment.steps() < balanced ? static_cast<int>(environment.steps() % 2) : 1;
      step = environment.Step(action);
      recorder.Add(action, step, environment.game());
    }
    return recorder.recording(environment.game());
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "recordings")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  Recording Read(const std::string& name) const {
    return ReadRecording(folder_.path() / "recordings" / name);
  }

  const TemporaryFolder folder_;
  GameConfig game_;
};

TEST_F(RunRecordingsTest, KeepsTheBestAndTheLatestEpisode) {
  RunRecordings recordings(folder_.path(), game_);
  const Recording good = Episode(1, 20);
  const Recording bad = Episode(2, 0);
  ASSERT_GT(good.episode_return, bad.episode_return);
  recordings.EpisodeEnded(bad);
  recordings.EpisodeEnded(good);
  recordings.EpisodeEnded(bad);
  EXPECT_TRUE(Files().empty()) << "nothing is written at an episode's end";
  recordings.WriteEpisodes();
  EXPECT_THAT(Files(), ::testing::UnorderedElementsAre("best.recording", "latest.recording"));
  EXPECT_EQ(Read("best.recording").seed, 1u);
  EXPECT_EQ(Read("best.recording").actions, good.actions);
  EXPECT_EQ(Read("latest.recording").seed, 2u);
  Replay(Read("best.recording"), "best");
  Replay(Read("latest.recording"), "latest");

  recordings.EpisodeEnded(Episode(3, 0));
  recordings.WriteEpisodes();
  EXPECT_EQ(Read("best.recording").seed, 1u);
  EXPECT_EQ(Read("latest.recording").seed, 3u);
}

TEST_F(RunRecordingsTest, ARunThatGoesOnKnowsItsBestEpisode) {
  {
    RunRecordings recordings(folder_.path(), game_);
    recordings.EpisodeEnded(Episode(1, 20));
    recordings.WriteEpisodes();
  }
  RunRecordings recordings(folder_.path(), game_);
  EXPECT_EQ(recordings.Restore(), std::nullopt);
  recordings.EpisodeEnded(Episode(2, 0));
  recordings.WriteEpisodes();
  EXPECT_EQ(Read("best.recording").seed, 1u);
  EXPECT_EQ(Read("latest.recording").seed, 2u);
}

TEST_F(RunRecordingsTest, EvaluationsLeaveTheirBestAndWorst) {
  RunRecordings recordings(folder_.path(), game_);
  Rng seeds(5);
  const std::unique_ptr<Policy> policy = MakeRandomPolicy(2, Rng(6));
  TimeLimit environment(game_);
  for (int evaluation = 0; evaluation < 2; ++evaluation) {
    recordings.BeginEvaluation();
    const auto result = Evaluate(environment, *policy, 20, seeds, &recordings);
    recordings.WriteEvaluation();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(Read("eval-best.recording").episode_return, result->max);
    EXPECT_EQ(Read("eval-worst.recording").episode_return, result->min);
  }
  Replay(Read("eval-best.recording"), "eval-best");
  Replay(Read("eval-worst.recording"), "eval-worst");
  EXPECT_EQ(Files().size(), 2u);
}

TEST_F(RunRecordingsTest, AnEpisodeThatIsTooLongIsLeftOutAndThatIsSaidOnce) {
  game_.max_episode_steps = 0;
  RunRecordings recordings(folder_.path(), game_);
  Recording endless = Episode(1, 0);
  endless.actions.assign(static_cast<std::size_t>(RunRecordings::kMostSteps) + 1, 0);
  EXPECT_THAT(recordings.EpisodeEnded(endless).value_or(""),
              ::testing::HasSubstr("not saved as a recording"));
  EXPECT_EQ(recordings.EpisodeEnded(endless), std::nullopt);
  recordings.WriteEpisodes();
  EXPECT_TRUE(Files().empty());
}

TEST_F(RunRecordingsTest, AnEpisodeEndsWithoutAllocating) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  RunRecordings recordings(folder_.path(), game_);
  const Recording good = Episode(1, 20);
  const Recording bad = Episode(2, 0);
  const AllocationScope scope;
  recordings.EpisodeEnded(bad);
  recordings.EpisodeEnded(good);
  recordings.EpisodeEnded(bad);
  EXPECT_EQ(scope.count(), 0);
}

}  // namespace
}  // namespace metronome
