#include "metronome/games/draw_list.h"

#include <gtest/gtest.h>

#include <array>

#include "support/allocation_counter.h"

namespace metronome {
namespace {

constexpr Color kRed = {200, 10, 20};
constexpr Color kGlass = {1, 2, 3, 40};

/// One of each kind.
void DrawAll(DrawList& list) {
  const std::array<DrawPoint, 3> triangle = {{{0, 0}, {2, 0}, {0, 2}}};
  const std::array<DrawPoint, 2> segment = {{{1, 1}, {3, 4}}};
  list.Rectangle(1.0f, 2.0f, 3.0f, 4.0f, kRed);
  list.Polygon(triangle, kGlass);
  list.Polyline(segment, 0.5f, kRed);
  list.Circle({7.0f, 8.0f}, 1.5f, kGlass);
  list.Text({1.0f, 1.0f}, 2.0f, "lap 1", kRed);
  list.Text({1.0f, 4.0f}, 2.0f, "12.5 m/s", kGlass);
}

TEST(DrawListTest, KeepsShapesInTheOrderDrawn) {
  DrawList list;
  EXPECT_TRUE(list.commands().empty());
  DrawAll(list);
  ASSERT_EQ(list.commands().size(), 6u);

  const DrawCommand& rectangle = list.commands()[0];
  EXPECT_EQ(rectangle.kind, DrawKind::kPolygon);
  EXPECT_EQ(rectangle.color, kRed);
  const auto corners = list.points(rectangle);
  ASSERT_EQ(corners.size(), 4u);
  EXPECT_EQ(corners[0].x, 1.0f);
  EXPECT_EQ(corners[0].y, 2.0f);
  EXPECT_EQ(corners[2].x, 4.0f);
  EXPECT_EQ(corners[2].y, 6.0f);

  EXPECT_EQ(list.commands()[1].kind, DrawKind::kPolygon);
  EXPECT_EQ(list.points(list.commands()[1]).size(), 3u);
  EXPECT_EQ(list.commands()[1].color, kGlass);

  EXPECT_EQ(list.commands()[2].kind, DrawKind::kPolyline);
  EXPECT_EQ(list.commands()[2].size, 0.5f);
  EXPECT_EQ(list.points(list.commands()[2])[1].y, 4.0f);

  EXPECT_EQ(list.commands()[3].kind, DrawKind::kCircle);
  EXPECT_EQ(list.commands()[3].size, 1.5f);
  EXPECT_EQ(list.points(list.commands()[3])[0].x, 7.0f);

  EXPECT_EQ(list.commands()[4].kind, DrawKind::kText);
  EXPECT_EQ(list.text(list.commands()[4]), "lap 1");
  EXPECT_EQ(list.text(list.commands()[5]), "12.5 m/s");
  EXPECT_EQ(list.commands()[5].size, 2.0f);
  EXPECT_EQ(list.points(list.commands()[5])[0].y, 4.0f);
  EXPECT_TRUE(list.text(list.commands()[0]).empty());
}

TEST(DrawListTest, ClearedListTakesTheSamePictureWithoutAllocating) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  DrawList list;
  DrawAll(list);
  const AllocationScope scope;
  list.Clear();
  const std::size_t left = list.commands().size();
  DrawAll(list);
  EXPECT_EQ(scope.count(), 0);
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(list.commands().size(), 6u);
}

TEST(DrawListDeathTest, ShapesWithTooFewPointsAbort) {
  DrawList list;
  const std::array<DrawPoint, 2> points = {{{0, 0}, {2, 0}}};
  EXPECT_DEATH(list.Polygon(points, kRed), "check failed");
  EXPECT_DEATH(list.Polyline(std::span(points).first(1), 1.0f, kRed), "check failed");
}

}  // namespace
}  // namespace metronome
