#include "viewer/canvas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "metronome/core/rng.h"
#include "viewer/font.h"
#include "viewer/png_file.h"

namespace metronome {
namespace {

constexpr Color kBlack = {0, 0, 0};
constexpr Color kWhite = {255, 255, 255};

Canvas Black(int width, int height) {
  Canvas canvas(width, height);
  canvas.Clear(kBlack);
  return canvas;
}

/// Sum of all pixels' brightness, in pixels of full white.
double Area(const Canvas& canvas) {
  double sum = 0.0;
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) sum += canvas.At(x, y).green / 255.0;
  }
  return sum;
}

TEST(CanvasTest, PixelsGetTheShareThatARectangleCovers) {
  Canvas canvas = Black(6, 4);
  canvas.FillRectangle(1.25f, 1.0f, 2.25f, 1.5f, kWhite);
  const auto near = [&](int x, int y, double share) {
    EXPECT_NEAR(canvas.At(x, y).red, 255 * share, 2) << x << ", " << y;
  };
  near(0, 1, 0.0);
  near(1, 1, 0.75);
  near(2, 1, 1.0);
  near(3, 1, 0.5);
  near(4, 1, 0.0);
  near(1, 2, 0.375);
  near(2, 2, 0.5);
  near(2, 3, 0.0);
  near(2, 0, 0.0);
}

TEST(CanvasTest, PolygonsAgreeWithManySamplesOfEachPixel) {
  Rng rng(3);
  for (int round = 0; round < 60; ++round) {
    // Any triangle, much of it beyond the picture at times.
    std::array<DrawPoint, 3> corners;
    for (DrawPoint& corner : corners) {
      corner = {static_cast<float>(rng.Uniform(-20.0, 40.0)), static_cast<float>(rng.Uniform(-20.0, 40.0))};
    }
    Canvas canvas = Black(20, 20);
    canvas.FillPolygon(corners, kWhite);
    const auto side = [&](int i, double x, double y) {
      const DrawPoint a = corners[static_cast<std::size_t>(i)];
      const DrawPoint b = corners[static_cast<std::size_t>((i + 1) % 3)];
      return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
    };
    for (int y = 0; y < 20; ++y) {
      for (int x = 0; x < 20; ++x) {
        constexpr int kSamples = 16;
        int inside = 0;
        for (int i = 0; i < kSamples * kSamples; ++i) {
          const double px = x + (i % kSamples + 0.5) / kSamples;
          const double py = y + (i / kSamples + 0.5) / kSamples;
          const bool first = side(0, px, py) > 0;
          if (first == (side(1, px, py) > 0) && first == (side(2, px, py) > 0)) ++inside;
        }
        ASSERT_NEAR(canvas.At(x, y).red, 255.0 * inside / (kSamples * kSamples), 14)
            << "round " << round << ", pixel " << x << ", " << y;
      }
    }
  }
}

TEST(CanvasTest, NothingOfAPathStaysForTheNext) {
  Rng rng(4);
  Canvas canvas = Black(50, 30);
  for (int i = 0; i < 200; ++i) {
    canvas.SetClip({static_cast<int>(rng.UniformInt(20)), static_cast<int>(rng.UniformInt(10)),
                    static_cast<int>(rng.UniformInt(40)), static_cast<int>(rng.UniformInt(30))});
    canvas.FillCircle({static_cast<float>(rng.Uniform(-10, 60)), static_cast<float>(rng.Uniform(-10, 40))},
                      static_cast<float>(rng.Uniform(0.1, 20.0)), kWhite);
  }
  canvas.ClearClip();
  canvas.Clear(kBlack);
  canvas.FillRectangle(10.0f, 10.0f, 1.0f, 1.0f, kWhite);
  EXPECT_NEAR(Area(canvas), 1.0, 0.01);
}

TEST(CanvasTest, CirclesHaveTheirArea) {
  for (const float radius : {0.4f, 1.0f, 3.3f, 12.0f, 40.0f}) {
    Canvas canvas = Black(100, 100);
    canvas.FillCircle({50.3f, 49.6f}, radius, kWhite);
    const double area = std::numbers::pi * static_cast<double>(radius) * static_cast<double>(radius);
    EXPECT_NEAR(Area(canvas) / area, 1.0, radius < 1.0f ? 0.15 : 0.02) << radius;
  }
}

TEST(CanvasTest, TheDirectionAroundAPolygonMakesNoDifference) {
  const std::vector<DrawPoint> there = {{3, 4}, {17, 6}, {12, 18}, {9, 9}};
  const std::vector<DrawPoint> back(there.rbegin(), there.rend());
  Canvas first = Black(20, 20);
  Canvas second = Black(20, 20);
  first.FillPolygon(there, kWhite);
  second.FillPolygon(back, kWhite);
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x < 20; ++x) ASSERT_NEAR(first.At(x, y).red, second.At(x, y).red, 1);
  }
}

TEST(CanvasTest, ATranslucentLineIsNowhereDenserThanItsColour) {
  // Sharp and gentle bends, and one that folds back on itself.
  const std::vector<DrawPoint> line = {{10, 10}, {40, 12}, {60, 20}, {62, 50}, {30, 40}, {61, 41}, {20, 55}};
  Canvas canvas = Black(80, 70);
  canvas.StrokePolyline(line, 9.0f, {255, 255, 255, 128});
  int most = 0;
  for (int y = 0; y < 70; ++y) {
    for (int x = 0; x < 80; ++x) most = std::max<int>(most, canvas.At(x, y).red);
  }
  EXPECT_NEAR(most, 128, 2);
}

TEST(CanvasTest, AClosedLineHasNoGap) {
  std::vector<DrawPoint> ring;
  for (int i = 0; i <= 40; ++i) {
    const double angle = 2 * std::numbers::pi * (i % 40) / 40;
    ring.push_back(
        {static_cast<float>(50 + 30 * std::cos(angle)), static_cast<float>(50 + 30 * std::sin(angle))});
  }
  Canvas canvas = Black(100, 100);
  canvas.StrokePolyline(ring, 6.0f, kWhite);
  for (int i = 0; i < 360; ++i) {
    const double angle = i * std::numbers::pi / 180;
    const int x = static_cast<int>(50 + 30 * std::cos(angle));
    const int y = static_cast<int>(50 + 30 * std::sin(angle));
    ASSERT_GT(canvas.At(x, y).red, 250) << i << " degrees";
  }
  EXPECT_NEAR(Area(canvas), 2 * std::numbers::pi * 30 * 6, 12.0);
}

TEST(CanvasTest, LinesThinnerThanAPixelAreFaint) {
  Canvas canvas = Black(40, 10);
  const std::array<DrawPoint, 2> line = {{{5, 5.5f}, {35, 5.5f}}};
  canvas.StrokePolyline(line, 0.25f, kWhite);
  EXPECT_NEAR(canvas.At(20, 5).red, 64, 3);
}

TEST(CanvasTest, NothingIsPaintedOutsideTheClip) {
  Canvas canvas = Black(30, 30);
  canvas.SetClip({10, 8, 12, 9});
  canvas.FillCircle({15, 12}, 100.0f, kWhite);
  canvas.Text({-5, 5}, 20.0f, "WWWWWW", {255, 0, 0});
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 30; ++x) {
      const bool inside = x >= 10 && x < 22 && y >= 8 && y < 17;
      ASSERT_EQ(canvas.At(x, y) == kBlack, !inside) << x << ", " << y;
    }
  }
}

TEST(CanvasTest, PointsThatAreNotFinitePaintNothing) {
  Canvas canvas = Black(10, 10);
  const float nan = std::nanf("");
  const std::array<DrawPoint, 3> corners = {{{nan, 1}, {5, nan}, {3, INFINITY}}};
  canvas.FillPolygon(corners, kWhite);
  EXPECT_EQ(Area(canvas), 0.0);
}

TEST(CanvasTest, EveryPrintableCharacterShows) {
  for (char character = '!'; character <= '~'; ++character) {
    Canvas canvas = Black(80, 60);
    const std::string_view text(&character, 1);
    canvas.Text({20, 10}, 40.0f, text, kWhite);
    EXPECT_GT(Area(canvas), 5.0) << character;
    const float width = TextWidth(text, 40.0f);
    for (int y = 0; y < 60; ++y) {
      for (int x = 0; x < 80; ++x) {
        if (static_cast<float>(x) >= 14.0f && static_cast<float>(x) <= 26.0f + width) continue;
        ASSERT_EQ(canvas.At(x, y), kBlack) << character << " at " << x << ", " << y;
      }
    }
  }
  EXPECT_EQ(TextWidth("ab", 30.0f), TextWidth("a", 30.0f) + TextWidth("b", 30.0f));
  EXPECT_EQ(GlyphOf('\n'), GlyphOf('?'));
}

TEST(PngTest, ReadsBackWhatItWrote) {
  Canvas canvas = Black(33, 17);
  canvas.FillCircle({12, 8}, 7.0f, {200, 100, 50});
  for (const PngEffort effort : {PngEffort::kFast, PngEffort::kSmall}) {
    const Canvas back = DecodePng(EncodePng(canvas, effort), "test");
    ASSERT_EQ(back.width(), 33);
    ASSERT_EQ(back.height(), 17);
    EXPECT_TRUE(std::ranges::equal(back.pixels(), canvas.pixels()));
  }
}

}  // namespace
}  // namespace metronome
