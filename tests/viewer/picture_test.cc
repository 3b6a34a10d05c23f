#include "viewer/picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "metronome/core/rng.h"
#include "metronome/games/registry.h"

namespace metronome {
namespace {

constexpr Color kRed = {255, 0, 0};
constexpr Color kBlue = {0, 0, 255};

TEST(InBetweenTest, ShapesGoStraightFromOnePlaceToTheOther) {
  DrawList before, after, shown;
  before.Rectangle(0, 0, 10, 10, kBlue);
  before.Circle({1, 2}, 1.0f, kRed);
  after.Rectangle(0, 0, 10, 10, kBlue);
  after.Circle({3, 6}, 1.0f, kRed);
  InBetween(before, after, 0.25f, 100.0f, shown);
  ASSERT_EQ(shown.commands().size(), 2u);
  EXPECT_FLOAT_EQ(shown.points(shown.commands()[1])[0].x, 1.5f);
  EXPECT_FLOAT_EQ(shown.points(shown.commands()[1])[0].y, 3.0f);
  InBetween(before, after, 1.0f, 100.0f, shown);
  EXPECT_EQ(CommonBeginning(shown, after), 2u);
  InBetween(before, after, 0.0f, 100.0f, shown);
  EXPECT_EQ(CommonBeginning(shown, before), 2u);
}

TEST(InBetweenTest, WhatIsNewShowsAtTheEnd) {
  DrawList before, after, shown;
  before.Rectangle(0, 0, 10, 10, kBlue);
  before.Circle({1, 2}, 1.0f, kRed);
  before.Text({0, 0}, 1.0f, "12", kBlue);
  after.Rectangle(0, 0, 10, 10, kBlue);
  after.Rectangle(5, 5, 1, 1, kRed);  // a mark that the step left
  after.Circle({3, 2}, 1.0f, kRed);
  after.Text({0, 0}, 1.0f, "13", kBlue);
  InBetween(before, after, 0.5f, 100.0f, shown);
  ASSERT_EQ(shown.commands().size(), 3u);
  EXPECT_EQ(shown.commands()[1].kind, DrawKind::kCircle);
  EXPECT_FLOAT_EQ(shown.points(shown.commands()[1])[0].x, 2.0f);
  EXPECT_EQ(shown.text(shown.commands()[2]), "12");
  InBetween(before, after, 1.0f, 100.0f, shown);
  EXPECT_EQ(CommonBeginning(shown, after), 4u);
}

TEST(InBetweenTest, AShapeThatGoesTooFarJumpsAtTheEnd) {
  DrawList before, after, shown;
  before.Circle({1, 2}, 1.0f, kRed);
  after.Circle({50, 2}, 1.0f, kRed);
  InBetween(before, after, 0.9f, 10.0f, shown);
  EXPECT_FLOAT_EQ(shown.points(shown.commands()[0])[0].x, 1.0f);
}

class PicturePainterTest : public ::testing::TestWithParam<bool> {};

TEST_P(PicturePainterTest, PaintsTheSameWithWhatItKeptAsWithout) {
  const bool close = GetParam();
  for (const GameInfo& info : Games()) {
    const std::unique_ptr<Game> game = MakeGame(info.name);
    const GameSpec& spec = game->spec();
    PicturePainter painter;
    Canvas kept(320, 240);
    Canvas anew(320, 240);
    DrawList list;
    Rng actions(5);
    game->Reset(1);
    std::size_t painted = 0;
    std::size_t all = 0;
    for (int step = 0; step < 60; ++step) {
      list.Clear();
      game->Draw(list);
      const float scale = static_cast<float>((close ? 900.0 : 300.0) / spec.draw_width);
      const auto height = static_cast<int>(spec.draw_height * static_cast<double>(scale));
      const int left = close ? 3 * step : 0;
      const int top = close ? std::min(2 * step, height - 200) : 0;
      const PixelArea area = {10, 20, 300, std::min(200, height)};
      painter.Paint(list, spec.draw_width, spec.draw_height, scale, left, top, area, kept);
      anew.SetClip(area);
      PaintCommands(list, 0, list.commands().size(),
                    {scale, static_cast<float>(area.left - left), static_cast<float>(area.top - top)}, anew);
      painted += painter.painted();
      all += list.commands().size();
      // A shape's edge may be rounded otherwise where it was placed with other offsets.
      for (int y = 0; y < 240; ++y) {
        for (int x = 0; x < 320; ++x) {
          ASSERT_NEAR(kept.At(x, y).red, anew.At(x, y).red, 3) << info.name << " step " << step;
          ASSERT_NEAR(kept.At(x, y).green, anew.At(x, y).green, 3) << info.name << " step " << step;
        }
      }
      if (game->Step(static_cast<int>(actions.UniformInt(spec.num_actions()))).terminated) game->Reset(2);
    }
    EXPECT_LT(painted, all) << info.name << ": nothing was kept";
  }
}

INSTANTIATE_TEST_SUITE_P(WholeAndClose, PicturePainterTest, ::testing::Bool());

}  // namespace
}  // namespace metronome
