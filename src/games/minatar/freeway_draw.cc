// The picture of Freeway: a road from above.

#include <array>

#include "games/minatar/freeway.h"
#include "games/minatar/minatar_picture.h"

namespace metronome {
namespace {

constexpr Color kAsphalt = {62, 65, 73};
constexpr Color kAsphaltTint = {44, 46, 54};
constexpr Color kGrass = {74, 142, 74};
constexpr Color kGrassDark = {58, 120, 62};
constexpr Color kBlade = {112, 178, 96};
constexpr Color kKerb = {178, 180, 184};
constexpr Color kDash = {220, 222, 226, 120};
constexpr Color kMiddleLine = {240, 196, 72};
constexpr Color kZebra = {255, 255, 255, 22};
constexpr Color kGlass = {34, 44, 62};
constexpr Color kTire = {22, 22, 26};
constexpr Color kLamp = {255, 240, 170};
constexpr Color kBeam = {255, 236, 150, 28};
constexpr Color kTailLamp = {255, 66, 66};
constexpr Color kShadow = {0, 0, 0, 70};
constexpr Color kStreak = {255, 255, 255, 60};
constexpr Color kLoad = {206, 200, 186};
constexpr Color kLoadLine = {160, 152, 138};
// By speed class, from fast to slow.
constexpr std::array<Color, 5> kPaint = {
    {{236, 64, 60}, {246, 150, 52}, {74, 196, 164}, {82, 146, 250}, {164, 128, 216}}};
constexpr Color kFeather = {252, 250, 244};
constexpr Color kWing = {224, 218, 206};
constexpr Color kComb = {226, 56, 52};
constexpr Color kBeak = {250, 170, 46};
constexpr Color kEye = {24, 24, 28};

constexpr int kLastRow = CellSet::kSide - 1;
constexpr float kTimeLimit = 2500.0f;

void DrawRoad(DrawList& out) {
  DrawGround(out, kAsphalt, kAsphaltTint);
  for (const int row : {0, kLastRow}) {
    const float top = kStripHeight + static_cast<float>(row);
    out.Rectangle(0.0f, top, kPictureSide, 1.0f, kGrass);
    for (int i = 0; i < 10; i += 2) {
      out.Rectangle(static_cast<float>(i), top, 1.0f, 1.0f, WithAlpha(kGrassDark, 110));
    }
    // Tufts, scattered by a rule.
    for (int i = 0; i < 16; ++i) {
      const float x = 0.2f + 0.62f * static_cast<float>(i);
      const float y = top + 0.25f + 0.13f * static_cast<float>(i * 7 % 5);
      const std::array<DrawPoint, 5> tuft = {
          {{x - 0.07f, y - 0.09f}, {x - 0.02f, y}, {x, y - 0.13f}, {x + 0.02f, y}, {x + 0.07f, y - 0.09f}}};
      out.Polyline(tuft, 0.025f, kBlade);
    }
    const float edge = row == 0 ? top + 0.93f : top;
    out.Rectangle(0.0f, edge, kPictureSide, 0.07f, kKerb);
  }
  for (int lane = 1; lane < Freeway::kLanes; ++lane) {
    const float y = kStripHeight + 1.0f + static_cast<float>(lane);
    if (lane == Freeway::kLanes / 2) {
      out.Rectangle(0.0f, y - 0.06f, kPictureSide, 0.035f, kMiddleLine);
      out.Rectangle(0.0f, y + 0.025f, kPictureSide, 0.035f, kMiddleLine);
      continue;
    }
    for (int i = 0; i < 10; ++i) {
      out.Rectangle(static_cast<float>(i) + 0.25f, y - 0.02f, 0.5f, 0.04f, kDash);
    }
  }
  for (int i = 0; i < 2 * Freeway::kLanes; ++i) {
    out.Rectangle(Freeway::kChickenColumn, kStripHeight + 1.12f + 0.5f * static_cast<float>(i), 1.0f, 0.26f,
                  kZebra);
  }
}

void DrawCar(DrawList& out, int row, const Freeway::Car& car) {
  const Sprite sprite(out, row, car.column, car.heading);
  const Color paint = kPaint[static_cast<std::size_t>(car.speed_class - 1)];
  // The faster, the longer the streaks behind it.
  const float length = 0.16f * static_cast<float>(6 - car.speed_class);
  for (const float y : {-0.22f, 0.0f, 0.22f}) {
    sprite.Line({{-0.56f - length, y}, {-0.56f, y}}, 0.035f, kStreak);
  }
  sprite.Polygon({{0.46f, -0.26f}, {1.3f, -0.44f}, {1.3f, 0.44f}, {0.46f, 0.26f}}, kBeam);
  sprite.Polygon({{0.46f, -0.24f}, {0.95f, -0.32f}, {0.95f, 0.32f}, {0.46f, 0.24f}}, kBeam);
  sprite.Polygon({{-0.44f, -0.24f}, {0.46f, -0.24f}, {0.46f, 0.4f}, {-0.44f, 0.4f}}, kShadow);
  for (const float x : {-0.28f, 0.28f}) {
    sprite.Box(x - 0.09f, -0.34f, x + 0.09f, 0.34f, kTire);
  }
  if (car.speed_class == 5) {  // a lorry
    sprite.Box(-0.47f, -0.31f, 0.2f, 0.31f, kLoad);
    for (const float x : {-0.32f, -0.14f, 0.04f}) {
      sprite.Line({{x, -0.29f}, {x, 0.29f}}, 0.03f, kLoadLine);
    }
    sprite.Polygon(
        {{0.22f, -0.29f}, {0.42f, -0.29f}, {0.48f, -0.2f}, {0.48f, 0.2f}, {0.42f, 0.29f}, {0.22f, 0.29f}},
        paint);
    sprite.Polygon({{0.34f, -0.23f}, {0.42f, -0.2f}, {0.42f, 0.2f}, {0.34f, 0.23f}}, kGlass);
  } else {
    sprite.Polygon({{-0.46f, -0.2f},
                    {-0.4f, -0.29f},
                    {0.34f, -0.29f},
                    {0.47f, -0.19f},
                    {0.47f, 0.19f},
                    {0.34f, 0.29f},
                    {-0.4f, 0.29f},
                    {-0.46f, 0.2f}},
                   paint);
    sprite.Polygon({{-0.3f, -0.22f}, {0.22f, -0.22f}, {0.22f, 0.22f}, {-0.3f, 0.22f}}, kGlass);
    sprite.Box(-0.18f, -0.21f, 0.06f, 0.21f, MixColors(paint, {255, 255, 255}, 0.18f));
  }
  for (const float side : {-0.2f, 0.2f}) {
    sprite.Disc(0.44f, side, 0.055f, kLamp);
    sprite.Box(-0.47f, side - 0.06f, -0.42f, side + 0.06f, kTailLamp);
  }
}

void DrawChicken(DrawList& out, int row, bool can_move) {
  const Sprite sprite(out, row, Freeway::kChickenColumn);
  sprite.Polygon({{-0.3f, 0.28f}, {0.3f, 0.28f}, {0.24f, 0.42f}, {-0.24f, 0.42f}}, kShadow);
  for (const float side : {-0.1f, 0.1f}) {
    sprite.Line({{side, 0.24f}, {side, 0.41f}, {side + 0.07f, 0.43f}}, 0.04f, kBeak);
  }
  // Tail, body, wing, head, facing right.
  sprite.Polygon({{-0.2f, 0.1f}, {-0.44f, -0.2f}, {-0.3f, -0.16f}, {-0.28f, -0.26f}, {-0.06f, -0.04f}},
                 kWing);
  sprite.Disc(-0.03f, 0.1f, 0.24f, kFeather);
  sprite.Disc(0.08f, 0.02f, 0.2f, kFeather);
  sprite.Polygon({{-0.22f, 0.04f}, {0.06f, 0.04f}, {0.02f, 0.16f}, {-0.1f, 0.22f}, {-0.2f, 0.16f}}, kWing);
  sprite.Disc(0.14f, -0.37f, 0.06f, kComb);
  sprite.Disc(0.22f, -0.4f, 0.06f, kComb);
  sprite.Disc(0.06f, -0.33f, 0.055f, kComb);
  sprite.Disc(0.17f, -0.2f, 0.16f, kFeather);
  sprite.Polygon({{0.3f, -0.26f}, {0.46f, -0.17f}, {0.3f, -0.11f}}, kBeak);
  sprite.Disc(0.29f, -0.07f, 0.05f, kComb);
  sprite.Disc(0.21f, -0.24f, 0.038f, kEye);
  if (can_move) sprite.Disc(0.22f, -0.25f, 0.014f, kFeather);
}

}  // namespace

void Freeway::Draw(DrawList& out) const {
  DrawRoad(out);
  for (int lane = 0; lane < kLanes; ++lane)
    DrawCar(out, lane + 1, state_.cars[static_cast<std::size_t>(lane)]);
  DrawChicken(out, state_.chicken_row, state_.chicken_timer == 0);
  DrawScore(out, "TIME", static_cast<float>(state_.steps_left) / kTimeLimit);
}

}  // namespace metronome
