#include "games/minatar/seaquest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "games/minatar/dealt_game.h"
#include "metronome/core/rng.h"

namespace metronome {
namespace {

using enum MinatarAction;
using testing::ElementsAre;
using testing::IsEmpty;

enum Channel {
  kFront,
  kBack,
  kOwnBullet,
  kTrail,
  kEnemyBullet,
  kFish,
  kSubmarine,
  kOxygenGauge,
  kDiverGauge,
  kDiver
};

constexpr double kLeftSide = 0.4;
constexpr double kRightSide = 0.5;
const double kIsSubmarine = std::nextafter(1.0 / 3.0, 0.0);
constexpr double kIsFish = 1.0 / 3.0;
constexpr int kLong = 100'000;  // steps

class SeaquestTest : public testing::Test {
 protected:
  explicit SeaquestTest(bool ramping = true) : game_(SeaquestInfo(), ramping) { game_.Begin(); }

  /// The boat in the middle of the sea, facing left, and nothing that appears for long.
  void Place(int row, int column, int divers_aboard = 0) {
    Alter([&](Seaquest::State& state) {
      state.row = row;
      state.column = column;
      state.divers_aboard = divers_aboard;
      state.at_surface = row == 0;
      state.enemy_timer = kLong;
      state.diver_timer = kLong;
    });
  }
  template <typename Change>
  void Alter(Change change) {
    Seaquest::State state = game_.state();
    change(state);
    game_.Set(state);
  }
  /// Something that neither moves nor shoots for long.
  static Seaquest::Swimmer Still(int row, int column, int heading = 1) {
    return {.row = row, .column = column, .heading = heading, .move_timer = kLong, .shot_timer = kLong};
  }
  /// Something that moves in this step.
  static Seaquest::Swimmer Moving(int row, int column, int heading) {
    return {.row = row, .column = column, .heading = heading, .move_timer = 0, .shot_timer = kLong};
  }

  DealtGame<Seaquest> game_;
};

TEST_F(SeaquestTest, StartsAtTheSurfaceWhereNoOxygenIsUsed) {
  EXPECT_THAT(game_.Seen(kFront), ElementsAre(5));
  EXPECT_THAT(game_.Seen(kBack), ElementsAre(6));
  EXPECT_EQ(game_.Seen(kOxygenGauge).size(), 10u);
  EXPECT_FALSE(game_.Step(kUp).terminated);
  game_.Wait(10);
  EXPECT_EQ(game_.state().oxygen, 200);
  game_.Step(kDown);
  EXPECT_EQ(game_.state().oxygen, 199);
  EXPECT_EQ(game_.Seen(kOxygenGauge).size(), 9u) << "199 of 200 is not quite ten tenths";
}

TEST_F(SeaquestTest, ItsBackIsBehindTheWayItFaces) {
  Place(4, 5);
  game_.Step(kRight);
  EXPECT_THAT(game_.Seen(kFront), ElementsAre(46));
  EXPECT_THAT(game_.Seen(kBack), ElementsAre(45));
  game_.Step(kLeft);
  EXPECT_THAT(game_.Seen(kFront), ElementsAre(45));
  EXPECT_THAT(game_.Seen(kBack), ElementsAre(46));
}

TEST_F(SeaquestTest, TheDeepestRowIsTheEighth) {
  Place(7, 5);
  game_.Step(kDown);
  game_.Step(kDown);
  EXPECT_THAT(game_.Seen(kFront), ElementsAre(85));
}

TEST_F(SeaquestTest, EnemiesAppearInStep21AndDiversInStep31) {
  game_.Wait(20);
  game_.Step(kNone, {kLeftSide, kIsSubmarine, 3});
  EXPECT_THAT(game_.Seen(kSubmarine), ElementsAre(30));
  game_.Wait(9);
  game_.Step(kNone, {kRightSide, 8});
  EXPECT_THAT(game_.Seen(kDiver), ElementsAre(89));
  game_.Wait(9);
  game_.Step(kNone, {kRightSide, kIsFish, 5});
  EXPECT_THAT(game_.Seen(kFish), ElementsAre(59));
}

TEST_F(SeaquestTest, NothingAppearsInARowThatIsCrossedTheOtherWay) {
  Place(1, 5);
  Alter([](Seaquest::State& state) {
    state.enemy_timer = 0;
    state.submarines.Add(Still(4, 7, -1));
  });
  game_.Step(kNone, {kLeftSide, kIsFish, 4});
  EXPECT_THAT(game_.Seen(kFish), IsEmpty());
  EXPECT_EQ(game_.state().enemy_timer, 19) << "the next one comes a whole period later";
  Alter([](Seaquest::State& state) { state.enemy_timer = 0; });
  game_.Step(kNone, {kRightSide, kIsFish, 4});
  EXPECT_THAT(game_.Seen(kFish), ElementsAre(49));
}

TEST_F(SeaquestTest, FishMoveEverySixStepsDiversToo) {
  Place(1, 5);
  Alter([](Seaquest::State& state) {
    state.fish.Add({.row = 3, .column = 0, .heading = 1, .move_timer = 5});
    state.divers.Add({.row = 5, .column = 9, .heading = -1, .move_timer = 5});
  });
  game_.Wait(5);
  EXPECT_THAT(game_.Seen(kFish), ElementsAre(30));
  EXPECT_THAT(game_.Seen(kDiver), ElementsAre(59));
  EXPECT_THAT(game_.Seen(kTrail), IsEmpty());
  game_.Wait();
  EXPECT_THAT(game_.Seen(kFish), ElementsAre(31));
  EXPECT_THAT(game_.Seen(kDiver), ElementsAre(58));
  EXPECT_THAT(game_.Seen(kTrail), ElementsAre(30, 59));
  game_.Wait(6);
  EXPECT_THAT(game_.Seen(kFish), ElementsAre(32));
}

TEST_F(SeaquestTest, ASubmarineShootsInTheEleventhStepOfItsLifeAndEveryEleventhAfter) {
  Place(1, 5);
  Alter([](Seaquest::State& state) {
    state.submarines.Add({.row = 4, .column = 0, .heading = 1, .move_timer = kLong, .shot_timer = 10});
  });
  std::vector<int> shots;
  for (int step = 1; step <= 33; ++step) {
    game_.Wait();
    if (game_.state().submarines[0].shot_timer == 10) shots.push_back(step);
  }
  EXPECT_THAT(shots, ElementsAre(11, 22, 33));
  EXPECT_THAT(game_.Seen(kEnemyBullet), ElementsAre(41)) << "it has moved in the step of the shot";
}

TEST_F(SeaquestTest, TheBoatShootsEveryFiveSteps) {
  Place(4, 9);
  for (int i = 0; i < 5; ++i) game_.Step(kFire);
  EXPECT_THAT(game_.Seen(kOwnBullet), ElementsAre(44));
  game_.Step(kFire);
  EXPECT_THAT(game_.Seen(kOwnBullet), ElementsAre(43, 48));
}

TEST_F(SeaquestTest, ABulletTakesTheOldestFishBeforeAnySubmarine) {
  Place(4, 9);
  Alter([](Seaquest::State& state) {
    state.submarines.Add(Still(4, 5, 1));
    state.fish.Add(Still(4, 5, 1));
    state.fish.Add({.row = 4, .column = 5, .heading = 1, .move_timer = kLong, .shot_timer = 7});
    state.own_bullets.Add({.row = 4, .column = 6, .heading = -1});
  });
  EXPECT_EQ(game_.Wait().reward, 1.0f);
  EXPECT_EQ(game_.state().own_bullets.size(), 0);
  EXPECT_EQ(game_.state().submarines.size(), 1);
  ASSERT_EQ(game_.state().fish.size(), 1);
  EXPECT_EQ(game_.state().fish[0].shot_timer, 7) << "the newer one is left";
}

TEST_F(SeaquestTest, ASubmarineThatRunsIntoABulletStillShoots) {
  Place(1, 5);
  Alter([](Seaquest::State& state) {
    state.own_bullets.Add({.row = 4, .column = 3, .heading = 1});
    state.submarines.Add({.row = 4, .column = 5, .heading = -1, .move_timer = 0, .shot_timer = 0});
  });
  const StepResult step = game_.Wait();
  EXPECT_EQ(step.reward, 1.0f);
  EXPECT_FALSE(step.terminated);
  EXPECT_EQ(game_.state().own_bullets.size(), 0);
  EXPECT_EQ(game_.state().submarines.size(), 0);
  EXPECT_THAT(game_.Seen(kEnemyBullet), ElementsAre(43));
}

TEST_F(SeaquestTest, TheShotOfASubmarineThatIsGoneCanEndTheEpisode) {
  Place(4, 3);
  Alter([](Seaquest::State& state) {
    state.facing = 1;
    state.submarines.Add({.row = 4, .column = 5, .heading = -1, .move_timer = 0, .shot_timer = 0});
  });
  const StepResult step = game_.Step(kFire);
  EXPECT_EQ(step.reward, 1.0f);
  EXPECT_TRUE(step.terminated);
}

TEST_F(SeaquestTest, TheShotOfASubmarineThatHasLeftTheBoardIsGone) {
  Place(1, 5);
  Alter([](Seaquest::State& state) {
    state.submarines.Add({.row = 4, .column = 9, .heading = 1, .move_timer = 0, .shot_timer = 0});
    state.submarines.Add({.row = 6, .column = 0, .heading = -1, .move_timer = 0, .shot_timer = 0});
  });
  game_.Wait();
  EXPECT_EQ(game_.state().submarines.size(), 0);
  EXPECT_EQ(game_.state().enemy_bullets.size(), 0);
}

TEST_F(SeaquestTest, AfterOneHasHitTheBoatTheOthersStillMoveAndShoot) {
  Place(4, 4);
  Alter([](Seaquest::State& state) {
    state.submarines.Add({.row = 6, .column = 2, .heading = 1, .move_timer = 0, .shot_timer = 0});
    state.submarines.Add(Moving(4, 5, -1));
    state.fish.Add(Moving(8, 2, 1));
  });
  EXPECT_TRUE(game_.Wait().terminated);
  EXPECT_THAT(game_.Seen(kSubmarine), ElementsAre(44, 63)) << "the one that hit stays";
  EXPECT_THAT(game_.Seen(kEnemyBullet), ElementsAre(64));
  EXPECT_THAT(game_.Seen(kFish), ElementsAre(83));
}

TEST_F(SeaquestTest, EveryTouchIsFatal) {
  const std::vector<void (*)(Seaquest::State&)> touches = {
      [](Seaquest::State& state) { state.fish.Add(Still(4, 4)); },
      [](Seaquest::State& state) { state.fish.Add(Moving(4, 3, 1)); },
      [](Seaquest::State& state) { state.submarines.Add(Still(4, 4)); },
      [](Seaquest::State& state) { state.submarines.Add(Moving(4, 3, 1)); },
      [](Seaquest::State& state) { state.enemy_bullets.Add({.row = 4, .column = 4, .heading = 1}); },
      [](Seaquest::State& state) { state.enemy_bullets.Add({.row = 4, .column = 3, .heading = 1}); }};
  for (const auto touch : touches) {
    game_.Begin();
    Place(4, 4);
    Alter(touch);
    EXPECT_TRUE(game_.Wait().terminated);
  }
  game_.Begin();
  Place(4, 4);
  Alter([](Seaquest::State& state) { state.fish.Add(Still(4, 5)); });
  EXPECT_FALSE(game_.Wait().terminated) << "its back is not touched";
}

TEST_F(SeaquestTest, DiversComeAboardFromTheNewestUntilThereAreSix) {
  Place(4, 4, 5);
  Alter([](Seaquest::State& state) {
    state.divers.Add(Still(4, 4, 1));
    state.divers.Add(Still(4, 4, -1));
  });
  game_.Wait();
  EXPECT_EQ(game_.state().divers_aboard, 6);
  ASSERT_EQ(game_.state().divers.size(), 1);
  EXPECT_EQ(game_.state().divers[0].heading, 1) << "the older one is left";
  EXPECT_THAT(game_.Seen(kDiverGauge), ElementsAre(93, 94, 95, 96, 97, 98));
}

TEST_F(SeaquestTest, ADiverThatSwimsToTheBoatComesAboardInThatStep) {
  Place(4, 4);
  Alter([](Seaquest::State& state) { state.divers.Add(Moving(4, 3, 1)); });
  game_.Wait();
  EXPECT_EQ(game_.state().divers_aboard, 1);
  EXPECT_THAT(game_.Seen(kDiverGauge), ElementsAre(98));
}

TEST_F(SeaquestTest, SurfacingWithoutADiverIsFatalAndChangesNothing) {
  Place(1, 4);
  Alter([](Seaquest::State& state) { state.oxygen = 120; });
  EXPECT_TRUE(game_.Step(kUp).terminated);
  EXPECT_EQ(game_.state().oxygen, 120);
  EXPECT_EQ(game_.state().divers_aboard, 0);
}

TEST_F(SeaquestTest, SurfacingCostsADiverAndRefillsTheOxygen) {
  Place(1, 4, 2);
  Alter([](Seaquest::State& state) { state.oxygen = 120; });
  const StepResult step = game_.Step(kUp);
  EXPECT_FALSE(step.terminated);
  EXPECT_EQ(step.reward, 0.0f);
  EXPECT_EQ(game_.state().oxygen, 200);
  EXPECT_EQ(game_.state().divers_aboard, 1);
}

TEST_F(SeaquestTest, SixDiversEarnTheOxygenLeftAndLeaveMinusOneAboard) {
  Place(1, 4, 6);
  Alter([](Seaquest::State& state) { state.oxygen = 119; });
  EXPECT_EQ(game_.Step(kUp).reward, 5.0f) << "119 * 10 / 200, rounded down";
  EXPECT_EQ(game_.state().divers_aboard, -1);
  EXPECT_THAT(game_.Seen(kDiverGauge), IsEmpty());
  // Coming up again is no longer fatal, until the count is exactly 0.
  game_.Step(kDown);
  EXPECT_FALSE(game_.Step(kUp).terminated);
  EXPECT_EQ(game_.state().divers_aboard, -2);
  Place(1, 4, 0);
  EXPECT_TRUE(game_.Step(kUp).terminated);
}

TEST_F(SeaquestTest, SurfacingMakesTheGameFaster) {
  const std::vector<std::pair<int, int>> wanted = {{19, 5}, {18, 4}, {17, 4}, {16, 3},
                                                   {15, 3}, {14, 2}, {13, 2}};
  for (const auto& [enemy_period, move_interval] : wanted) {
    Place(1, 4, 3);
    game_.Step(kUp);
    EXPECT_EQ(game_.state().enemy_period, enemy_period);
    EXPECT_EQ(game_.state().move_interval, move_interval);
  }
  for (int i = 0; i < 20; ++i) {
    Place(1, 4, 3);
    game_.Step(kUp);
  }
  EXPECT_EQ(game_.state().enemy_period, 1);
  EXPECT_EQ(game_.state().move_interval, 2);
  EXPECT_EQ(game_.state().ramp_index, 19);
}

TEST_F(SeaquestTest, TheEndComesInTheStepAfterTheOxygenIsGone) {
  Place(4, 4);
  Alter([](Seaquest::State& state) { state.oxygen = 1; });
  EXPECT_FALSE(game_.Wait().terminated);
  EXPECT_THAT(game_.Seen(kOxygenGauge), IsEmpty());
  EXPECT_TRUE(game_.Wait().terminated);
}

TEST_F(SeaquestTest, SurfacingInTheLastStepStillRefills) {
  Place(1, 4, 1);
  Alter([](Seaquest::State& state) { state.oxygen = 0; });
  EXPECT_TRUE(game_.Step(kUp).terminated);
  EXPECT_EQ(game_.Seen(kOxygenGauge).size(), 10u);
}

class SteadySeaquestTest : public SeaquestTest {
 protected:
  SteadySeaquestTest() : SeaquestTest(/*ramping=*/false) {}
};

TEST_F(SteadySeaquestTest, SurfacingLeavesThePaceAlone) {
  for (int i = 0; i < 4; ++i) {
    Place(1, 4, 3);
    game_.Step(kUp);
  }
  EXPECT_EQ(game_.state().enemy_period, 20);
  EXPECT_EQ(game_.state().move_interval, 5);
}

// The lists have room for the worst that can be: a submarine every step, slow, none of them shot, and the
// boat out of their way.
TEST_F(SteadySeaquestTest, NoListOverflowsInTheThickestTraffic) {
  Rng rng(1);
  std::size_t most_enemies = 0;
  std::size_t most_bullets = 0;
  for (int step = 0; step < 2000; ++step) {
    Alter([](Seaquest::State& state) {
      state.row = 0;
      state.at_surface = true;
      state.enemy_timer = 0;
    });
    std::vector<double> outcomes = {kLeftSide, kIsSubmarine, static_cast<double>(1 + rng.UniformInt(8))};
    if (game_.state().diver_timer == 0) outcomes.insert(outcomes.end(), {kLeftSide, 2});
    ASSERT_FALSE(game_.Step(kFire, outcomes).terminated);
    most_enemies = std::max(most_enemies, static_cast<std::size_t>(game_.state().submarines.size()));
    most_bullets = std::max(most_bullets, static_cast<std::size_t>(game_.state().enemy_bullets.size()));
  }
  EXPECT_EQ(most_enemies, 59u) << "a life of 60 steps, the last of which takes it off the board";
  EXPECT_GT(most_bullets, 15u);
}

}  // namespace
}  // namespace metronome
