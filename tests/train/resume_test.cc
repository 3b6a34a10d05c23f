#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/file_calls.h"
#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/stop_signal.h"
#include "metronome/train/checkpoint.h"
#include "metronome/train/run.h"
#include "support/temporary_folder.h"
#include "train/event_reader.h"
#include "train/replay_archive.h"
#include "train/run_difference.h"
#include "train/run_loop.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

/// Every point and histogram of a run's event files that is no time or memory, in the order of the files.
std::vector<std::string> CurvesButTimes(const fs::path& run) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(run)) {
    if (entry.path().filename().string().find("tfevents") != std::string::npos) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> points;
  for (const fs::path& file : files) {
    for (const Event& event : ParseEventFile(ReadFile(file))) {
      for (const Value& value : event.values) {
        if (value.tag.starts_with("time/") || value.tag.starts_with("memory/") || !value.plugin.empty())
          continue;
        std::ostringstream text;
        text << event.step << " " << value.tag;
        if (value.scalar) text << " " << *value.scalar;
        if (value.histogram) {
          text << " " << value.histogram->sum << " " << value.histogram->sum_squares;
          for (const double count : value.histogram->counts) text << " " << count;
        }
        points.push_back(text.str());
      }
    }
  }
  return points;
}

class ResumeTest : public testing::Test {
 protected:
  ResumeTest() {
    request_.config.game = MakeGameConfig("cartpole");
    request_.config.network.hidden = {16};
    request_.config.learner.batch_size = 16;
    request_.config.learner.target_update_period = 70;
    request_.config.replay = {400, 100};  // wraps
    request_.config.exploration.epsilon_decay_steps = 500;
    request_.config.train.steps = 1200;
    request_.config.eval = {250, 3, {}};
    request_.config.checkpoint = {0, 2};
    request_.config.device.threads = 1;
    request_.config_text = "# the configuration\n";
    request_.log_level = LogLevel::kWarning;
    StopSignal::Clear();
  }

  /// Plays in `name` up to each of `stops`, saving and starting anew there, and to the end.
  fs::path Play(const std::string& name, const std::vector<std::int64_t>& stops) {
    request_.folder = temporary_.path() / name;
    bool is_first = true;
    std::vector<std::int64_t> legs = stops;
    legs.push_back(request_.config.train.steps);
    for (const std::int64_t stop : legs) {
      std::vector<std::string> faults;
      std::unique_ptr<RunLoop> loop;
      if (is_first) {
        loop = std::make_unique<RunLoop>(request_);
      } else {
        const Checkpoint checkpoint = ReadNewestCheckpoint(request_.folder, faults);
        loop = std::make_unique<RunLoop>(request_, checkpoint, faults);
      }
      EXPECT_THAT(faults, testing::IsEmpty());
      is_first = false;
      while (loop->trainer().steps() < stop) EXPECT_TRUE(loop->Step());
      if (stop < request_.config.train.steps) {
        std::raise(SIGTERM);
        EXPECT_FALSE(loop->Step());
        EXPECT_EQ(loop->Finish(), 128 + SIGTERM);
        StopSignal::Clear();
      } else {
        EXPECT_EQ(loop->Finish(), 0);
      }
    }
    return request_.folder;
  }

  void ExpectSameRun(const fs::path& left, const fs::path& right, const std::string& what) {
    EXPECT_EQ(RunDifference(left, right, request_.config.train.steps), "") << what;
  }

  TemporaryFolder temporary_;
  RunRequest request_;
};

TEST_F(ResumeTest, StoppedAnywhereItIsTheRunThatWasNeverStopped) {
  StopSignal::Install();
  const fs::path whole = Play("whole", {});
  Rng stops(1);
  std::vector<std::vector<std::int64_t>> cases = {
      {1},            // the first step
      {50},           // in the warm-up
      {100},          // the first update
      {250},          // on an evaluation
      {70 + 99},      // on a target sync
      {401},          // the ring has just wrapped
      {30, 31, 500},  // several times, once right after another
      {1199},         // the last step but one
  };
  for (int i = 0; i < 12; ++i) cases.push_back({1 + stops.UniformInt(1198)});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const fs::path stopped = Play("stopped-" + std::to_string(i), cases[i]);
    ExpectSameRun(whole, stopped, "first stop at " + std::to_string(cases[i][0]));
  }
}

TEST_F(ResumeTest, CurvesGoOnWhereTheyWere) {
  StopSignal::Install();
  const std::vector<std::string> whole = CurvesButTimes(Play("whole", {}));
  ASSERT_GT(whole.size(), 100u);
  EXPECT_EQ(CurvesButTimes(Play("stopped", {130, 400, 777})), whole);
}

TEST_F(ResumeTest, CurvesOfAKilledRunAreCutBackToItsCheckpoint) {
  const std::vector<std::string> whole = CurvesButTimes(Play("whole", {}));
  request_.config.checkpoint.period = 500;
  request_.folder = temporary_.path() / "killed";
  for (int kill = 0; kill < 2; ++kill) {
    std::vector<std::string> faults;
    std::unique_ptr<RunLoop> loop =
        kill == 0
            ? std::make_unique<RunLoop>(request_)
            : std::make_unique<RunLoop>(request_, ReadNewestCheckpoint(request_.folder, faults), faults);
    while (loop->trainer().steps() < 900 + kill) ASSERT_TRUE(loop->Step());
    // Its rows are written, and no checkpoint after the one at step 500.
  }
  std::vector<std::string> faults;
  RunLoop loop(request_, ReadNewestCheckpoint(request_.folder, faults), faults);
  while (loop.Step()) {
  }
  EXPECT_EQ(loop.Finish(), 0);
  EXPECT_EQ(CurvesButTimes(request_.folder), whole);
}

TEST_F(ResumeTest, EveryGameEngineLossAndTeamGoesOnExactly) {
  StopSignal::Install();
  int number = 0;
  for (const GameInfo& game : Games()) {
    for (const auto& [engine, ops] : {std::pair(Engine::kStatic, Ops::kFused),
                                      {Engine::kStatic, Ops::kGeneric},
                                      {Engine::kAutograd, Ops::kAuto}}) {
      for (const Loss loss : {Loss::kHuber, Loss::kMse}) {
        request_.config.game = MakeGameConfig(game.name);
        request_.config.learner.engine = engine;
        request_.config.learner.ops = ops;
        request_.config.learner.loss = loss;
        request_.config.train.steps = 400;
        request_.config.device.threads = 1;
        const std::string name = game.name + "-" + std::to_string(++number);
        const fs::path whole = Play(name, {});
        request_.config.device.threads = ops == Ops::kFused ? 2 : 1;  // the team's size changes nothing
        const fs::path stopped = Play(name + "-stopped", {137, 290});
        ExpectSameRun(whole, stopped, name);
      }
    }
  }
}

TEST_F(ResumeTest, KilledRunGoesOnFromItsNewestCheckpointAndDropsTheRowsAfterIt) {
  request_.config.checkpoint = {300, 2};
  const fs::path whole = Play("whole", {});
  request_.folder = temporary_.path() / "killed";
  {
    RunLoop loop(request_);
    while (loop.trainer().steps() < 1000) loop.Step();
    // Killed here: nothing is saved at the end, the tables have rows up to step 1000 and the newest
    // checkpoint is 900.
  }
  fs::create_directory(request_.folder / "checkpoints" / ".tmp-1000-1");
  std::vector<std::string> faults;
  const Checkpoint checkpoint = ReadNewestCheckpoint(request_.folder, faults);
  EXPECT_EQ(checkpoint.state.trainer.steps, 900);
  EXPECT_EQ(ResumeTraining(request_, checkpoint, faults), 0);
  ExpectSameRun(whole, request_.folder, "killed");
  EXPECT_FALSE(fs::exists(request_.folder / "checkpoints" / ".tmp-1000-1"));
}

TEST_F(ResumeTest, BadNewestCheckpointIsToldAndTheOneBeforeIsUsed) {
  request_.config.checkpoint = {300, 2};
  const fs::path whole = Play("whole", {});
  const fs::path run = Play("run", {});
  fs::resize_file(run / "checkpoints" / "1200" / "state.json", 10);
  std::vector<std::string> faults;
  const Checkpoint checkpoint = ReadNewestCheckpoint(run, faults);
  EXPECT_THAT(faults, testing::ElementsAre(testing::HasSubstr("state.json")));
  EXPECT_EQ(checkpoint.state.trainer.steps, 900);
  EXPECT_EQ(ResumeTraining(request_, checkpoint, faults), 0);
  ExpectSameRun(whole, run, "from the older one");
  fs::resize_file(run / "checkpoints" / "1200" / "state.json", 10);
  fs::resize_file(run / "checkpoints" / "900" / "config.toml", 3);
  EXPECT_THROW(ReadNewestCheckpoint(run, faults), Error);
}

/// cartpole, but for a signal that comes at one step of it.
class InterruptedGame : public Game {
 public:
  explicit InterruptedGame(std::int64_t at) : game_(MakeGame("cartpole")), at_(at) {}
  const GameSpec& spec() const override { return game_->spec(); }
  void Reset(std::uint64_t seed) override { game_->Reset(seed); }
  StepResult Step(int action) override {
    if (++steps_ == at_) std::raise(SIGTERM);
    return game_->Step(action);
  }
  void WriteObservation(std::span<float> out) const override { game_->WriteObservation(out); }
  std::uint64_t StateHash() const override { return game_->StateHash(); }
  void Draw(DrawList& out) const override { game_->Draw(out); }

 private:
  const std::unique_ptr<Game> game_;
  const std::int64_t at_;
  std::int64_t steps_ = 0;
};

TEST_F(ResumeTest, EvaluationThatASignalCutShortIsMadeByTheRunThatGoesOn) {
  StopSignal::Install();
  const fs::path whole = Play("whole", {});
  for (const std::int64_t at : {1, 15}) {
    request_.folder = temporary_.path() / std::to_string(at);
    {
      RunLoop loop(request_, MakeGame("cartpole"), std::make_unique<InterruptedGame>(at));
      while (loop.Step()) {
      }
      EXPECT_EQ(loop.trainer().steps(), 250);
      EXPECT_EQ(loop.Finish(), 128 + SIGTERM);
      StopSignal::Clear();
    }
    std::vector<std::string> faults;
    const Checkpoint checkpoint = ReadNewestCheckpoint(request_.folder, faults);
    EXPECT_TRUE(checkpoint.state.evaluation_due);
    EXPECT_EQ(ResumeTraining(request_, checkpoint, faults), 0);
    ExpectSameRun(whole, request_.folder, "cut short at step " + std::to_string(at) + " of the evaluation");
  }
}

TEST_F(ResumeTest, MoreStepsThanFirstAskedForAreTheLongerRun) {
  request_.config.train.steps = 1500;
  const fs::path whole = Play("whole", {});
  request_.config.train.steps = 800;
  const fs::path run = Play("run", {});
  request_.config.train.steps = 1500;
  std::vector<std::string> faults;
  EXPECT_EQ(ResumeTraining(request_, ReadNewestCheckpoint(run, faults), faults), 0);
  ExpectSameRun(whole, run, "extended");
}

TEST_F(ResumeTest, FullSegmentsAreWrittenOnceAndLinked) {
  ReplayBuffer::Options options;
  options.capacity = 3000;
  options.observation_size = 1024;  // so that a segment of 4 MiB holds 1024 transitions
  ReplayBuffer replay(options);
  ReplayArchive archive(replay);
  std::vector<float> observation(1024);
  const auto add = [&](int count) {
    for (int i = 0; i < count; ++i) {
      if (!replay.in_episode()) replay.BeginEpisode(observation);
      observation[0] += 1.0f;
      replay.Add(0, 1.0f, replay.added() % 10 == 9 ? Ending::kTerminated : Ending::kNone, observation);
    }
  };
  static std::int64_t written;  // bytes, by the last write()
  const auto write = [&](const char* name) {
    const fs::path folder = temporary_.path() / name;
    fs::create_directory(folder);
    written = 0;
    file_calls.write = [](int descriptor, const void* bytes, std::size_t count) {
      written += static_cast<std::int64_t>(count);
      return kSystemFileCalls.write(descriptor, bytes, count);
    };
    auto parts = archive.Write(folder, folder);
    file_calls = kSystemFileCalls;
    return parts;
  };
  // Of a transition in its episode of ten: its observation, a tenth of a last one, and its record.
  const double transition_bytes = 1.1 * 4096 + 12;
  add(2500);
  EXPECT_EQ(write("a").size(), 3u);
  add(1000);  // the ring drops the first 500
  const auto parts = write("b");
  EXPECT_NEAR(static_cast<double>(written), (3500 - 2048) * transition_bytes, 20'000)
      << "what is new, and the beginning of the segment that was not full";
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].name, "replay-0.segment") << "still needed for its later part";
  EXPECT_EQ(fs::hard_link_count(temporary_.path() / "b" / "replay-0.segment"), 2u);
  EXPECT_EQ(fs::hard_link_count(temporary_.path() / "b" / "replay-1024.segment"), 2u);
  EXPECT_EQ(fs::hard_link_count(temporary_.path() / "b" / "replay-2048.segment"), 1u)
      << "it was not full before";
  add(2000);  // the ring begins at 2500
  EXPECT_EQ(write("c").size(), 4u);
  EXPECT_FALSE(fs::exists(temporary_.path() / "c" / "replay-1024.segment"));

  ReplayBuffer restored(options);
  const auto last = write("d");
  EXPECT_NEAR(static_cast<double>(written), (5500 - 5120) * transition_bytes, 20'000) << "nothing was new";
  RestoreReplay(temporary_.path() / "d", last, replay.added(), replay.size(), 1, restored);
  ASSERT_EQ(restored.size(), replay.size());
  for (std::int64_t i = 0; i < replay.size(); ++i) {
    const TransitionView want = replay.Transition(i);
    const TransitionView got = restored.Transition(i);
    ASSERT_TRUE(std::equal(want.observation.begin(), want.observation.end(), got.observation.begin())) << i;
    ASSERT_TRUE(
        std::equal(want.next_observation.begin(), want.next_observation.end(), got.next_observation.begin()));
    ASSERT_EQ(want.ending, got.ending);
    ASSERT_EQ(want.reward, got.reward);
    ASSERT_EQ(want.follows_previous, got.follows_previous) << i;
  }
}

TEST_F(ResumeTest, EveryCutAndFlippedByteOfASegmentIsRefusedOrRead) {
  // Behind the manifest's checksum; this is what the reader does when that does not help.
  ReplayBuffer::Options options;
  options.capacity = 8;
  options.observation_size = 2;
  ReplayBuffer replay(options);
  const std::vector<float> observation = {1.0f, 2.0f};
  for (int i = 0; i < 8; ++i) {
    if (!replay.in_episode()) replay.BeginEpisode(observation);
    replay.Add(1, 0.5f, i == 4 ? Ending::kTerminated : Ending::kNone, observation);
  }
  ReplayArchive archive(replay);
  const auto parts = archive.Write(temporary_.path(), temporary_.path());
  const fs::path path = temporary_.path() / parts[0].name;
  const std::string whole = ReadFile(path);
  const auto refuses = [&] {
    ReplayBuffer restored(options);
    try {
      RestoreReplay(temporary_.path(), parts, 8, 8, 2, restored);
      return false;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadCheckpoint);
      return true;
    }
  };
  const auto put = [&](std::size_t at, char byte) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  };
  ASSERT_FALSE(refuses());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      put(at, static_cast<char>(whole[at] ^ (1 << bit)));
      refuses();  // either way is right for data; it must not crash
    }
    put(at, whole[at]);
  }
  for (std::size_t length = whole.size(); length-- > 0;) {
    fs::resize_file(path, length);
    ASSERT_TRUE(refuses()) << length;
  }
}

}  // namespace
}  // namespace metronome
