#include "games/minatar/asterix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "games/minatar/dealt_game.h"

namespace metronome {
namespace {

using enum MinatarAction;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = Asterix::Kind;

enum Channel { kPlayer, kEnemy, kTrail, kGold };

constexpr double kLeftSide = 0.4;
constexpr double kRightSide = 0.5;
const double kIsGold = std::nextafter(1.0 / 3.0, 0.0);
constexpr double kIsEnemy = 1.0 / 3.0;

class AsterixTest : public testing::Test {
 protected:
  explicit AsterixTest(bool ramping = true) : game_(AsterixInfo(), ramping) { game_.Begin(); }

  /// Nothing appears and nothing moves for long.
  void StopTimers() {
    Asterix::State state = game_.state();
    state.spawn_timer = 100'000;
    state.move_timer = 100'000;
    game_.Set(state);
  }
  void PutInLane(std::size_t lane, Kind kind, int column, int heading) {
    Asterix::State state = game_.state();
    state.lanes[lane] = {.kind = kind, .column = column, .heading = heading};
    game_.Set(state);
  }
  void SetMoveTimer(int steps) {
    Asterix::State state = game_.state();
    state.move_timer = steps;
    game_.Set(state);
  }

  DealtGame<Asterix> game_;
};

TEST_F(AsterixTest, TheFirstThingAppearsInTheEleventhStep) {
  game_.Wait(10);
  game_.Step(kNone, {kLeftSide, kIsGold, 2});
  EXPECT_THAT(game_.Seen(kGold), ElementsAre(31)) << "all things move in that step, the new one too";
  EXPECT_THAT(game_.Seen(kTrail), ElementsAre(30));
  game_.Wait(9);
  game_.Step(kNone, {kRightSide, kIsEnemy, 0});
  EXPECT_THAT(game_.Seen(kEnemy), ElementsAre(18));
}

TEST_F(AsterixTest, TheTrailOfSomethingNewIsOffTheBoard) {
  StopTimers();
  Asterix::State state = game_.state();
  state.spawn_timer = 0;
  game_.Set(state);
  game_.Step(kNone, {kLeftSide, kIsGold, 2});
  EXPECT_THAT(game_.Seen(kGold), ElementsAre(30));
  EXPECT_THAT(game_.Seen(kTrail), IsEmpty());
}

TEST_F(AsterixTest, ThingsMoveInTheSixthStepAndEveryFifthAfterIt) {
  StopTimers();
  SetMoveTimer(5);
  PutInLane(0, Kind::kEnemy, 3, 1);
  PutInLane(1, Kind::kGold, 3, -1);
  game_.Wait(5);
  EXPECT_THAT(game_.Seen(kEnemy), ElementsAre(13));
  game_.Wait();
  EXPECT_THAT(game_.Seen(kEnemy), ElementsAre(14));
  EXPECT_THAT(game_.Seen(kGold), ElementsAre(22));
  EXPECT_THAT(game_.Seen(kTrail), ElementsAre(13, 23));
  game_.Wait(4);
  EXPECT_THAT(game_.Seen(kEnemy), ElementsAre(14));
  game_.Wait();
  EXPECT_THAT(game_.Seen(kEnemy), ElementsAre(15));
}

TEST_F(AsterixTest, EmptyLanesAreCountedFromTheTop) {
  StopTimers();
  PutInLane(0, Kind::kEnemy, 3, 1);
  PutInLane(2, Kind::kEnemy, 3, 1);
  Asterix::State state = game_.state();
  state.spawn_timer = 0;
  game_.Set(state);
  game_.Step(kNone, {kLeftSide, kIsGold, 1});  // lanes 1, 3, 4, 5, 6 and 7 are empty
  EXPECT_THAT(game_.Seen(kGold), ElementsAre(40));
}

TEST_F(AsterixTest, AFullBoardDrawsTwiceAndAddsNothing) {
  StopTimers();
  for (std::size_t lane = 0; lane < 8; ++lane) PutInLane(lane, Kind::kEnemy, 8, 1);
  Asterix::State state = game_.state();
  state.spawn_timer = 0;
  game_.Set(state);
  game_.Step(kNone, {kLeftSide, kIsGold});
  EXPECT_THAT(game_.Seen(kGold), IsEmpty());
  EXPECT_EQ(game_.state().spawn_timer, 9);
}

TEST_F(AsterixTest, ThePlayerStaysOffTheOuterRows) {
  StopTimers();
  for (int i = 0; i < 12; ++i) game_.Step(kUp);
  EXPECT_THAT(game_.Seen(kPlayer), ElementsAre(15));
  for (int i = 0; i < 12; ++i) game_.Step(kDown);
  EXPECT_THAT(game_.Seen(kPlayer), ElementsAre(85));
  for (int i = 0; i < 12; ++i) game_.Step(kLeft);
  EXPECT_THAT(game_.Seen(kPlayer), ElementsAre(80));
  for (int i = 0; i < 12; ++i) game_.Step(kRight);
  EXPECT_THAT(game_.Seen(kPlayer), ElementsAre(89));
}

TEST_F(AsterixTest, GoldIsPickedUpByWalkingOntoIt) {
  StopTimers();
  PutInLane(4, Kind::kGold, 6, -1);
  EXPECT_EQ(game_.Step(kRight).reward, 1.0f);
  EXPECT_THAT(game_.Seen(kGold), IsEmpty());
}

TEST_F(AsterixTest, GoldIsPickedUpByWaitingForIt) {
  StopTimers();
  SetMoveTimer(0);
  PutInLane(4, Kind::kGold, 6, -1);
  EXPECT_EQ(game_.Wait().reward, 1.0f);
  EXPECT_THAT(game_.Seen(kGold), IsEmpty());
}

TEST_F(AsterixTest, SomethingNewCanHitThePlayerAtOnce) {
  StopTimers();
  Asterix::State state = game_.state();
  state.spawn_timer = 0;
  state.player_column = 0;
  game_.Set(state);
  EXPECT_TRUE(game_.Step(kNone, {kLeftSide, kIsEnemy, 4}).terminated);
}

TEST_F(AsterixTest, AFatalEnemyMovesOnInTheSameStep) {
  StopTimers();
  SetMoveTimer(0);
  PutInLane(4, Kind::kEnemy, 6, 1);
  EXPECT_TRUE(game_.Step(kRight).terminated);
  EXPECT_THAT(game_.Seen(kEnemy), ElementsAre(57));
}

TEST_F(AsterixTest, PassingThroughEachOtherIsNoTouch) {
  StopTimers();
  SetMoveTimer(0);
  PutInLane(4, Kind::kEnemy, 6, -1);
  EXPECT_TRUE(game_.Step(kRight).terminated) << "the player moves first, onto the enemy";
  game_.Begin();
  StopTimers();
  SetMoveTimer(0);
  PutInLane(4, Kind::kEnemy, 4, 1);
  EXPECT_FALSE(game_.Step(kRight).terminated) << "the enemy follows into the cell that was left";
}

TEST_F(AsterixTest, ThingsLeaveTheBoard) {
  StopTimers();
  SetMoveTimer(0);
  PutInLane(0, Kind::kEnemy, 9, 1);
  PutInLane(1, Kind::kGold, 0, -1);
  game_.Wait();
  EXPECT_THAT(game_.Seen(kEnemy), IsEmpty());
  EXPECT_THAT(game_.Seen(kGold), IsEmpty());
}

TEST_F(AsterixTest, RampsEveryHundredAndTwoStepsUntilBothPeriodsAreOne) {
  StopTimers();
  const std::vector<std::pair<int, int>> wanted = {{9, 5}, {8, 4}, {7, 4}, {6, 3}, {5, 3},
                                                   {4, 2}, {3, 2}, {2, 1}, {1, 1}};
  std::pair<int, int> periods = {10, 5};
  for (int step = 1; step <= 1200; ++step) {
    game_.Wait();
    if (step % 102 == 0 && step <= 918) periods = wanted[static_cast<std::size_t>(step / 102 - 1)];
    ASSERT_EQ(game_.state().spawn_period, periods.first) << step;
    ASSERT_EQ(game_.state().move_period, periods.second) << step;
  }
}

class SteadyAsterixTest : public AsterixTest {
 protected:
  SteadyAsterixTest() : AsterixTest(/*ramping=*/false) {}
};

TEST_F(SteadyAsterixTest, DoesNotRamp) {
  StopTimers();
  game_.Wait(500);
  EXPECT_EQ(game_.state().spawn_period, 10);
  EXPECT_EQ(game_.state().move_period, 5);
}

}  // namespace
}  // namespace metronome
