#include "metronome/games/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/hash.h"
#include "support/allocation_counter.h"

namespace metronome {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kName[] = "some/recording";

/// Plays cartpole with its scripted player for `steps` steps, or to the end.
TimeLimit PlayCartpole(std::int64_t steps, std::uint64_t seed, Recorder& recorder, std::int64_t max_steps) {
  GameConfig config = MakeGameConfig("cartpole");
  config.max_episode_steps = max_steps;
  const auto policy = FindGame("cartpole").make_scripted_policy(config.parameters);
  TimeLimit game(config);
  game.Reset(seed);
  recorder.Begin(seed);
  std::vector<float> observation(4);
  EpisodeStep step;
  while (game.steps() < steps && !step.ended()) {
    game.game().WriteObservation(observation);
    const int action = policy->Act(observation);
    step = game.Step(action);
    recorder.Add(action, step, game.game());
  }
  return game;
}

Recording MakeRecording(std::int64_t steps, std::int64_t max_steps = 500, std::uint64_t seed = 7) {
  GameConfig config = MakeGameConfig("cartpole");
  config.max_episode_steps = max_steps;
  Recorder recorder(config, steps);
  const TimeLimit game = PlayCartpole(steps, seed, recorder, max_steps);
  return recorder.recording(game.game());
}

/// An episode that the rules end: always to the left.
Recording MakeTerminatedRecording() {
  const GameConfig config = MakeGameConfig("cartpole");
  TimeLimit game(config);
  Recorder recorder(config, 100);
  game.Reset(3);
  recorder.Begin(3);
  EpisodeStep step;
  while (!step.ended()) {
    step = game.Step(0);
    recorder.Add(0, step, game.game());
  }
  return recorder.recording(game.game());
}

void ExpectEqual(const Recording& got, const Recording& want) {
  EXPECT_EQ(got.game.name, want.game.name);
  EXPECT_TRUE(got.game.parameters == want.game.parameters);
  EXPECT_EQ(got.game.max_episode_steps, want.game.max_episode_steps);
  EXPECT_EQ(got.seed, want.seed);
  EXPECT_EQ(got.actions, want.actions);
  EXPECT_EQ(got.hashes, want.hashes);
  EXPECT_EQ(got.episode_return, want.episode_return);
  EXPECT_EQ(got.ending, want.ending);
}

/// The message of the Error (kBadCheckpoint, one line, `name` first) that `call` must throw.
template <typename Call>
std::string Refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadCheckpoint);
    EXPECT_THAT(error.what(), StartsWith(std::string(kName) + ": "));
    EXPECT_EQ(std::string(error.what()).find_first_of("\n\r"), std::string::npos);
    return error.what();
  }
  return "";
}

std::string ParseRefusal(const std::string& bytes) {
  return Refusal([&] { ParseRecording(bytes, kName); });
}

/// A file with the right first line for `body`.
std::string Sealed(const std::string& body) {
  char line[64];
  std::snprintf(line, sizeof line, "metronome-recording 1 %016llx\n",
                static_cast<unsigned long long>(Checksum(body)));
  return line + body;
}

std::string BodyOf(const std::string& bytes) { return bytes.substr(bytes.find('\n') + 1); }

/// The file of `recording` with `from`, which it must hold once, replaced, and sealed again.
std::string Altered(const Recording& recording, const std::string& from, const std::string& to) {
  std::string body = BodyOf(SerializeRecording(recording));
  const std::size_t place = body.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  if (place == std::string::npos) return "";
  EXPECT_EQ(body.find(from, place + 1), std::string::npos) << from;
  return Sealed(body.replace(place, from.size(), to));
}

TEST(RecordingTest, IsReadBackAsItWasWritten) {
  for (const std::int64_t steps : {0, 1, 63, 64, 65, 128, 200, 500}) {
    SCOPED_TRACE(steps);
    const Recording recording = MakeRecording(steps);
    ASSERT_EQ(static_cast<std::int64_t>(recording.actions.size()), steps);
    EXPECT_EQ(recording.ending, steps == 500 ? "truncated" : "unfinished");
    EXPECT_EQ(recording.episode_return, static_cast<double>(steps));
    ExpectEqual(ParseRecording(SerializeRecording(recording), kName), recording);
  }
  const Recording terminated = MakeTerminatedRecording();
  EXPECT_EQ(terminated.ending, "terminated");
  ExpectEqual(ParseRecording(SerializeRecording(terminated), kName), terminated);
}

TEST(RecordingTest, KeepsLargeSeedsAndOddReturnsToTheBit) {
  Recording recording = MakeRecording(10);
  recording.seed = std::numeric_limits<std::uint64_t>::max();
  recording.episode_return = 0.1 + 0.2;
  const Recording read = ParseRecording(SerializeRecording(recording), kName);
  EXPECT_EQ(read.seed, recording.seed);
  EXPECT_EQ(read.episode_return, recording.episode_return);
}

TEST(RecordingTest, KeepsParameters) {
  Recording recording = MakeRecording(0);
  recording.game.parameters.Set("sutton_barto_reward", true);
  EXPECT_TRUE(
      ParseRecording(SerializeRecording(recording), kName).game.parameters.GetBool("sutton_barto_reward"));
}

TEST(RecordingTest, FirstLineNamesFormatVersionAndChecksumOfTheRest) {
  const std::string bytes = SerializeRecording(MakeRecording(3));
  EXPECT_EQ(bytes, Sealed(BodyOf(bytes)));
  EXPECT_THAT(BodyOf(bytes),
              StartsWith("{\"game\":\"cartpole\",\"parameters\":{\"sutton_barto_reward\":false},"
                         "\"max_episode_steps\":500,\"seed\":7,\"return\":3.0,"
                         "\"ending\":\"unfinished\",\"actions\":["));
}

TEST(RecordingTest, FileIsReadBackAsItWasWritten) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "metronome_recording_test.rec";
  const Recording recording = MakeRecording(100);
  WriteRecording(recording, path);
  ExpectEqual(ReadRecording(path), recording);
  std::filesystem::remove(path);
  try {
    ReadRecording(path);
    FAIL() << "a file that does not exist was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kInputOutput);
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
  }
}

TEST(RecordingTest, NeverHoldsAReturnThatIsNotFinite) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Recording recording = MakeRecording(3);
    recording.episode_return = value;
    try {
      SerializeRecording(recording);
      FAIL() << "written";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kNonFinite);
    }
  }
}

TEST(RecorderTest, CanBeReadInMidEpisodeAndGoesOn) {
  const GameConfig config = MakeGameConfig("cartpole");
  TimeLimit game(config);
  Recorder recorder(config, 500);
  game.Reset(1);
  recorder.Begin(1);
  for (int i = 0; i <= 12; ++i) {
    // Read twice before every step: it must neither change what is kept nor add a hash for good.
    EXPECT_EQ(recorder.recording(game.game()).actions.size(), static_cast<std::size_t>(i));
    EXPECT_EQ(recorder.recording(game.game()).hashes.size(), 1u);
    EXPECT_EQ(recorder.recording(game.game()).hashes.back(), game.game().StateHash());
    if (i == 12) break;
    recorder.Add(i % 2, game.Step(i % 2), game.game());
  }
  const TimeLimit replayed = Replay(recorder.recording(game.game()), kName);
  EXPECT_EQ(replayed.game().StateHash(), game.game().StateHash());
  EXPECT_EQ(replayed.steps(), 12);
}

TEST(RecorderTest, HashesDoNotDependOnWhenItWasRead) {
  const GameConfig config = MakeGameConfig("cartpole");
  const auto policy = FindGame("cartpole").make_scripted_policy(config.parameters);
  TimeLimit game(config);
  Recorder read_often(config, 500);
  Recorder read_once(config, 500);
  game.Reset(5);
  read_often.Begin(5);
  read_once.Begin(5);
  std::vector<float> observation(4);
  EpisodeStep step;
  while (!step.ended()) {
    game.game().WriteObservation(observation);
    const int action = policy->Act(observation);
    step = game.Step(action);
    read_often.Add(action, step, game.game());
    read_once.Add(action, step, game.game());
    read_often.recording(game.game());
  }
  ASSERT_EQ(game.steps(), 500);
  ExpectEqual(read_often.recording(game.game()), read_once.recording(game.game()));
  EXPECT_EQ(read_once.recording(game.game()).hashes.size(), 8u) << "500 / 64, rounded up";
}

TEST(RecorderTest, BeginForgetsTheEpisodeBefore) {
  const GameConfig config = MakeGameConfig("cartpole");
  Recorder used(config, 500);
  PlayCartpole(300, 9, used, 500);
  const TimeLimit game = PlayCartpole(70, 2, used, 500);
  Recorder fresh(config, 500);
  const TimeLimit again = PlayCartpole(70, 2, fresh, 500);
  ExpectEqual(used.recording(game.game()), fresh.recording(again.game()));
}

TEST(RecorderTest, TakesTheGamesOwnLimitWhereTheConfigHasNone) {
  TimeLimit game(MakeGameConfig("cartpole"));
  game.Reset(1);
  Recorder recorder(MakeGameConfig("cartpole"), 1);
  recorder.Begin(1);
  EXPECT_EQ(recorder.recording(game.game()).game.max_episode_steps, 500);
}

TEST(RecorderTest, AllocatesNothingWithinItsReserve) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const GameConfig config = MakeGameConfig("cartpole");
  TimeLimit game(config);
  Recorder recorder(config, 500);
  std::int64_t allocations = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const AllocationScope scope;
    game.Reset(seed);
    recorder.Begin(seed);
    EpisodeStep step;
    for (int i = 0; !step.ended(); ++i) {
      step = game.Step(i % 2);
      recorder.Add(i % 2, step, game.game());
      recorder.recording(game.game());
    }
    allocations += scope.count();
  }
  EXPECT_EQ(allocations, 0);
}

TEST(RecordingParseTest, RefusesEveryCutLength) {
  const std::string bytes = SerializeRecording(MakeRecording(70));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    ASSERT_NE(ParseRefusal(bytes.substr(0, length)), "")
        << length << " of " << bytes.size() << " bytes were taken";
  }
}

TEST(RecordingParseTest, RefusesEveryFlippedBitOfEveryByte) {
  const std::string bytes = SerializeRecording(MakeRecording(70));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ (1u << bit));
      ASSERT_NE(ParseRefusal(damaged), "") << "byte " << i << " bit " << bit;
    }
  }
}

TEST(RecordingParseTest, RefusesAnythingAppended) {
  const std::string bytes = SerializeRecording(MakeRecording(3));
  EXPECT_NE(ParseRefusal(bytes + "\n"), "");
  EXPECT_NE(ParseRefusal(bytes + std::string(1, '\0')), "");
  EXPECT_NE(ParseRefusal(Sealed(BodyOf(bytes) + "{}")), "") << "two objects under one seal";
}

TEST(RecordingParseTest, RefusesAnotherVersionAndNamesBoth) {
  std::string bytes = SerializeRecording(MakeRecording(3));
  bytes.replace(bytes.find(" 1 "), 3, " 2 ");
  const std::string message = ParseRefusal(bytes);
  EXPECT_THAT(message, HasSubstr("version \"2\""));
  EXPECT_THAT(message, HasSubstr("version 1"));
}

TEST(RecordingParseTest, RefusesAnotherKindOfFile) {
  EXPECT_THAT(ParseRefusal("{}\n"), HasSubstr("not a recording"));
  EXPECT_THAT(ParseRefusal(std::string(100, '\xff')), HasSubstr("not a recording"));
}

TEST(RecordingParseTest, RefusesAGameThatIsNotThere) {
  const Recording recording = MakeRecording(3);
  EXPECT_THAT(ParseRefusal(Altered(recording, "\"cartpole\"", "\"catrpole\"")), HasSubstr("\"catrpole\""));
  // Whatever the name is, the message stays one line: ParseRefusal() looks.
  EXPECT_NE(ParseRefusal(Altered(recording, "\"cartpole\"", "\"a\\nb\"")), "");
  EXPECT_NE(ParseRefusal(Altered(recording, "\"cartpole\"", "5")), "");
}

TEST(RecordingParseTest, RefusesForeignMissingAndRepeatedKeys) {
  const Recording recording = MakeRecording(3);
  EXPECT_THAT(ParseRefusal(Altered(recording, "\"seed\"", "\"sead\"")), HasSubstr("foreign key \"sead\""));
  EXPECT_THAT(ParseRefusal(Altered(recording, "\"seed\":7,", "")), HasSubstr("\"seed\" is missing"));
  EXPECT_THAT(ParseRefusal(Altered(recording, "\"seed\":7,", "\"seed\":7,\"seed\":8,")), HasSubstr("twice"));
  const char* const kKeys[] = {"game",    "parameters", "max_episode_steps", "seed", "return", "ending",
                               "actions", "hashes",     "metronome_version"};
  for (const std::string key : kKeys) {
    EXPECT_NE(ParseRefusal(Altered(recording, "\"" + key + "\":", "\"x" + key + "\":")), "") << key;
    EXPECT_NE(ParseRefusal(Altered(recording, "\"" + key + "\":", "\"" + key + "\":null,\"x\":")), "") << key;
  }
}

TEST(RecordingParseTest, RefusesForeignParameters) {
  const Recording recording = MakeRecording(3);
  const std::string parameter = "\"sutton_barto_reward\":false";
  EXPECT_THAT(ParseRefusal(Altered(recording, parameter, "")),
              HasSubstr("\"sutton_barto_reward\" is missing"));
  EXPECT_THAT(ParseRefusal(Altered(recording, parameter, parameter + ",\"gravity\":9.8")),
              HasSubstr("\"gravity\""));
  EXPECT_NE(ParseRefusal(Altered(recording, parameter, parameter + "," + parameter)), "");
  EXPECT_NE(ParseRefusal(Altered(recording, parameter, "\"sutton_barto_reward\":0")), "");
  EXPECT_NE(ParseRefusal(Altered(recording, parameter, "\"sutton_barto_reward\":\"no\"")), "");
  EXPECT_NE(ParseRefusal(Altered(recording, "{" + parameter + "}", "[]")), "");
}

TEST(RecordingParseTest, RefusesActionsThatTheGameHasNot) {
  Recording recording = MakeRecording(2);
  recording.actions = {0, 1};
  for (const char* const action :
       {"2", "-1", "0.5", "1.0", "true", "\"1\"", "null", "[0]", "4294967296", "99999999999999999999999"}) {
    const std::string message = ParseRefusal(Altered(recording, "[0,1]", std::string("[0,") + action + "]"));
    EXPECT_THAT(message, HasSubstr("action 1 is not a whole number from 0 to 1")) << action;
  }
  EXPECT_NE(ParseRefusal(Altered(recording, "[0,1]", "{}")), "");
}

TEST(RecordingParseTest, RefusesHashesThatDoNotGoWithTheActions) {
  const Recording recording = MakeRecording(2);
  const std::string body = BodyOf(SerializeRecording(recording));
  const std::size_t start = body.find("\"hashes\":[") + 10;
  const std::string hash = body.substr(start, 18);
  EXPECT_THAT(ParseRefusal(Altered(recording, hash, "")), HasSubstr("0 hashes for 2 actions; must be 1"));
  EXPECT_THAT(ParseRefusal(Altered(recording, hash, hash + "," + hash)), HasSubstr("2 hashes for 2 actions"));
  EXPECT_NE(ParseRefusal(Altered(recording, hash, "7")), "");
  EXPECT_NE(ParseRefusal(Altered(recording, hash, "\"123\"")), "");
}

TEST(RecordingParseTest, RefusesOtherValuesOfTheWrongKind) {
  const Recording recording = MakeRecording(3);
  for (const char* const limit : {"-1", "1.5", "\"500\"", "18446744073709551615"}) {
    EXPECT_NE(ParseRefusal(Altered(recording, "\"max_episode_steps\":500",
                                   std::string("\"max_episode_steps\":") + limit)),
              "")
        << limit;
  }
  for (const char* const seed : {"-1", "1.5", "\"7\"", "18446744073709551616"}) {
    EXPECT_NE(ParseRefusal(Altered(recording, "\"seed\":7", std::string("\"seed\":") + seed)), "") << seed;
  }
  EXPECT_NE(ParseRefusal(Altered(recording, "\"return\":3.0", "\"return\":null")), "");
  EXPECT_NE(ParseRefusal(Altered(recording, "\"return\":3.0", "\"return\":1e999")), "");
  EXPECT_THAT(ParseRefusal(Altered(recording, "\"unfinished\"", "\"done\"")), HasSubstr("\"done\""));
  EXPECT_NE(ParseRefusal(Sealed("")), "");
  EXPECT_NE(ParseRefusal(Sealed("[]\n")), "");
  EXPECT_NE(ParseRefusal(Sealed("not json\n")), "");
  EXPECT_NE(ParseRefusal(Sealed(std::string(200'000, '['))), "");
}

TEST(ReplayTest, EndsWhereTheEpisodeEnded) {
  const Recording terminated = MakeTerminatedRecording();
  EXPECT_EQ(Replay(terminated, kName).steps(), static_cast<std::int64_t>(terminated.actions.size()));
  EXPECT_EQ(Replay(MakeRecording(500), kName).steps(), 500);
  EXPECT_EQ(Replay(MakeRecording(0), kName).steps(), 0);
}

// Restoring an episode in progress: the replayed game goes on like the one that was recorded.
TEST(ReplayTest, GameGoesOnLikeTheRecordedOne) {
  const GameConfig config = MakeGameConfig("cartpole");
  Recorder recorder(config, 500);
  TimeLimit game = PlayCartpole(100, 4, recorder, 500);
  TimeLimit replayed = Replay(recorder.recording(game.game()), kName);
  for (int i = 0; i < 10; ++i) {
    game.Step(i % 2);
    replayed.Step(i % 2);
    ASSERT_EQ(replayed.game().StateHash(), game.game().StateHash());
    ASSERT_EQ(replayed.steps(), game.steps());
  }
}

std::string ReplayRefusal(const Recording& recording) {
  return Refusal([&] { Replay(recording, kName); });
}

TEST(ReplayTest, NamesTheStepWhereTheStateDiffers) {
  Recording recording = MakeRecording(200);
  recording.hashes[1] ^= 1;
  EXPECT_THAT(ReplayRefusal(recording), HasSubstr("after step 128"));
  recording = MakeRecording(200);
  recording.hashes.back() ^= 1;
  EXPECT_THAT(ReplayRefusal(recording), HasSubstr("after step 200"));
  recording = MakeRecording(200);
  recording.actions[127] ^= 1;
  EXPECT_THAT(ReplayRefusal(recording), HasSubstr("after step 128"));
  recording = MakeRecording(0);
  recording.seed ^= 1;
  EXPECT_THAT(ReplayRefusal(recording), HasSubstr("after step 0"));
}

TEST(ReplayTest, RefusesAnotherReturnOrEnd) {
  Recording recording = MakeRecording(200);
  recording.episode_return = 199.0;
  EXPECT_THAT(ReplayRefusal(recording),
              HasSubstr("the return is 200 after step 200, the recording says 199"));
  recording = MakeRecording(200);
  recording.ending = "terminated";
  EXPECT_THAT(ReplayRefusal(recording), HasSubstr("unfinished after step 200"));
  recording = MakeRecording(500);
  recording.ending = "unfinished";
  EXPECT_THAT(ReplayRefusal(recording), HasSubstr("truncated after step 500"));
}

TEST(ReplayTest, RefusesActionsAfterTheEnd) {
  Recording recording = MakeTerminatedRecording();
  recording.actions.push_back(0);
  EXPECT_THAT(ReplayRefusal(recording), HasSubstr("the episode is over (terminated)"));
  recording = MakeRecording(100);
  recording.game.max_episode_steps = 90;
  EXPECT_THAT(ReplayRefusal(recording), HasSubstr("the episode is over (truncated) after step 90"));
}

}  // namespace
}  // namespace metronome
