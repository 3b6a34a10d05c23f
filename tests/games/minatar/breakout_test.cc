#include "games/minatar/breakout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "games/minatar/dealt_game.h"

namespace metronome {
namespace {

using enum MinatarAction;
using testing::ElementsAre;

enum Channel { kPaddle, kBall, kTrail, kBrick };

class BreakoutTest : public testing::Test {
 protected:
  BreakoutTest() : game_(BreakoutInfo()) { game_.Begin({0}); }

  /// A ball in an empty field, the paddle far from it.
  void Place(int row, int column, Breakout::Direction direction, const CellSet& bricks = {}) {
    Breakout::State state;
    state.ball_row = row;
    state.ball_column = column;
    state.direction = direction;
    state.paddle_column = 9;
    state.bricks = bricks;
    game_.Set(state);
  }
  void ExpectBall(int row, int column, Breakout::Direction direction) const {
    EXPECT_EQ(game_.state().ball_row, row);
    EXPECT_EQ(game_.state().ball_column, column);
    EXPECT_EQ(game_.state().direction, direction);
  }

  DealtGame<Breakout> game_;
};

TEST_F(BreakoutTest, StartsInsideTheWallAtEitherEdge) {
  ExpectBall(3, 0, Breakout::kDownRight);
  EXPECT_THAT(game_.Seen(kPaddle), ElementsAre(94));
  EXPECT_THAT(game_.Seen(kBall), ElementsAre(30));
  EXPECT_THAT(game_.Seen(kTrail), ElementsAre(30));
  EXPECT_EQ(game_.Seen(kBrick).size(), 30u);
  game_.Begin({1});
  ExpectBall(3, 9, Breakout::kDownLeft);
}

TEST_F(BreakoutTest, LeavesATrailWhereItWas) {
  game_.Wait();
  EXPECT_THAT(game_.Seen(kBall), ElementsAre(41));
  EXPECT_THAT(game_.Seen(kTrail), ElementsAre(30));
}

TEST_F(BreakoutTest, ThePaddleStopsAtTheEdges) {
  Place(5, 5, Breakout::kUpLeft);
  game_.Step(kRight);
  EXPECT_THAT(game_.Seen(kPaddle), ElementsAre(99));
  game_.Step(kLeft);
  EXPECT_THAT(game_.Seen(kPaddle), ElementsAre(98));
}

TEST_F(BreakoutTest, TheBallGoesOnFromStraightAboveThePaddle) {
  Place(8, 5, Breakout::kDownRight);
  Breakout::State state = game_.state();
  state.paddle_column = 5;
  game_.Set(state);
  EXPECT_FALSE(game_.Wait().terminated);
  ExpectBall(8, 6, Breakout::kUpRight);
}

TEST_F(BreakoutTest, TheBallTurnsBackFromBesideThePaddle) {
  Place(8, 5, Breakout::kDownRight);
  Breakout::State state = game_.state();
  state.paddle_column = 7;
  game_.Set(state);
  EXPECT_FALSE(game_.Step(kLeft).terminated) << "the paddle moves first";
  ExpectBall(8, 6, Breakout::kUpLeft);
}

TEST_F(BreakoutTest, ABallBesideThePaddleIsLost) {
  Place(8, 5, Breakout::kDownRight);
  const StepResult step = game_.Wait();
  EXPECT_TRUE(step.terminated);
  EXPECT_EQ(step.reward, 0.0f);
  EXPECT_THAT(game_.Seen(kBall), ElementsAre(96));
}

TEST_F(BreakoutTest, SideWallsMirrorTheBallInPlace) {
  Place(5, 0, Breakout::kUpLeft);
  game_.Wait();
  ExpectBall(4, 0, Breakout::kUpRight);
  Place(5, 9, Breakout::kDownRight);
  game_.Wait();
  ExpectBall(6, 9, Breakout::kDownLeft);
}

TEST_F(BreakoutTest, TheCeilingMirrorsTheBall) {
  Place(0, 5, Breakout::kUpLeft);
  game_.Wait();
  ExpectBall(0, 4, Breakout::kDownLeft);
}

TEST_F(BreakoutTest, ACornerMirrorsTheBallTwice) {
  Place(0, 0, Breakout::kUpLeft);
  game_.Wait();
  ExpectBall(0, 0, Breakout::kDownRight);
}

TEST_F(BreakoutTest, BreakingABrickEarnsOneAndShiftsTheBallAside) {
  Place(4, 5, Breakout::kUpLeft, CellSet::Block(1, 3, 0, 9));
  EXPECT_EQ(game_.Wait().reward, 1.0f);
  ExpectBall(4, 4, Breakout::kDownLeft);
  EXPECT_FALSE(game_.state().bricks.Has(3, 4));
  EXPECT_EQ(game_.state().bricks.size(), 29);
}

TEST_F(BreakoutTest, AfterAHitTheBallFliesThroughBricksUntilItIsFree) {
  const CellSet bricks = CellSet::Cell(2, 6) | CellSet::Cell(1, 7) | CellSet::Cell(0, 8);
  Place(3, 5, Breakout::kUpRight, bricks);
  Breakout::State state = game_.state();
  state.strike = true;
  game_.Set(state);
  EXPECT_EQ(game_.Wait().reward, 0.0f);
  ExpectBall(2, 6, Breakout::kUpRight);
  EXPECT_EQ(game_.Wait().reward, 0.0f);
  ExpectBall(1, 7, Breakout::kUpRight);
  EXPECT_EQ(game_.state().bricks, bricks) << "they stay";

  // A free cell, and the next brick breaks again.
  Place(3, 5, Breakout::kUpRight, CellSet::Cell(1, 7));
  state = game_.state();
  state.strike = true;
  game_.Set(state);
  EXPECT_EQ(game_.Wait().reward, 0.0f);
  EXPECT_EQ(game_.Wait().reward, 1.0f);
  EXPECT_TRUE(game_.state().bricks.empty());
}

TEST_F(BreakoutTest, TheWallIsBuiltAnewOnlyWhenTheBallComesDown) {
  Place(7, 5, Breakout::kDownRight);
  Breakout::State state = game_.state();
  state.paddle_column = 6;
  game_.Set(state);
  game_.Wait();
  EXPECT_TRUE(game_.state().bricks.empty());
  EXPECT_FALSE(game_.Wait().terminated);
  EXPECT_EQ(game_.state().bricks, CellSet::Block(1, 3, 0, 9));
}

TEST_F(BreakoutTest, TheStepThatLosesTheBallBuildsTheWallToo) {
  Place(8, 5, Breakout::kDownRight);
  EXPECT_TRUE(game_.Wait().terminated);
  EXPECT_EQ(game_.Seen(kBrick).size(), 30u);
}

}  // namespace
}  // namespace metronome
