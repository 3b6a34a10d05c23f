// watch and play from outside, with a network that was trained for a second.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/program.h"
#include "metronome/games/recording.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> kDummy = {"SDL_VIDEODRIVER=dummy", "DISPLAY", "WAYLAND_DISPLAY"};
const std::vector<std::string> kNoScreen = {"SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY",
                                            "XDG_RUNTIME_DIR"};

std::vector<std::string> Lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class WatchTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = std::make_unique<TemporaryFolder>();
    WriteText(shared_->path() / "run.toml",
              "[game]\nname = \"cartpole\"\nmax_episode_steps = 100\n[network]\nhidden = [16]\n"
              "[learner]\nbatch_size = 16\n[replay]\ncapacity = 1000\nwarmup = 100\n"
              "[train]\nsteps = 1200\n[eval]\nperiod = 600\nepisodes = 3\n"
              "[checkpoint]\nperiod = 400\nkeep = 3\n[device]\nname = \"cpu\"\nthreads = 1\n");
    Program::Options options;
    options.arguments = {"train", "--config", "run.toml", "--run", "run"};
    options.folder = shared_->path();
    const ProgramResult result = Program(options).Wait();
    ASSERT_EQ(result.code, 0) << result.error;
  }
  static void TearDownTestSuite() { shared_.reset(); }

  static fs::path Run() { return shared_->path() / "run"; }

  Program::Options With(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment) const {
    Program::Options options;
    options.arguments = arguments;
    options.folder = folder_.path();
    options.environment = environment;
    return options;
  }
  ProgramResult Call(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& environment = kDummy) const {
    return Program(With(arguments, environment)).Wait();
  }

  /// The one line with which the program refuses.
  std::string Refusal(const std::vector<std::string>& arguments, int code,
                      const std::vector<std::string>& environment = kDummy) const {
    const ProgramResult result = Call(arguments, environment);
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(Lines(result.error).size(), 1u) << result.error;
    EXPECT_THAT(result.error, AllOf(StartsWith("metronome: "), EndsWith("\n")));
    return result.error;
  }

  fs::path MakeRecording(const std::string& name = "made.recording") const {
    const GameConfig game = MakeGameConfig("cartpole");
    TimeLimit environment(game);
    Recorder recorder(game, 500);
    environment.Reset(7);
    recorder.Begin(7);
    for (EpisodeStep step; !step.ended();) {
      const int action = static_cast<int>(environment.steps() % 2);
      step = environment.Step(action);
      recorder.Add(action, step, environment.game());
    }
    const fs::path path = folder_.path() / name;
    WriteRecording(recorder.recording(environment.game()), path);
    return path;
  }

  const TemporaryFolder folder_;

 private:
  static std::unique_ptr<TemporaryFolder> shared_;
};

std::unique_ptr<TemporaryFolder> WatchTest::shared_;

TEST_F(WatchTest, ShowsTheEpisodesThatEvalPlays) {
  const ProgramResult eval = Call({"eval", Run().string(), "--episodes", "3", "--seed", "5"});
  ASSERT_EQ(eval.code, 0) << eval.error;
  const std::vector<std::string> expected = Lines(eval.output);
  for (const std::string speed : {"1000", "fastest"}) {
    const ProgramResult watch =
        Call({"watch", Run().string(), "--episodes", "3", "--seed", "5", "--speed", speed});
    ASSERT_EQ(watch.code, 0) << watch.error;
    const std::vector<std::string> lines = Lines(watch.output);
    ASSERT_EQ(lines.size(), 3u) << watch.output;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_THAT(lines[i], StartsWith(expected[i + 1]));
  }
}

TEST_F(WatchTest, NeedsOnlyTheCheckpoint) {
  fs::copy(Run() / "checkpoints" / "1200", folder_.path() / "alone", fs::copy_options::recursive);
  const ProgramResult result = Call({"watch", "alone", "--episodes", "1", "--speed", "fastest"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("checkpoint of step 1200"));
}

TEST_F(WatchTest, ChangesNothingInTheRun) {
  const auto state = [&] {
    std::string text;
    for (const auto& entry : fs::recursive_directory_iterator(Run())) {
      if (!entry.is_regular_file()) continue;
      text += entry.path().string() + " " + std::to_string(entry.file_size()) + " " +
              std::to_string(entry.last_write_time().time_since_epoch().count()) + "\n";
    }
    return text;
  };
  const std::string before = state();
  EXPECT_EQ(Call({"watch", Run().string(), "--episodes", "1", "--speed", "fastest", "--epsilon", "0.5"}).code,
            0);
  EXPECT_EQ(state(), before);
}

TEST_F(WatchTest, WithoutAScreenItSaysSoInOneLine) {
  EXPECT_THAT(Refusal({"watch", Run().string()}, 1, kNoScreen), HasSubstr("no screen to open a window on"));
  EXPECT_THAT(Refusal({"watch", Run().string()}, 1, {"SDL_VIDEODRIVER=nonsense"}),
              HasSubstr("no screen to open a window on (nonsense not available)"));
}

TEST_F(WatchTest, TrainingNeedsNoScreen) {
  WriteText(folder_.path() / "run.toml",
            "[game]\nname = \"cartpole\"\n[learner]\nbatch_size = 8\n[replay]\ncapacity = 200\nwarmup = 20\n"
            "[train]\nsteps = 100\n[eval]\nperiod = 0\n");
  EXPECT_EQ(Call({"train", "--config", "run.toml"}, {"SDL_VIDEODRIVER=nonsense", "DISPLAY"}).code, 0);
}

TEST_F(WatchTest, RecordsWithoutAScreen) {
  const ProgramResult result =
      Call({"watch", Run().string(), "--record", "pictures", "--size", "320x240"}, kNoScreen);
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  const auto count =
      std::distance(fs::directory_iterator(folder_.path() / "pictures"), fs::directory_iterator());
  EXPECT_THAT(result.output,
              HasSubstr("recorded " + std::to_string(count) + " frames, 60 a second, to pictures"));
  EXPECT_THAT(Refusal({"watch", Run().string(), "--record", "pictures"}, 2), HasSubstr("exists already"));
}

TEST_F(WatchTest, AnMp4NeedsFfmpeg) {
  EXPECT_THAT(
      Refusal({"watch", Run().string(), "--record", "film.mp4"}, 1, {"PATH=" + folder_.path().string()}),
      HasSubstr("needs the ffmpeg program, which is not in PATH"));
}

TEST_F(WatchTest, ReplaysARecordingExactly) {
  const fs::path path = MakeRecording();
  const Recording recording = ReadRecording(path);
  const ProgramResult result = Call({"watch", path.string(), "--episodes", "1", "--speed", "fastest"});
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("length " + std::to_string(recording.actions.size()) + ", terminated"),
                    HasSubstr("seed 7")));
}

TEST_F(WatchTest, ARunLeavesRecordingsThatReplay) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(Run() / "recordings")) {
    names.push_back(entry.path().filename().string());
    const ProgramResult result =
        Call({"watch", entry.path().string(), "--episodes", "1", "--speed", "fastest"});
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_THAT(result.output, StartsWith("episode 1: return "));
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("best.recording", "latest.recording",
                                                     "eval-best.recording", "eval-worst.recording"));
}

TEST_F(WatchTest, PlayNamesTheBestAgentOfTheRunsHere) {
  // The run's own step limit is another than the game's: its recordings are not of the same rules.
  fs::create_directories(folder_.path() / "runs" / "one" / "recordings");
  const fs::path recording = MakeRecording();
  fs::copy(recording, folder_.path() / "runs" / "one" / "recordings" / "best.recording");
  fs::copy(Run(), folder_.path() / "runs" / "two", fs::copy_options::recursive);
  const fs::path output = folder_.path() / "output.txt";
  Program::Options options = With({"play", "cartpole"}, kDummy);
  options.output_file = output;
  Program play(options);
  for (int i = 0; i < 2000 && play.Running() && (!fs::exists(output) || fs::file_size(output) == 0); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  play.Signal(SIGTERM);
  const ProgramResult result = play.Wait();
  char expected[64];
  std::snprintf(expected, sizeof expected, "best agent: %.2f;", ReadRecording(recording).episode_return);
  EXPECT_THAT(result.output, AllOf(HasSubstr("best by hand: none yet"), HasSubstr(expected)));
}

TEST_F(WatchTest, RefusesABadRecording) {
  const fs::path path = MakeRecording();
  const std::string good = ReadText(path);
  std::string bad = good;
  bad[bad.size() / 2] ^= 1;
  WriteText(path, bad);
  EXPECT_THAT(Refusal({"watch", path.string()}, 3), HasSubstr("damaged recording"));
  WriteText(path, "metronome-recording 99" + good.substr(good.find(' ', 20)));
  EXPECT_THAT(Refusal({"watch", path.string()}, 3), HasSubstr("format version"));
  WriteText(path, "something else");
  EXPECT_THAT(Refusal({"watch", path.string()}, 3), HasSubstr("not a recording"));

  // Well written, but not what the game does.
  Recording other = ReadRecording(MakeRecording("other.recording"));
  other.hashes.back() ^= 1;
  WriteRecording(other, path);
  EXPECT_THAT(Refusal({"watch", path.string()}, 3), HasSubstr("made by other rules or arithmetic"));
}

TEST_F(WatchTest, RefusesWhatDoesNotFitTogether) {
  const std::string run = Run().string();
  const std::string recording = MakeRecording().string();
  EXPECT_THAT(Refusal({"watch", run, "--speed", "0"}, 2), HasSubstr("--speed"));
  EXPECT_THAT(Refusal({"watch", run, "--speed", "1001"}, 2), HasSubstr("or fastest"));
  EXPECT_THAT(Refusal({"watch", run, "--episodes", "0"}, 2), HasSubstr("--episodes"));
  EXPECT_THAT(Refusal({"watch", run, "--epsilon", "2"}, 2), HasSubstr("--epsilon"));
  EXPECT_THAT(Refusal({"watch", run, "--size", "big"}, 2), HasSubstr("--size"));
  EXPECT_THAT(Refusal({"watch", run, "--size", "321x240"}, 2), HasSubstr("even"));
  EXPECT_THAT(Refusal({"watch", run, "--set", "game.x=1"}, 2), HasSubstr("--policy"));
  EXPECT_THAT(Refusal({"watch", run, "--record", "film.avi"}, 2), HasSubstr("FILE.mp4"));
  EXPECT_THAT(Refusal({"watch", run, "--record", "film", "--speed", "fastest"}, 2),
              HasSubstr("needs a number"));
  EXPECT_THAT(Refusal({"watch", recording, "--seed", "3"}, 2), HasSubstr("--seed"));
  EXPECT_THAT(Refusal({"watch", recording, "--follow"}, 2), HasSubstr("--follow"));
  EXPECT_THAT(Refusal({"watch", "cartpole"}, 2), HasSubstr("say who plays it"));
  EXPECT_THAT(Refusal({"watch", "cartpole", "--policy", "good"}, 2), HasSubstr("random or scripted"));
  EXPECT_THAT(Refusal({"watch", "nowhere"}, 1), HasSubstr("nowhere"));
  EXPECT_THAT(Refusal({"watch", "nowhere", "--follow"}, 1), HasSubstr("not a run folder"));
  EXPECT_THAT(Refusal({"play", "chess"}, 2), HasSubstr("chess"));
  EXPECT_THAT(Refusal({"play", "racer", "--set", "game.gripp=3"}, 2), HasSubstr("grip"));
  EXPECT_THAT(Refusal({"play", "racer", "--set", "learner.loss=mse"}, 2),
              HasSubstr("settings of the game alone"));
}

TEST_F(WatchTest, SignalsEndItWithTheirCode) {
  // Each is told to stop once it has said something, so is past its start.
  const fs::path output = folder_.path() / "output.txt";
  const auto code = [&](const std::vector<std::string>& arguments, int number) {
    fs::remove(output);
    Program::Options options = With(arguments, kDummy);
    options.output_file = output;
    Program program(options);
    for (int i = 0; i < 2000 && program.Running() && (!fs::exists(output) || fs::file_size(output) == 0);
         ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    program.Signal(number);
    return program.Wait().code;
  };
  for (const int number : {SIGINT, SIGTERM}) {
    EXPECT_EQ(code({"watch", Run().string(), "--speed", "fastest"}, number), 128 + number);
    EXPECT_EQ(code({"play", "racer"}, number), 128 + number);
    EXPECT_EQ(code({"watch", "cartpole", "--policy", "random", "--record", "film", "--episodes", "100000",
                    "--size", "320x240"},
                   number),
              128 + number);
  }
  EXPECT_TRUE(fs::is_empty(folder_.path())) << "no film that isn't whole";
}

TEST_F(WatchTest, FollowTakesTheNewestCheckpointForEachEpisode) {
  const fs::path run = folder_.path() / "run";
  const fs::path checkpoints = run / "checkpoints";
  fs::create_directories(checkpoints);
  fs::path output = folder_.path() / "output.txt";
  Program::Options options = With({"watch", "run", "--follow", "--episodes", "3", "--speed", "4"}, kDummy);
  options.output_file = output;
  Program watch(options);
  const auto copy = [&](const std::string& step) {
    fs::copy(Run() / "checkpoints" / step, checkpoints / ("." + step), fs::copy_options::recursive);
    fs::rename(checkpoints / ("." + step), checkpoints / step);
  };
  const auto wait_for_lines = [&](std::size_t count) {
    for (int i = 0; i < 600 && Lines(ReadText(output)).size() < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // while there is none it waits
  copy("400");
  wait_for_lines(1);
  copy("1200");
  const ProgramResult result = watch.Wait();
  EXPECT_EQ(result.code, 0) << result.error;
  const std::vector<std::string> lines = Lines(result.output);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines.front(), EndsWith("checkpoint of step 400"));
  EXPECT_THAT(lines.back(), EndsWith("checkpoint of step 1200"));
}

}  // namespace
}  // namespace metronome
