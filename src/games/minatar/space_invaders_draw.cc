// The picture of Space Invaders: aliens made of pixels before a night sky.

#include <array>
#include <string_view>

#include "games/minatar/minatar_picture.h"
#include "games/minatar/space_invaders.h"
#include "metronome/core/rng.h"

namespace metronome {
namespace {

constexpr Color kSky = {12, 14, 32};
constexpr Color kHorizon = {54, 32, 92};
constexpr Color kStar = {255, 255, 255, 255};
constexpr Color kPlanet = {72, 62, 120};
constexpr Color kPlanetLight = {108, 96, 168};
constexpr Color kGroundLine = {90, 210, 160, 110};
// Of the aliens: at the top, in the middle and at the bottom of the board.
constexpr std::array<Color, 3> kAliens = {{{96, 240, 140}, {250, 226, 90}, {255, 76, 84}}};
constexpr Color kShot = {232, 255, 250};
constexpr Color kShotGlow = {110, 230, 255, 70};
constexpr Color kBolt = {255, 92, 80};
constexpr Color kBoltGlow = {255, 90, 70, 60};
constexpr Color kCannon = {86, 214, 230};
constexpr Color kCannonDark = {44, 140, 170};
constexpr Color kCannonLight = {206, 250, 252};
constexpr Color kCharged = {255, 244, 170};
constexpr Color kEmpty = {30, 84, 104};
constexpr Color kHit = {255, 90, 60, 130};

constexpr int kLast = CellSet::kSide - 1;
constexpr int kStars = 70;

// Two steps of a walk.
constexpr int kPixelRows = 8;
constexpr int kPixelColumns = 11;
using Bitmap = std::array<std::string_view, kPixelRows>;
constexpr std::array<Bitmap, 2> kAlien = {{{"...#...#...",  //
                                            "#...###...#",  //
                                            "##.#####.##",  //
                                            ".##..#..##.",  //
                                            "..#######..",  //
                                            "..##.#.##..",  //
                                            ".#..#.#..#.",  //
                                            "#.........#"},
                                           {"..#.....#..",  //
                                            "....###....",  //
                                            ".#.#####.#.",  //
                                            "###..#..###",  //
                                            "#.#######.#",  //
                                            "..##.#.##..",  //
                                            "...#...#...",  //
                                            "..#.....#.."}}};

void DrawSky(DrawList& out) {
  DrawGround(out, kSky, kHorizon);
  Rng rng(1, "stars");
  for (int i = 0; i < kStars; ++i) {
    const DrawPoint place = {static_cast<float>(rng.Uniform(0.0, 10.0)),
                             kStripHeight + static_cast<float>(rng.Uniform(0.0, 9.0))};
    const auto size = static_cast<float>(rng.Uniform(0.01, 0.035));
    out.Circle(place, size, WithAlpha(kStar, static_cast<int>(rng.UniformInt(90) + 36)));
  }
  out.Circle({8.1f, kStripHeight + 6.3f}, 0.9f, WithAlpha(kPlanet, 120));
  out.Circle({7.85f, kStripHeight + 6.1f}, 0.6f, WithAlpha(kPlanetLight, 50));
  out.Rectangle(0.0f, kStripHeight + kPictureSide - 0.06f, kPictureSide, 0.06f, kGroundLine);
}

void DrawAlien(DrawList& out, int row, int column, int frame) {
  constexpr float kPixel = 0.84f / kPixelColumns;
  constexpr float kOverlap = 0.006f;  // so that no seam shows between two rows of pixels
  const Sprite sprite(out, row, column);
  const float share = 2.0f * static_cast<float>(row) / kLast;
  const Color color = share < 1.0f ? MixColors(kAliens[0], kAliens[1], share)
                                   : MixColors(kAliens[1], kAliens[2], share - 1.0f);
  const Bitmap& bitmap = kAlien[static_cast<std::size_t>(frame)];
  for (int y = 0; y < kPixelRows; ++y) {
    const std::string_view line = bitmap[static_cast<std::size_t>(y)];
    for (std::size_t x = line.find('#'); x != std::string_view::npos;) {
      const std::size_t end = std::min(line.find('.', x), line.size());
      const float left = (static_cast<float>(x) - 0.5f * kPixelColumns) * kPixel;
      const float top = (static_cast<float>(y) - 0.5f * kPixelRows) * kPixel;
      sprite.Box(left, top, left + kPixel * static_cast<float>(end - x), top + kPixel + kOverlap, color);
      x = line.find('#', end);
    }
  }
}

void DrawCannon(const Sprite& sprite, bool charged) {
  sprite.Polygon(
      {{-0.44f, 0.44f}, {-0.44f, 0.16f}, {-0.34f, 0.06f}, {0.34f, 0.06f}, {0.44f, 0.16f}, {0.44f, 0.44f}},
      kCannon);
  sprite.Box(-0.44f, 0.32f, 0.44f, 0.44f, kCannonDark);
  sprite.Polygon({{-0.2f, 0.06f}, {-0.14f, -0.1f}, {0.14f, -0.1f}, {0.2f, 0.06f}}, kCannonDark);
  sprite.Box(-0.07f, -0.36f, 0.07f, -0.08f, kCannon);
  sprite.Line({{-0.32f, 0.12f}, {0.32f, 0.12f}}, 0.04f, kCannonLight);
  sprite.Disc(0.0f, -0.38f, 0.09f, charged ? kCharged : kEmpty);
}

}  // namespace

void SpaceInvaders::Draw(DrawList& out) const {
  DrawSky(out);
  const auto place = [&out](int cell) { return Sprite(out, cell / CellSet::kSide, cell % CellSet::kSide); };
  state_.own_bullets.ForEach([&](int cell) {
    place(cell).Line({{0.0f, -0.2f}, {0.0f, 0.42f}}, 0.2f, kShotGlow);
    place(cell).Line({{0.0f, -0.2f}, {0.0f, 0.2f}}, 0.08f, kShot);
  });
  // The walk goes on with each move aside.
  int frame = 0;
  for (int column = kLast; column >= 0; --column) {
    if (!(state_.aliens & CellSet::Column(column)).empty()) frame = column % 2;
  }
  state_.aliens.ForEach(
      [&](int cell) { DrawAlien(out, cell / CellSet::kSide, cell % CellSet::kSide, frame); });
  state_.enemy_bullets.ForEach([&](int cell) {
    place(cell).Line({{0.0f, -0.4f}, {0.0f, 0.3f}}, 0.22f, kBoltGlow);
    place(cell).Line({{-0.06f, -0.28f}, {0.07f, -0.14f}, {-0.07f, 0.0f}, {0.07f, 0.14f}, {-0.03f, 0.28f}},
                     0.065f, kBolt);
  });
  const Sprite cannon(out, kLast, state_.cannon_column);
  if (terminated()) cannon.Disc(0.0f, 0.1f, 0.6f, kHit);
  DrawCannon(cannon, state_.shot_timer == 0);
  constexpr float kSlowest = 12.0f;  // steps a move
  DrawScore(out, "PACE",
            kSlowest / 2.0f / static_cast<float>(std::min(state_.aliens.size(), state_.move_interval)));
}

}  // namespace metronome
