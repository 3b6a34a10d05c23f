#include "games/minatar/freeway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "games/minatar/dealt_game.h"

namespace metronome {
namespace {

using enum MinatarAction;
using testing::ElementsAre;

enum Channel { kChicken, kCar, kFirstTrail };

/// Eight classes, then eight headings: below 0.5 is left.
const std::vector<double> kOutcomes = {1, 2, 3, 4, 5, 1, 2, 3, 0.6, 0.4, 0.5, 0.49, 0.6, 0.6, 0.6, 0.6};

class FreewayTest : public testing::Test {
 protected:
  FreewayTest() : game_(FreewayInfo()) { game_.Begin(kOutcomes); }

  /// All cars stand still for long, out of the way.
  void ParkCars() {
    Freeway::State state = game_.state();
    for (Freeway::Car& car : state.cars) car = {.column = 0, .timer = 10'000, .speed_class = 5, .heading = 1};
    game_.Set(state);
  }

  DealtGame<Freeway> game_;
};

TEST_F(FreewayTest, StartsWithAllCarsInColumnZero) {
  EXPECT_THAT(game_.Seen(kChicken), ElementsAre(94));
  EXPECT_THAT(game_.Seen(kCar), ElementsAre(10, 20, 30, 40, 50, 60, 70, 80));
  // Behind a car that heads right is, round the ring, column 9.
  EXPECT_THAT(game_.Seen(kFirstTrail), ElementsAre(19, 69));
  EXPECT_THAT(game_.Seen(kFirstTrail + 1), ElementsAre(21, 79));
  EXPECT_THAT(game_.Seen(kFirstTrail + 2), ElementsAre(39, 89)) << "exactly 0.5 heads right";
  EXPECT_THAT(game_.Seen(kFirstTrail + 3), ElementsAre(41));
  EXPECT_THAT(game_.Seen(kFirstTrail + 4), ElementsAre(59));
}

TEST_F(FreewayTest, ACarOfClassCMovesEveryCPlusOneSteps) {
  std::vector<int> moves(8, 0);
  for (int step = 1; step <= 60; ++step) {
    const Freeway::State before = game_.state();
    game_.Wait();
    for (std::size_t i = 0; i < 8; ++i) {
      if (game_.state().cars[i].column == before.cars[i].column) continue;
      ++moves[i];
      EXPECT_EQ(step % (before.cars[i].speed_class + 1), 0) << "lane " << i << " step " << step;
    }
  }
  EXPECT_THAT(moves, ElementsAre(30, 20, 15, 12, 10, 30, 20, 15));
}

TEST_F(FreewayTest, CarsComeBackOnTheOtherSide) {
  ParkCars();
  Freeway::State state = game_.state();
  state.cars[0] = {.column = 0, .timer = 0, .speed_class = 2, .heading = -1};
  state.cars[1] = {.column = 9, .timer = 0, .speed_class = 2, .heading = 1};
  game_.Set(state);
  game_.Wait();
  EXPECT_EQ(game_.state().cars[0].column, 9);
  EXPECT_EQ(game_.state().cars[1].column, 0);
  EXPECT_THAT(game_.Seen(kFirstTrail + 1), ElementsAre(10, 29));
}

TEST_F(FreewayTest, TheChickenMovesEveryThirdStepFromTheFourthOn) {
  ParkCars();
  std::vector<int> rows;
  for (int step = 0; step < 8; ++step) {
    game_.Step(kUp);
    rows.push_back(game_.state().chicken_row);
  }
  EXPECT_THAT(rows, ElementsAre(9, 9, 9, 8, 8, 8, 7, 7));
}

TEST_F(FreewayTest, GoingDownFromTheBottomRowStartsTheWait) {
  ParkCars();
  game_.Wait(3);
  game_.Step(kDown);
  EXPECT_EQ(game_.state().chicken_row, 9);
  game_.Step(kUp);
  game_.Step(kUp);
  EXPECT_EQ(game_.state().chicken_row, 9);
  game_.Step(kUp);
  EXPECT_EQ(game_.state().chicken_row, 8);
}

TEST_F(FreewayTest, ArrivingEarnsOneAndChangesAllCarsInPlace) {
  ParkCars();
  Freeway::State state = game_.state();
  state.chicken_row = 1;
  state.chicken_timer = 0;
  for (int i = 0; i < 8; ++i) state.cars[static_cast<std::size_t>(i)].column = i;
  game_.Set(state);
  const StepResult step = game_.Step(kUp, kOutcomes);
  EXPECT_EQ(step.reward, 1.0f);
  EXPECT_FALSE(step.terminated);
  EXPECT_EQ(game_.state().chicken_row, 9);
  EXPECT_EQ(game_.state().chicken_timer, 2);
  for (int i = 0; i < 8; ++i) {
    const Freeway::Car& car = game_.state().cars[static_cast<std::size_t>(i)];
    EXPECT_EQ(car.column, i);
    EXPECT_EQ(car.speed_class, static_cast<int>(kOutcomes[static_cast<std::size_t>(i)]));
    EXPECT_EQ(car.heading, i == 1 || i == 3 ? -1 : 1);
    EXPECT_EQ(car.timer, car.speed_class - 1) << "the rest of the step still runs";
  }
}

TEST_F(FreewayTest, ACarSendsTheChickenBackAndNothingElse) {
  for (const int column : {4, 3}) {  // there already, or arriving in this step
    ParkCars();
    Freeway::State state = game_.state();
    state.chicken_row = 5;
    state.cars[4] = {.column = column, .timer = 0, .speed_class = 1, .heading = 1};
    game_.Set(state);
    const StepResult step = game_.Wait();
    EXPECT_EQ(game_.state().chicken_row, 9) << column;
    EXPECT_EQ(step.reward, 0.0f);
    EXPECT_FALSE(step.terminated);
  }
}

TEST_F(FreewayTest, LastsTwoThousandFiveHundredAndOneSteps) {
  ParkCars();
  for (int step = 1; step <= 2500; ++step) ASSERT_FALSE(game_.Wait().terminated) << step;
  EXPECT_TRUE(game_.Wait().terminated);
}

}  // namespace
}  // namespace metronome
