#include "games/minatar/space_invaders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "games/minatar/dealt_game.h"

namespace metronome {
namespace {

using enum MinatarAction;
using testing::ElementsAre;
using testing::IsEmpty;

enum Channel { kCannon, kAlien, kAlienLeft, kAlienRight, kOwnBullet, kEnemyBullet };

const CellSet kBlock = CellSet::Block(0, 3, 2, 7);

class SpaceInvadersTest : public testing::Test {
 protected:
  explicit SpaceInvadersTest(bool ramping = true) : game_(SpaceInvadersInfo(), ramping) { game_.Begin(); }

  /// Some aliens that neither move nor shoot for long, and the cannon in column 5.
  void Place(const CellSet& aliens) {
    SpaceInvaders::State state;
    state.cannon_column = 5;
    state.aliens = aliens;
    state.move_interval = 12;
    state.move_timer = 100'000;
    state.alien_shot_timer = 100'000;
    game_.Set(state);
  }
  template <typename Change>
  void Alter(Change change) {
    SpaceInvaders::State state = game_.state();
    change(state);
    game_.Set(state);
  }

  DealtGame<SpaceInvaders> game_;
};

TEST_F(SpaceInvadersTest, StartsWithABlockThatMovesLeft) {
  EXPECT_THAT(game_.Seen(kCannon), ElementsAre(95));
  EXPECT_EQ(game_.Seen(kAlien).size(), 24u);
  EXPECT_EQ(game_.Seen(kAlienLeft), game_.Seen(kAlien));
  EXPECT_THAT(game_.Seen(kAlienRight), IsEmpty());
}

TEST_F(SpaceInvadersTest, AliensMoveEveryTwelveStepsFirstInTheThirteenth) {
  game_.Step(kLeft);
  game_.Wait(11);  // the shot of the eleventh step is still in the air
  EXPECT_EQ(game_.state().aliens, kBlock);
  game_.Wait();
  EXPECT_EQ(game_.state().aliens, kBlock.MovedLeft());
}

TEST_F(SpaceInvadersTest, AtTheEdgeTheyTurnRoundAndComeDown) {
  Place(CellSet::Block(0, 3, 0, 5));
  Alter([](SpaceInvaders::State& state) { state.move_timer = 0; });
  game_.Wait();
  EXPECT_EQ(game_.state().aliens, CellSet::Block(1, 4, 0, 5));
  EXPECT_EQ(game_.Seen(kAlienRight), game_.Seen(kAlien));
  EXPECT_THAT(game_.Seen(kAlienLeft), IsEmpty());
}

TEST_F(SpaceInvadersTest, TheLastAlienMovesEveryStep) {
  Place(CellSet::Cell(0, 8));
  Alter([](SpaceInvaders::State& state) { state.move_timer = 0; });
  game_.Wait();
  EXPECT_THAT(game_.Seen(kAlien), ElementsAre(7));
  game_.Wait();
  EXPECT_THAT(game_.Seen(kAlien), ElementsAre(6));
}

TEST_F(SpaceInvadersTest, TheFirstAlienShotComesInTheEleventhStepFromTheNearestColumn) {
  game_.Wait(10);
  EXPECT_THAT(game_.Seen(kEnemyBullet), IsEmpty());
  game_.Wait();
  EXPECT_THAT(game_.Seen(kEnemyBullet), ElementsAre(35));
  game_.Wait();
  EXPECT_THAT(game_.Seen(kEnemyBullet), ElementsAre(45));
}

TEST_F(SpaceInvadersTest, OfTwoEquallyNearColumnsTheLeftOneShoots) {
  Place(CellSet::Cell(1, 3) | CellSet::Cell(2, 3) | CellSet::Cell(4, 7) | CellSet::Cell(6, 9));
  Alter([](SpaceInvaders::State& state) { state.alien_shot_timer = 0; });
  game_.Wait();
  EXPECT_THAT(game_.Seen(kEnemyBullet), ElementsAre(23));
}

TEST_F(SpaceInvadersTest, TheCannonShootsEveryFiveSteps) {
  Place(CellSet::Cell(0, 0));
  game_.Step(kFire);
  EXPECT_THAT(game_.Seen(kOwnBullet), ElementsAre(85)) << "it has moved in the step of the shot";
  for (int i = 0; i < 4; ++i) game_.Step(kFire);
  EXPECT_EQ(game_.Seen(kOwnBullet).size(), 1u);
  game_.Step(kFire);
  EXPECT_THAT(game_.Seen(kOwnBullet), ElementsAre(35, 85));
}

TEST_F(SpaceInvadersTest, AShotAlienEarnsOne) {
  Place(CellSet::Block(3, 4, 5, 6));
  Alter([](SpaceInvaders::State& state) { state.own_bullets.Add(5, 5); });
  EXPECT_EQ(game_.Wait().reward, 1.0f);
  EXPECT_THAT(game_.Seen(kAlien), ElementsAre(35, 36, 46));
  EXPECT_THAT(game_.Seen(kOwnBullet), IsEmpty());
}

TEST_F(SpaceInvadersTest, ABulletAndAnAlienThatPassEachOtherDoNotMeet) {
  Place(CellSet::Cell(4, 0) | CellSet::Cell(0, 5));
  Alter([](SpaceInvaders::State& state) {
    state.move_timer = 0;
    state.own_bullets.Add(5, 0);
  });
  EXPECT_EQ(game_.Wait().reward, 0.0f);
  EXPECT_TRUE(game_.state().aliens.Has(5, 0));
  EXPECT_TRUE(game_.state().own_bullets.Has(4, 0));
}

TEST_F(SpaceInvadersTest, AnAlienThatShootsCanBeShotInTheSameStep) {
  Place(CellSet::Cell(2, 3) | CellSet::Cell(0, 9));
  Alter([](SpaceInvaders::State& state) {
    state.alien_shot_timer = 0;
    state.own_bullets.Add(3, 3);
  });
  EXPECT_EQ(game_.Wait().reward, 1.0f);
  EXPECT_THAT(game_.Seen(kEnemyBullet), ElementsAre(23));
  EXPECT_THAT(game_.Seen(kAlien), ElementsAre(9));
}

TEST_F(SpaceInvadersTest, ABulletThatHitsTheCannonEndsTheEpisodeAndAKillInThatStepStillEarns) {
  Place(CellSet::Cell(2, 3) | CellSet::Cell(0, 9));
  Alter([](SpaceInvaders::State& state) {
    state.enemy_bullets.Add(8, 4);
    state.own_bullets.Add(3, 3);
  });
  const StepResult step = game_.Step(kLeft);
  EXPECT_TRUE(step.terminated) << "the cannon moves first, under the bullet";
  EXPECT_EQ(step.reward, 1.0f);
}

TEST_F(SpaceInvadersTest, ABulletBesideTheCannonIsGone) {
  Place(CellSet::Cell(0, 9));
  Alter([](SpaceInvaders::State& state) { state.enemy_bullets.Add(8, 4); });
  EXPECT_FALSE(game_.Wait().terminated);
  EXPECT_THAT(game_.Seen(kEnemyBullet), ElementsAre(94));
  EXPECT_TRUE(game_.Step(kLeft).reward == 0.0f);
  EXPECT_THAT(game_.Seen(kEnemyBullet), IsEmpty());
}

TEST_F(SpaceInvadersTest, AliensThatWouldComeDownFromTheBottomRowEndTheEpisode) {
  Place(CellSet::Cell(9, 0) | CellSet::Cell(7, 1));
  Alter([](SpaceInvaders::State& state) { state.move_timer = 0; });
  EXPECT_TRUE(game_.Wait().terminated);
  EXPECT_THAT(game_.Seen(kAlien), ElementsAre(0, 81)) << "round to the top row";
}

TEST_F(SpaceInvadersTest, AnAlienThatReachesTheCannonEndsTheEpisode) {
  Place(CellSet::Cell(9, 6) | CellSet::Cell(0, 9));
  EXPECT_TRUE(game_.Step(kRight).terminated) << "by the cannon's move";
  game_.Begin();
  Place(CellSet::Cell(9, 6) | CellSet::Cell(0, 9));
  Alter([](SpaceInvaders::State& state) { state.move_timer = 0; });
  EXPECT_TRUE(game_.Wait().terminated) << "by the alien's move";
}

TEST_F(SpaceInvadersTest, ANewBlockIsFasterAndLeavesAllElseAsItIs) {
  Place(CellSet::Cell(4, 3));
  Alter([](SpaceInvaders::State& state) {
    state.direction = 1;
    state.own_bullets = CellSet::Cell(5, 3) | CellSet::Cell(3, 4);
    state.enemy_bullets.Add(6, 1);
  });
  EXPECT_EQ(game_.Wait().reward, 1.0f) << "the bullet under the new block does not hit yet";
  const SpaceInvaders::State state = game_.state();
  EXPECT_EQ(state.aliens, kBlock);
  EXPECT_EQ(state.move_interval, 11);
  EXPECT_EQ(state.direction, 1);
  EXPECT_EQ(state.move_timer, 99'999);
  EXPECT_EQ(state.alien_shot_timer, 99'999);
  EXPECT_EQ(state.own_bullets, CellSet::Cell(2, 4));
  EXPECT_EQ(state.enemy_bullets, CellSet::Cell(7, 1));
  EXPECT_EQ(game_.Wait().reward, 1.0f) << "it hits once it has moved";
}

TEST_F(SpaceInvadersTest, TheMoveIntervalStopsAtSix) {
  Place(CellSet::Cell(4, 3));
  Alter([](SpaceInvaders::State& state) {
    state.move_interval = 6;
    state.own_bullets.Add(5, 3);
  });
  game_.Wait();
  EXPECT_EQ(game_.state().aliens, kBlock);
  EXPECT_EQ(game_.state().move_interval, 6);
}

class SteadySpaceInvadersTest : public SpaceInvadersTest {
 protected:
  SteadySpaceInvadersTest() : SpaceInvadersTest(/*ramping=*/false) {}
};

TEST_F(SteadySpaceInvadersTest, ANewBlockIsNoFaster) {
  Place(CellSet::Cell(4, 3));
  Alter([](SpaceInvaders::State& state) { state.own_bullets.Add(5, 3); });
  game_.Wait();
  EXPECT_EQ(game_.state().aliens, kBlock);
  EXPECT_EQ(game_.state().move_interval, 12);
}

}  // namespace
}  // namespace metronome
