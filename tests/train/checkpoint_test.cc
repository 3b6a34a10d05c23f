#include "metronome/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/hash.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigText = "# a run\n[game]\nname = \"cartpole\"\n";

NetworkSpec Network(std::vector<std::int64_t> hidden = {5, 3}) {
  NetworkSpec spec;
  spec.observation_shape = {4};
  spec.num_actions = 2;
  spec.layers.hidden = std::move(hidden);
  return spec;
}

std::unique_ptr<Learner> MakeTrained(const NetworkSpec& spec, std::uint64_t seed, int updates) {
  LearnerConfig config;
  config.batch_size = 4;
  config.target_update_period = 3;
  DeviceConfig device;
  device.threads = 1;
  Rng rng(seed);
  auto learner = MakeLearner(spec, config, device, rng);
  for (int update = 0; update < updates; ++update) {
    for (float& value : learner->batch().observations) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
    for (float& value : learner->batch().rewards) value = static_cast<float>(rng.Uniform(-1.0, 1.0));
    learner->Update();
  }
  return learner;
}

CheckpointState SomeState() {
  CheckpointState state;
  state.trainer.steps = 1234;
  state.trainer.episodes = 17;
  state.updates = 8;
  state.target_syncs = 2;
  state.best_mean = 33.25;
  state.trainer.streams["game"] = Rng(1, "game").SaveState();
  state.trainer.streams["sampling"] = Rng(1, "sampling").SaveState();
  return state;
}

/// Puts `bytes` in the file's place as something other than the program would: at once and without care.
void Overwrite(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

void PutByte(const fs::path& path, std::size_t at, char byte) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

std::vector<float> Copy(std::span<const float> values) { return {values.begin(), values.end()}; }

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : folder_(temporary_.path() / "1234"), learner_(MakeTrained(Network(), 1, 8)) {}

  void Write() {
    WriteCheckpoint(folder_, *learner_, MakeGame("cartpole")->spec(), Network(), kConfigText, SomeState());
  }

  /// What ReadCheckpoint() says against the folder; "" when it takes it.
  std::string Refusal() const {
    try {
      ReadCheckpoint(folder_);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadCheckpoint) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      return error.what();
    }
  }

  TemporaryFolder temporary_;
  fs::path folder_;
  std::unique_ptr<Learner> learner_;
};

TEST_F(CheckpointTest, HoldsEverythingThatWasWrittenToTheLastBit) {
  Write();
  const Checkpoint checkpoint = ReadCheckpoint(folder_);
  EXPECT_EQ(checkpoint.config_text, kConfigText);
  EXPECT_EQ(checkpoint.game, "cartpole");
  EXPECT_EQ(checkpoint.state.trainer.steps, 1234);
  EXPECT_EQ(checkpoint.state.trainer.episodes, 17);
  EXPECT_EQ(checkpoint.state.updates, 8);
  EXPECT_EQ(checkpoint.state.target_syncs, 2);
  EXPECT_EQ(checkpoint.state.best_mean, 33.25);
  EXPECT_EQ(checkpoint.state.trainer.streams, SomeState().trainer.streams);
  EXPECT_THAT(checkpoint.hidden, testing::ElementsAre(5, 3));

  const auto restored = MakeTrained(Network(), 2, 0);
  ASSERT_NE(Copy(restored->online()), Copy(learner_->online()));
  RestoreLearner(checkpoint, "cartpole", Network(), *restored);
  EXPECT_EQ(Copy(restored->online()), Copy(learner_->online()));
  EXPECT_EQ(Copy(restored->target()), Copy(learner_->target()));
  EXPECT_EQ(Copy(restored->first_moment()), Copy(learner_->first_moment()));
  EXPECT_EQ(Copy(restored->second_moment()), Copy(learner_->second_moment()));
  EXPECT_EQ(restored->updates(), 8);
  EXPECT_EQ(restored->target_syncs(), 2);
}

TEST_F(CheckpointTest, EqualStatesGiveEqualFiles) {
  Write();
  std::vector<std::string> before;
  for (const char* part : {"config.toml", "manifest.json", "state.json", "weights.safetensors"}) {
    before.push_back(ReadFile(folder_ / part));
  }
  Write();
  std::size_t index = 0;
  for (const char* part : {"config.toml", "manifest.json", "state.json", "weights.safetensors"}) {
    EXPECT_EQ(ReadFile(folder_ / part), before[index++]) << part;
  }
}

TEST_F(CheckpointTest, EveryFlippedByteOfEveryPartIsRefusedInOneLine) {
  Write();
  for (const char* part : {"config.toml", "manifest.json", "state.json", "weights.safetensors"}) {
    const std::string whole = ReadFile(folder_ / part);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const int bit : {0, 5}) {
        PutByte(folder_ / part, at, static_cast<char>(whole[at] ^ (1 << bit)));
        ASSERT_NE(Refusal(), "") << part << ", byte " << at << ", bit " << bit;
      }
      PutByte(folder_ / part, at, whole[at]);
    }
  }
  EXPECT_EQ(Refusal(), "");
}

TEST_F(CheckpointTest, EveryCutOfEveryPartIsRefusedInOneLine) {
  Write();
  for (const char* part : {"config.toml", "manifest.json", "state.json", "weights.safetensors"}) {
    const std::string whole = ReadFile(folder_ / part);
    for (std::size_t length = whole.size(); length-- > 0;) {
      fs::resize_file(folder_ / part, length);
      ASSERT_THAT(Refusal(), testing::HasSubstr(part)) << length;
    }
    fs::remove(folder_ / part);
    EXPECT_THAT(Refusal(), testing::AllOf(testing::HasSubstr(part), testing::HasSubstr("missing")));
    Overwrite(folder_ / part, whole);
  }
}

TEST_F(CheckpointTest, APartOfAnotherCheckpointIsRefused) {
  Write();
  const std::string weights = ReadFile(folder_ / "weights.safetensors");
  learner_ = MakeTrained(Network(), 3, 8);
  Write();
  Overwrite(folder_ / "weights.safetensors", weights);
  EXPECT_THAT(Refusal(), testing::HasSubstr("weights.safetensors"));
}

/// The manifest with one value replaced and all checksums put right, as a foreign or newer program might
/// write it.
void EditManifest(const fs::path& folder, const std::function<void(nlohmann::json&)>& edit) {
  nlohmann::json manifest = nlohmann::json::parse(ReadFile(folder / "manifest.json"));
  edit(manifest);
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx",
                static_cast<unsigned long long>(Checksum(manifest["parts"].dump())));
  manifest["checksum"] = digits;
  Overwrite(folder / "manifest.json", manifest.dump(2) + "\n");
}

TEST_F(CheckpointTest, AnotherVersionFormatOrPartIsRefusedByName) {
  Write();
  EditManifest(folder_, [](nlohmann::json&) {});
  ASSERT_EQ(Refusal(), "") << "the edit itself must leave a good checkpoint";
  const std::string good = ReadFile(folder_ / "manifest.json");
  EditManifest(folder_, [](nlohmann::json& manifest) { manifest["version"] = 2; });
  EXPECT_THAT(Refusal(), testing::AllOf(testing::HasSubstr("version 2"), testing::HasSubstr("version 1")));
  Overwrite(folder_ / "manifest.json", good);
  EditManifest(folder_, [](nlohmann::json& manifest) { manifest["format"] = "other-checkpoint"; });
  EXPECT_THAT(Refusal(), testing::HasSubstr("other-checkpoint"));
  Overwrite(folder_ / "manifest.json", good);
  EditManifest(folder_, [](nlohmann::json& manifest) { manifest["parts"]["extra.bin"] = {{"bytes", 0}}; });
  EXPECT_THAT(Refusal(), testing::HasSubstr("extra.bin"));
  Overwrite(folder_ / "manifest.json", good);
  EditManifest(folder_, [](nlohmann::json& manifest) { manifest["parts"]["state.json"]["bytes"] = "many"; });
  EXPECT_THAT(Refusal(), testing::HasSubstr("wrong type"));
}

TEST_F(CheckpointTest, BracketsWithoutEndAreRefusedAndDoNotOverflowTheStack) {
  Write();
  for (const char* part : {"manifest.json", "state.json"}) {
    const std::string good = ReadFile(folder_ / part);
    const std::string bad = R"({"format": "metronome-checkpoint", "version": 1, "parts": {"a": )" +
                            std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}}";
    Overwrite(folder_ / part, bad);
    if (part == std::string("state.json")) {
      EditManifest(folder_, [&](nlohmann::json& manifest) {
        char digits[17];
        std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(Checksum(bad)));
        manifest["parts"]["state.json"] = {{"bytes", bad.size()}, {"checksum", digits}};
      });
    }
    EXPECT_THAT(Refusal(), testing::AllOf(testing::HasSubstr(part), testing::HasSubstr("nested")));
    Overwrite(folder_ / part, good);
  }
}

TEST_F(CheckpointTest, AnotherGameOrNetworkIsRefusedWithBothShapes) {
  Write();
  const Checkpoint checkpoint = ReadCheckpoint(folder_);
  const auto refusal = [&](const std::string& game, const NetworkSpec& network) -> std::string {
    const auto learner = MakeTrained(network, 1, 0);
    try {
      RestoreLearner(checkpoint, game, network, *learner);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadCheckpoint);
      return error.what();
    }
  };
  EXPECT_EQ(refusal("cartpole", Network()), "");
  EXPECT_THAT(refusal("racer", Network()),
              testing::AllOf(testing::HasSubstr("cartpole"), testing::HasSubstr("racer")));
  EXPECT_THAT(refusal("cartpole", Network({5, 4})),
              testing::AllOf(testing::HasSubstr("[5,3]"), testing::HasSubstr("[5,4]")));
  NetworkSpec wide = Network();
  wide.observation_shape = {6};
  EXPECT_THAT(refusal("cartpole", wide),
              testing::AllOf(testing::HasSubstr("[4]"), testing::HasSubstr("[6]")));
  NetworkSpec more = Network();
  more.num_actions = 3;
  EXPECT_THAT(refusal("cartpole", more), testing::HasSubstr("actions"));
}

TEST_F(CheckpointTest, WeightsThatAreNotFiniteAreNeverSaved) {
  const std::vector<float> good = Copy(learner_->online());
  std::vector<float> bad = good;
  bad[7] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> zeros(good.size());
  learner_->Restore(bad, good, zeros, zeros, 8, 2);
  try {
    Write();
    FAIL() << "saved";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNonFinite);
    EXPECT_THAT(error.what(), testing::HasSubstr("hidden.0.weight"));
  }
  EXPECT_TRUE(fs::is_empty(temporary_.path())) << "nothing is left of the try";
}

TEST_F(CheckpointTest, PathMeansTheCheckpointItselfElseTheBestElseTheNewest) {
  const fs::path run = temporary_.path() / "run";
  const auto write = [&](const char* name) {
    fs::create_directories(run / "checkpoints");
    folder_ = run / "checkpoints" / name;
    Write();
  };
  const auto code = [](const fs::path& path) {
    try {
      FindCheckpoint(path);
      return ExitCode::kDone;
    } catch (const Error& error) {
      return error.code();
    }
  };
  EXPECT_EQ(code(run), ExitCode::kInputOutput);
  fs::create_directories(run / "checkpoints");
  EXPECT_EQ(code(run), ExitCode::kBadCheckpoint);
  write("900");
  write("1000");  // newer, though "900" sorts after it as text
  EXPECT_EQ(FindCheckpoint(run), run / "checkpoints" / "1000");
  write("best");
  EXPECT_EQ(FindCheckpoint(run), run / "checkpoints" / "best");
  EXPECT_EQ(FindCheckpoint(run / "checkpoints" / "900"), run / "checkpoints" / "900");
  EXPECT_THAT(NumberedCheckpoints(run),
              testing::ElementsAre(run / "checkpoints" / "900", run / "checkpoints" / "1000"));
  Overwrite(temporary_.path() / "file", "text");
  EXPECT_EQ(code(temporary_.path() / "file"), ExitCode::kBadCheckpoint);
}

}  // namespace
}  // namespace metronome
