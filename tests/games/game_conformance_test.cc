// What must hold for every game. Runs for each one that is registered, so a new game is covered without new
// test code. A failure names the game, and the seed and step where it has one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "metronome/core/rng.h"
#include "metronome/games/recording.h"
#include "metronome/games/registry.h"
#include "metronome/games/time_limit.h"
#include "support/allocation_counter.h"

namespace metronome {
namespace {

using Actions = std::vector<int>;

class GameConformanceTest : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Game> Make() { return MakeGame(GetParam()); }

  static std::vector<float> Observe(const Game& game) {
    std::vector<float> observation(static_cast<std::size_t>(game.spec().observation.size()));
    game.WriteObservation(observation);
    return observation;
  }

  static int RandomAction(const Game& game, Rng& rng) {
    return static_cast<int>(rng.UniformInt(game.spec().num_actions()));
  }

  /// The game's scripted player where it has one, with some random actions among its own, so that a game is
  /// seen beyond its first seconds; else random actions.
  class Player {
   public:
    explicit Player(std::uint64_t seed) : rng_(seed) {
      const GameInfo& info = FindGame(GetParam());
      if (info.make_scripted_policy != nullptr) {
        policy_ = info.make_scripted_policy(GameParameters(info.parameters));
      }
    }
    void Reset() {
      if (policy_ != nullptr) policy_->Reset();
    }
    int Act(const Game& game) {
      if (policy_ != nullptr && rng_.Uniform() < 0.9) return policy_->Act(Observe(game));
      return RandomAction(game, rng_);
    }

   private:
    Rng rng_;
    std::unique_ptr<ScriptedPolicy> policy_;
  };

  /// Calls `visit` after the Reset() of each episode and after each of its steps.
  template <typename Visit>
  static void Play(Game& game, std::uint64_t first_seed, int episodes, int max_steps, Visit visit) {
    Player player(first_seed);
    for (int episode = 0; episode < episodes; ++episode) {
      const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(episode);
      SCOPED_TRACE("seed " + std::to_string(seed));
      game.Reset(seed);
      player.Reset();
      visit(0);
      for (int step = 1; step <= max_steps; ++step) {
        const bool terminated = game.Step(player.Act(game)).terminated;
        visit(step);
        if (terminated || testing::Test::HasFatalFailure()) break;
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  static void ExpectWithinDeclaredRange(const Game& game) {
    const ObservationSpec& spec = game.spec().observation;
    const std::vector<float> observation = Observe(game);
    const std::size_t elements_per_feature = observation.size() / spec.features.size();
    for (std::size_t i = 0; i < observation.size(); ++i) {
      const ObservationFeature& feature = spec.features[i / elements_per_feature];
      const float value = observation[i];
      ASSERT_TRUE(std::isfinite(value)) << "element " << i << ", " << feature.name;
      // In the observation's own precision: a bound may round outwards like the value does.
      ASSERT_GE(value, static_cast<float>(feature.low)) << "element " << i << ", " << feature.name;
      ASSERT_LE(value, static_cast<float>(feature.high)) << "element " << i << ", " << feature.name;
      if (spec.type == ElementType::kUint8) {
        ASSERT_EQ(value, std::floor(value)) << "element " << i << ", " << feature.name;
        ASSERT_TRUE(value >= 0.0f && value <= 255.0f) << "element " << i << ", " << feature.name;
      }
    }
  }
};

TEST_P(GameConformanceTest, SpecDescribesTheGame) {
  const auto game = Make();
  const GameSpec& spec = game->spec();
  EXPECT_EQ(spec.name, GetParam());
  EXPECT_FALSE(FindGame(GetParam()).summary.empty());
  EXPECT_GE(spec.num_actions(), 2);
  EXPECT_GT(spec.tick_rate_hz, 0.0);
  EXPECT_GE(spec.ticks_per_step, 1);
  EXPECT_GE(spec.default_max_episode_steps, 0);
  EXPECT_GT(spec.draw_width, 0.0);
  EXPECT_GT(spec.draw_height, 0.0);
}

TEST_P(GameConformanceTest, EveryActionHasANameAndKeysOfItsOwn) {
  const auto game = Make();
  std::set<std::string> names;
  std::set<std::set<std::string>> keys;
  for (const ActionSpec& action : game->spec().actions) {
    EXPECT_FALSE(action.name.empty());
    EXPECT_TRUE(names.insert(action.name).second) << "two actions are called " << action.name;
    const std::set<std::string> held(action.keys.begin(), action.keys.end());
    EXPECT_EQ(held.size(), action.keys.size()) << action.name << " names a key twice";
    EXPECT_FALSE(held.contains("")) << action.name;
    EXPECT_TRUE(keys.insert(held).second) << action.name << " has the keys of another action";
  }
}

TEST_P(GameConformanceTest, ObservationSpecIsConsistent) {
  const auto game = Make();
  const ObservationSpec& spec = game->spec().observation;
  ASSERT_TRUE(spec.shape.size() == 1 || spec.shape.size() == 3) << "a vector (N) or a grid (C, H, W)";
  for (const std::int64_t extent : spec.shape) EXPECT_GT(extent, 0);
  ASSERT_EQ(static_cast<std::int64_t>(spec.features.size()), spec.shape[0]);
  std::set<std::string> names;
  for (const ObservationFeature& feature : spec.features) {
    EXPECT_FALSE(feature.name.empty());
    EXPECT_TRUE(names.insert(feature.name).second) << "two features are called " << feature.name;
    EXPECT_LT(feature.low, feature.high) << feature.name;
  }
}

TEST_P(GameConformanceTest, ParametersAreExplained) {
  const GameParameters parameters(FindGame(GetParam()).parameters);  // checks names, defaults and ranges
  for (const ParameterSpec& spec : parameters.specs()) {
    EXPECT_FALSE(spec.meaning.empty()) << spec.name;
    EXPECT_EQ(spec.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos)
        << spec.name;
  }
}

TEST_P(GameConformanceTest, PlaysWithEachParameterAtBothEndsOfItsRange) {
  const GameInfo& info = FindGame(GetParam());
  for (const ParameterSpec& spec : info.parameters) {
    for (const double end : {spec.low, spec.high}) {
      SCOPED_TRACE(spec.name + " at " + std::to_string(end));
      GameParameters parameters(info.parameters);
      if (std::holds_alternative<bool>(spec.default_value)) {
        parameters.Set(spec.name, end > 0.5);
      } else if (std::holds_alternative<std::int64_t>(spec.default_value)) {
        parameters.Set(spec.name, static_cast<std::int64_t>(end));
      } else {
        parameters.Set(spec.name, end);
      }
      const auto game = MakeGame(GetParam(), parameters);
      Rng rng(9);
      game->Reset(9);
      for (int step = 0; step < 300; ++step) {
        const StepResult result = game->Step(RandomAction(*game, rng));
        ASSERT_TRUE(std::isfinite(result.reward)) << "step " << step;
        ASSERT_NO_FATAL_FAILURE(ExpectWithinDeclaredRange(*game)) << "step " << step;
        if (result.terminated) game->Reset(static_cast<std::uint64_t>(step));
      }
    }
  }
}

TEST_P(GameConformanceTest, EqualSeedsAndActionsGiveEqualStates) {
  const auto first = Make();
  const auto second = Make();
  first->Reset(7);
  second->Reset(7);
  ASSERT_EQ(second->StateHash(), first->StateHash());
  Rng actions(11);
  for (int step = 0; step < 2000; ++step) {
    const int action = RandomAction(*first, actions);
    const StepResult result = first->Step(action);
    const StepResult again = second->Step(action);
    ASSERT_EQ(again.reward, result.reward) << "step " << step;
    ASSERT_EQ(again.terminated, result.terminated) << "step " << step;
    ASSERT_EQ(second->StateHash(), first->StateHash()) << "step " << step;
    ASSERT_EQ(Observe(*second), Observe(*first)) << "step " << step;
    if (result.terminated) {
      first->Reset(static_cast<std::uint64_t>(step));
      second->Reset(static_cast<std::uint64_t>(step));
    }
  }
}

// Small boards have few starts, so not every pair of seeds can differ.
TEST_P(GameConformanceTest, DifferentSeedsGiveDifferentEpisodes) {
  const auto game = Make();
  std::set<std::uint64_t> hashes;
  constexpr std::uint64_t kSeeds = 20;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    game->Reset(seed);
    hashes.insert(game->StateHash());
  }
  EXPECT_GE(hashes.size(), kSeeds / 4);
}

TEST_P(GameConformanceTest, SeedsDifferThatAgreeInTheirLower32Bits) {
  const auto game = Make();
  std::set<std::uint64_t> hashes;
  for (std::uint64_t high = 0; high < 20; ++high) {
    game->Reset((high << 32) | 5);
    hashes.insert(game->StateHash());
  }
  EXPECT_GE(hashes.size(), 5u);
}

TEST_P(GameConformanceTest, ResetClearsEverything) {
  const auto used = Make();
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // Left in the middle of an episode, of another length each time, or at its end.
    ASSERT_NO_FATAL_FAILURE(Play(*used, 100 + seed, 1, static_cast<int>(1 + 37 * seed), [](int) {}));
    const auto fresh = Make();
    used->Reset(seed);
    fresh->Reset(seed);
    ASSERT_EQ(used->StateHash(), fresh->StateHash());
    ASSERT_EQ(Observe(*used), Observe(*fresh));
    Rng actions(seed);
    for (int step = 0; step < 500; ++step) {
      const int action = RandomAction(*fresh, actions);
      const StepResult want = fresh->Step(action);
      const StepResult got = used->Step(action);
      ASSERT_EQ(got.reward, want.reward) << "step " << step;
      ASSERT_EQ(got.terminated, want.terminated) << "step " << step;
      ASSERT_EQ(used->StateHash(), fresh->StateHash()) << "step " << step;
      ASSERT_EQ(Observe(*used), Observe(*fresh)) << "step " << step;
      if (want.terminated) break;
    }
  }
}

TEST_P(GameConformanceTest, InstancesShareNothing) {
  const auto game = Make();
  const auto other = Make();
  game->Reset(3);
  const std::uint64_t hash = game->StateHash();
  const std::vector<float> observation = Observe(*game);
  ASSERT_NO_FATAL_FAILURE(Play(*other, 50, 3, 100, [](int) {}));
  EXPECT_EQ(game->StateHash(), hash);
  EXPECT_EQ(Observe(*game), observation);
}

TEST_P(GameConformanceTest, ObservationsAreFiniteAndInTheDeclaredRange) {
  const auto game = Make();
  ASSERT_NO_FATAL_FAILURE(Play(*game, 1, 20, 1000, [&](int step) {
    ASSERT_NO_FATAL_FAILURE(ExpectWithinDeclaredRange(*game)) << "step " << step;
  }));
}

TEST_P(GameConformanceTest, RandomPlayStaysInTheDeclaredRange) {
  const auto game = Make();
  Rng rng(4);
  game->Reset(4);
  for (int step = 0; step < 5000; ++step) {
    const StepResult result = game->Step(RandomAction(*game, rng));
    ASSERT_TRUE(std::isfinite(result.reward)) << "step " << step;
    ASSERT_NO_FATAL_FAILURE(ExpectWithinDeclaredRange(*game)) << "step " << step;
    if (result.terminated) game->Reset(static_cast<std::uint64_t>(step));
  }
}

TEST_P(GameConformanceTest, WriteObservationFillsEveryElementAndNoMore) {
  const auto game = Make();
  const auto size = static_cast<std::size_t>(game->spec().observation.size());
  constexpr float kGuard = -12345.0f;
  ASSERT_NO_FATAL_FAILURE(Play(*game, 1, 3, 100, [&](int step) {
    std::vector<float> block(size + 2, std::numeric_limits<float>::quiet_NaN());
    block.front() = kGuard;
    block.back() = kGuard;
    game->WriteObservation(std::span(block).subspan(1, size));
    ASSERT_EQ(block.front(), kGuard) << "step " << step;
    ASSERT_EQ(block.back(), kGuard) << "step " << step;
    for (std::size_t i = 1; i <= size; ++i) {
      ASSERT_FALSE(std::isnan(block[i])) << "element " << i - 1 << ", step " << step;
    }
  }));
}

TEST_P(GameConformanceTest, LookingAndDrawingChangeNothing) {
  const auto looked_at = Make();
  const auto left_alone = Make();
  Rng actions(8);
  looked_at->Reset(8);
  left_alone->Reset(8);
  DrawList list;
  for (int step = 0; step < 500; ++step) {
    const std::uint64_t hash = looked_at->StateHash();
    const std::vector<float> observation = Observe(*looked_at);
    list.Clear();
    looked_at->Draw(list);
    looked_at->DrawOverlay(list);
    looked_at->DrawSenses(list);
    ASSERT_EQ(looked_at->StateHash(), hash) << "step " << step;
    ASSERT_EQ(Observe(*looked_at), observation) << "step " << step;
    const int action = RandomAction(*looked_at, actions);
    const StepResult result = looked_at->Step(action);
    ASSERT_EQ(left_alone->Step(action).terminated, result.terminated) << "step " << step;
    ASSERT_EQ(left_alone->StateHash(), looked_at->StateHash()) << "step " << step;
    if (result.terminated) {
      looked_at->Reset(static_cast<std::uint64_t>(step));
      left_alone->Reset(static_cast<std::uint64_t>(step));
    }
  }
}

TEST_P(GameConformanceTest, DrawAppendsShapesWithFinitePoints) {
  const auto game = Make();
  DrawList list;
  list.Circle({0.0f, 0.0f}, 1.0f, {1, 2, 3});
  ASSERT_NO_FATAL_FAILURE(Play(*game, 1, 3, 100, [&](int step) {
    const std::size_t before = list.commands().size();
    game->Draw(list);
    game->DrawOverlay(list);
    game->DrawSenses(list);
    ASSERT_GT(list.commands().size(), before) << "step " << step;
    for (const DrawCommand& command : list.commands().subspan(before)) {
      ASSERT_TRUE(std::isfinite(command.size) && command.size >= 0.0f) << "step " << step;
      for (const DrawPoint& point : list.points(command)) {
        ASSERT_TRUE(std::isfinite(point.x) && std::isfinite(point.y)) << "step " << step;
      }
    }
  }));
  EXPECT_EQ(list.commands().front().kind, DrawKind::kCircle);
  EXPECT_EQ(list.commands().front().color, (Color{1, 2, 3}));
}

TEST_P(GameConformanceTest, NothingIsAllocatedOnceMade) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const auto game = Make();
  const GameInfo& info = FindGame(GetParam());
  std::unique_ptr<ScriptedPolicy> policy;
  if (info.make_scripted_policy != nullptr)
    policy = info.make_scripted_policy(GameParameters(info.parameters));
  std::vector<float> observation(static_cast<std::size_t>(game->spec().observation.size()));
  Rng actions(6);
  std::uint64_t hashes = 0;
  const AllocationScope scope;
  game->Reset(6);
  if (policy != nullptr) policy->Reset();
  for (int step = 0; step < 3000; ++step) {
    game->WriteObservation(observation);
    const bool random = policy == nullptr || actions.Uniform() < 0.2;
    const int action = random ? RandomAction(*game, actions) : policy->Act(observation);
    const bool terminated = game->Step(action).terminated;
    hashes += game->StateHash();
    if (terminated) {
      game->Reset(static_cast<std::uint64_t>(step));
      if (policy != nullptr) policy->Reset();
    }
  }
  EXPECT_EQ(scope.count(), 0);
  EXPECT_NE(hashes, 0u);
}

TEST_P(GameConformanceTest, DrawingIntoTheSameListAllocatesNothing) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const auto game = Make();
  game->Reset(2);
  DrawList list;
  game->Draw(list);
  game->DrawOverlay(list);
  game->DrawSenses(list);
  list.Clear();
  const AllocationScope scope;
  game->Draw(list);
  game->DrawOverlay(list);
  game->DrawSenses(list);
  EXPECT_EQ(scope.count(), 0);
}

TEST_P(GameConformanceTest, HashChangesWhenTheObservationDoes) {
  const auto game = Make();
  std::set<std::uint64_t> hashes;
  std::uint64_t hash = 0;
  std::vector<float> observation;
  ASSERT_NO_FATAL_FAILURE(Play(*game, 1, 5, 500, [&](int step) {
    const std::vector<float> next = Observe(*game);
    const std::uint64_t next_hash = game->StateHash();
    if (step > 0 && next != observation) {
      ASSERT_NE(next_hash, hash) << "step " << step;
    }
    observation = next;
    hash = next_hash;
    hashes.insert(hash);
  }));
  EXPECT_GE(hashes.size(), 10u) << "the game hardly moves";
}

// Two ways that lead to one hash must lead on to the same future. Where a game never comes to a state twice,
// as most with real numbers, the test has nothing to say about it beyond its other half: the same hash at the
// same place of equal episodes.
TEST_P(GameConformanceTest, EqualHashesHaveEqualFutures) {
  struct Way {
    std::uint64_t seed;
    Actions actions;
  };
  const auto walk = [](Game& game, const Way& way) {
    game.Reset(way.seed);
    for (const int action : way.actions) game.Step(action);
  };
  std::map<std::uint64_t, Way> first_way;
  const auto game = Make();
  const auto first = Make();
  const auto second = Make();
  Rng rng(12);
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 60 && compared < 200; ++seed) {
    Way way{.seed = seed, .actions = {}};
    game->Reset(seed);
    for (int step = 0; step < 60; ++step) {
      const auto [found, is_new] = first_way.try_emplace(game->StateHash(), way);
      if (!is_new && compared < 200) {
        ++compared;
        walk(*first, found->second);
        walk(*second, way);
        ASSERT_EQ(Observe(*second), Observe(*first)) << "seed " << seed << " step " << step;
        for (int ahead = 0; ahead < 60; ++ahead) {
          const int action = RandomAction(*game, rng);
          const StepResult want = first->Step(action);
          const StepResult got = second->Step(action);
          ASSERT_EQ(got.reward, want.reward) << "seed " << seed << " step " << step << " + " << ahead;
          ASSERT_EQ(got.terminated, want.terminated) << "seed " << seed << " step " << step << " + " << ahead;
          ASSERT_EQ(second->StateHash(), first->StateHash())
              << "seed " << seed << " step " << step << " + " << ahead;
          if (want.terminated) break;
        }
      }
      const int action = RandomAction(*game, rng);
      way.actions.push_back(action);
      if (game->Step(action).terminated) break;
    }
  }
  RecordProperty("pairs_compared", compared);
}

TEST_P(GameConformanceTest, RecordingReplaysToTheSameHashes) {
  GameConfig config = MakeGameConfig(GetParam());
  config.max_episode_steps = 300;
  TimeLimit game(config);
  Recorder recorder(config, 300);
  Player player(21);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    game.Reset(seed);
    player.Reset();
    recorder.Begin(seed);
    EpisodeStep step;
    while (!step.ended()) {
      const int action = player.Act(game.game());
      step = game.Step(action);
      recorder.Add(action, step, game.game());
    }
    const std::string bytes = SerializeRecording(recorder.recording(game.game()));
    const TimeLimit replayed = Replay(ParseRecording(bytes, "recording"), "recording");
    EXPECT_EQ(replayed.game().StateHash(), game.game().StateHash());
    EXPECT_EQ(replayed.steps(), game.steps());
    EXPECT_EQ(Observe(replayed.game()), Observe(game.game()));
  }
}

// Fast children share the parent's memory; each dies at its first wrong call.
using GameConformanceDeathTest = GameConformanceTest;

TEST_P(GameConformanceDeathTest, IllegalActionsAbort) {
  const auto game = Make();
  game->Reset(1);
  EXPECT_DEATH(game->Step(-1), "check failed");
  EXPECT_DEATH(game->Step(game->spec().num_actions()), "check failed");
  EXPECT_DEATH(game->Step(std::numeric_limits<int>::max()), "check failed");
  EXPECT_DEATH(game->Step(std::numeric_limits<int>::min()), "check failed");
}

TEST_P(GameConformanceDeathTest, SteppingBeforeResetAborts) {
  const auto game = Make();
  EXPECT_DEATH(game->Step(0), "check failed");
}

TEST_P(GameConformanceDeathTest, SteppingAfterTerminationAborts) {
  const auto game = Make();
  Rng actions(2);
  bool terminated = false;
  game->Reset(2);
  for (int step = 0; step < 100'000 && !terminated; ++step) {
    terminated = game->Step(RandomAction(*game, actions)).terminated;
  }
  if (!terminated) GTEST_SKIP() << "random play does not end within 100,000 steps";
  EXPECT_DEATH(game->Step(0), "check failed");
  game->Reset(2);
  game->Step(0);
}

TEST_P(GameConformanceDeathTest, ObservationOfAnotherSizeAborts) {
  const auto game = Make();
  game->Reset(1);
  std::vector<float> observation(static_cast<std::size_t>(game->spec().observation.size()) + 1);
  EXPECT_DEATH(game->WriteObservation(observation), "check failed");
}

std::vector<std::string> AllGames() {
  std::vector<std::string> names;
  for (const GameInfo& info : Games()) names.push_back(info.name);
  return names;
}

std::string NameOfGame(const testing::TestParamInfo<std::string>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(Games, GameConformanceTest, testing::ValuesIn(AllGames()), NameOfGame);
INSTANTIATE_TEST_SUITE_P(Games, GameConformanceDeathTest, testing::ValuesIn(AllGames()), NameOfGame);

}  // namespace
}  // namespace metronome
