#include "support/ascii_raster.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace metronome {
namespace {

constexpr Color kGround = {0, 0, 0};
constexpr Color kWall = {255, 0, 0};
constexpr Color kBall = {0, 255, 0};

// Ten characters on five lines: each is one cell wide and two high.
TEST(AsciiRasterTest, PaintsTheTopmostShapeOfEachCharacter) {
  DrawList list;
  list.Rectangle(0, 0, 10, 10, kGround);
  list.Rectangle(2, 2, 5, 6, kWall);
  list.Circle({4.5f, 5.0f}, 1.1f, kBall);
  const std::array<DrawPoint, 2> line = {{{0.0f, 9.0f}, {5.8f, 9.0f}}};
  list.Polyline(line, 0.1f, kBall);
  AsciiRaster raster(10, 10, 10);
  const std::vector<std::string> want = {"", "  .....", "  .===.", "  .....", "======"};
  EXPECT_EQ(raster.Paint(list), want);
  EXPECT_EQ(raster.Legend(), (std::vector<std::string>{"' ' is 000000", "'.' is ff0000", "'=' is 00ff00"}));
}

TEST(AsciiRasterTest, PaintsConcavePolygons) {
  DrawList list;
  list.Rectangle(0, 0, 10, 10, kGround);
  const std::array<DrawPoint, 8> cup = {{{1, 0}, {3, 0}, {3, 6}, {7, 6}, {7, 0}, {9, 0}, {9, 10}, {1, 10}}};
  list.Polygon(cup, kWall);
  AsciiRaster raster(10, 10, 10);
  const std::vector<std::string> want = {" ..    ..", " ..    ..", " ..    ..", " ........", " ........"};
  EXPECT_EQ(raster.Paint(list), want);
}

TEST(AsciiRasterTest, ShowsTextAndSmallShapesAndLeavesFaintOnesOut) {
  DrawList list;
  list.Rectangle(0, 0, 10, 10, kGround);
  list.Text({1.2f, 0.2f}, 1.0f, "lap 1", kWall);
  list.Circle({3.3f, 4.7f}, 0.01f, kBall);
  list.Rectangle(0, 0, 10, 10, {255, 255, 255, 100});
  AsciiRaster raster(10, 10, 10);
  const std::vector<std::string> want = {" lap 1", "", "   =", "", ""};
  EXPECT_EQ(raster.Paint(list), want);
}

}  // namespace
}  // namespace metronome
