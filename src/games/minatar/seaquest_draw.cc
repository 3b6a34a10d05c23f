// The picture of Seaquest: the sea from the side, and the gauges on its ground.

#include <algorithm>
#include <array>

#include "games/minatar/minatar_picture.h"
#include "games/minatar/seaquest.h"

namespace metronome {
namespace {

constexpr Color kSea = {34, 118, 168};
constexpr Color kDeep = {6, 20, 60};
constexpr Color kSkyHigh = {250, 206, 150};
constexpr Color kSun = {255, 238, 190};
constexpr Color kFoam = {226, 244, 250};
constexpr Color kRay = {255, 255, 255, 10};
constexpr Color kSand = {58, 52, 58};
constexpr Color kSandLight = {92, 80, 78};
constexpr Color kBubble = {220, 244, 255, 90};
constexpr Color kHull = {250, 204, 66};
constexpr Color kHullDark = {208, 150, 36};
constexpr Color kHullLight = {255, 236, 160};
constexpr Color kWindow = {60, 130, 190};
constexpr Color kRing = {120, 88, 30};
constexpr Color kFishBody = {255, 132, 74};
constexpr Color kFishDark = {220, 88, 50};
constexpr Color kFishStripe = {255, 240, 222};
constexpr Color kInk = {22, 24, 30};
constexpr Color kEnemyHull = {126, 66, 82};
constexpr Color kEnemyDark = {84, 40, 56};
constexpr Color kEnemyWindow = {255, 90, 80};
constexpr Color kTorpedo = {236, 250, 255};
constexpr Color kEnemyTorpedo = {255, 90, 80};
constexpr Color kSuit = {40, 44, 56};
constexpr Color kSkin = {246, 202, 160};
constexpr Color kMask = {150, 226, 255};
constexpr Color kFlipper = {96, 226, 150};
constexpr Color kTank = {255, 224, 100};
constexpr Color kWake = {230, 246, 255, 255};
constexpr Color kOxygen = {110, 214, 255};
constexpr Color kOxygenLow = {255, 92, 80};
constexpr Color kGauge = {28, 26, 34};
constexpr Color kHit = {255, 80, 60, 130};

constexpr int kGaugeRow = CellSet::kSide - 1;
constexpr float kFullOxygen = 200.0f;
constexpr int kMostDivers = 6;

void DrawSea(DrawList& out) {
  DrawGround(out, kSea, kDeep);
  DrawGround(out, WithAlpha(kSea, 0), kDeep);  // once more, for the depth
  // The sky over the upper part of the surface row.
  out.Rectangle(0.0f, kStripHeight, kPictureSide, 0.6f, kSkyHigh);
  out.Circle({8.2f, kStripHeight + 0.24f}, 0.17f, kSun);
  for (int i = 0; i < 4; ++i) {
    const float x = 0.8f + 2.5f * static_cast<float>(i);
    for (const float depth : {2.5f, 4.5f, 6.5f}) {  // fading
      const float way = 0.32f * depth;
      const std::array<DrawPoint, 4> ray = {{{x, kStripHeight + 0.6f},
                                             {x + 0.5f, kStripHeight + 0.6f},
                                             {x + 0.5f - 0.6f * way, kStripHeight + 0.6f + depth},
                                             {x - way, kStripHeight + 0.6f + depth}}};
      out.Polygon(ray, kRay);
    }
  }
  for (int i = 0; i < 10; ++i) {
    const float x = static_cast<float>(i);
    const std::array<DrawPoint, 7> wave = {{{x, kStripHeight + 0.5f},
                                            {x + 0.25f, kStripHeight + 0.42f},
                                            {x + 0.5f, kStripHeight + 0.5f},
                                            {x + 0.75f, kStripHeight + 0.57f},
                                            {x + 1.0f, kStripHeight + 0.5f},
                                            {x + 1.0f, kStripHeight + 0.62f},
                                            {x, kStripHeight + 0.62f}}};
    out.Polygon(wave, kSea);
    out.Polyline(std::span(wave).first(5), 0.05f, kFoam);
  }
  // The ground, where the gauges are.
  const float top = kStripHeight + kGaugeRow;
  out.Rectangle(0.0f, top, kPictureSide, 1.0f, kSand);
  for (int i = 0; i < 12; ++i) {
    const float x = 0.4f + 0.85f * static_cast<float>(i);
    out.Circle({x, top + 0.06f}, 0.1f + 0.04f * static_cast<float>(i * 5 % 3), kSandLight);
  }
  out.Rectangle(0.0f, top + 0.08f, kPictureSide, 0.92f, kSand);
}

void DrawWake(const Sprite& sprite) {
  for (int i = 0; i < 3; ++i) {
    const auto step = static_cast<float>(i);
    sprite.Disc(-0.66f - 0.22f * step, 0.04f - 0.08f * static_cast<float>(i % 2), 0.075f - 0.018f * step,
                WithAlpha(kWake, 100 - 30 * i));
  }
}

void DrawFish(const Sprite& sprite) {
  DrawWake(sprite);
  sprite.Polygon({{-0.2f, 0.0f}, {-0.46f, -0.24f}, {-0.38f, 0.0f}, {-0.46f, 0.24f}}, kFishDark);
  sprite.Polygon({{-0.14f, -0.14f}, {0.02f, -0.34f}, {0.2f, -0.18f}}, kFishDark);
  sprite.Polygon({{-0.28f, 0.0f},
                  {-0.16f, -0.15f},
                  {0.06f, -0.23f},
                  {0.28f, -0.17f},
                  {0.43f, 0.0f},
                  {0.28f, 0.17f},
                  {0.06f, 0.23f},
                  {-0.16f, 0.15f}},
                 kFishBody);
  sprite.Polygon(
      {{0.04f, -0.225f}, {0.14f, -0.215f}, {0.1f, 0.0f}, {0.14f, 0.215f}, {0.04f, 0.225f}, {0.0f, 0.0f}},
      kFishStripe);
  sprite.Polygon({{-0.1f, 0.04f}, {-0.02f, 0.02f}, {-0.08f, 0.18f}}, kFishDark);
  sprite.Disc(0.26f, -0.06f, 0.055f, kFishStripe);
  sprite.Disc(0.28f, -0.06f, 0.03f, kInk);
}

void DrawSubmarine(const Sprite& sprite) {
  DrawWake(sprite);
  sprite.Polygon({{-0.08f, -0.14f}, {-0.04f, -0.34f}, {0.16f, -0.34f}, {0.2f, -0.14f}}, kEnemyDark);
  sprite.Line({{0.08f, -0.34f}, {0.08f, -0.44f}, {0.17f, -0.44f}}, 0.045f, kEnemyDark);
  sprite.Polygon({{-0.36f, -0.05f}, {-0.48f, -0.22f}, {-0.48f, 0.22f}, {-0.36f, 0.05f}}, kEnemyDark);
  sprite.Line({{-0.22f, 0.02f}, {0.26f, 0.02f}}, 0.38f, kEnemyHull);
  sprite.Line({{-0.24f, 0.14f}, {0.26f, 0.14f}}, 0.12f, kEnemyDark);
  sprite.Polygon({{0.36f, -0.08f}, {0.49f, 0.02f}, {0.36f, 0.12f}}, kEnemyDark);
  for (const float x : {-0.16f, 0.04f, 0.24f}) sprite.Disc(x, -0.02f, 0.06f, kEnemyWindow);
}

void DrawDiver(const Sprite& sprite) {
  DrawWake(sprite);
  sprite.Line({{-0.08f, 0.04f}, {-0.28f, 0.1f}, {-0.36f, 0.02f}}, 0.09f, kSuit);
  sprite.Line({{-0.08f, 0.06f}, {-0.26f, 0.2f}, {-0.34f, 0.18f}}, 0.09f, kSuit);
  sprite.Polygon({{-0.34f, -0.02f}, {-0.48f, -0.1f}, {-0.44f, 0.08f}}, kFlipper);
  sprite.Polygon({{-0.32f, 0.16f}, {-0.48f, 0.14f}, {-0.42f, 0.28f}}, kFlipper);
  sprite.Line({{-0.1f, 0.04f}, {0.14f, 0.0f}}, 0.2f, kSuit);
  sprite.Line({{-0.1f, -0.1f}, {0.1f, -0.13f}}, 0.11f, kTank);
  sprite.Line({{0.12f, 0.04f}, {0.32f, 0.16f}}, 0.08f, kSuit);
  sprite.Disc(0.34f, 0.17f, 0.05f, kSkin);
  sprite.Disc(0.25f, -0.06f, 0.13f, kSkin);
  sprite.Polygon({{0.24f, -0.16f}, {0.37f, -0.12f}, {0.37f, -0.02f}, {0.25f, 0.0f}}, kMask);
  sprite.Disc(0.36f, -0.28f, 0.035f, kBubble);
  sprite.Disc(0.43f, -0.38f, 0.045f, kBubble);
}

void DrawBoat(const Sprite& sprite) {
  // It is two cells long: its front is in this one.
  sprite.Polygon({{-1.2f, 0.02f}, {-1.42f, -0.2f}, {-1.42f, 0.26f}}, kHullDark);
  sprite.Line({{-1.44f, -0.24f}, {-1.44f, 0.3f}}, 0.06f, kRing);
  sprite.Polygon({{-0.72f, -0.18f}, {-0.64f, -0.42f}, {-0.26f, -0.42f}, {-0.16f, -0.18f}}, kHullDark);
  sprite.Line({{-0.42f, -0.4f}, {-0.42f, -0.54f}, {-0.26f, -0.54f}}, 0.06f, kHullDark);
  sprite.Line({{-1.04f, 0.05f}, {0.12f, 0.05f}}, 0.54f, kHull);
  sprite.Line({{-1.08f, 0.24f}, {0.1f, 0.24f}}, 0.14f, kHullDark);
  sprite.Line({{-1.0f, -0.12f}, {0.02f, -0.12f}}, 0.06f, kHullLight);
  for (const float x : {-0.84f, -0.48f, -0.12f}) {
    sprite.Disc(x, 0.05f, 0.13f, kRing);
    sprite.Disc(x, 0.05f, 0.1f, kWindow);
    sprite.Disc(x - 0.03f, 0.02f, 0.03f, kFoam);
  }
  sprite.Polygon({{0.3f, -0.1f}, {0.44f, 0.05f}, {0.3f, 0.2f}}, kHullDark);
}

void DrawTorpedo(const Sprite& sprite, Color color) {
  sprite.Line({{-0.42f, 0.0f}, {0.1f, 0.0f}}, 0.14f, WithAlpha(color, 60));
  sprite.Line({{-0.1f, 0.0f}, {0.16f, 0.0f}}, 0.13f, color);
  sprite.Polygon({{-0.1f, 0.0f}, {-0.24f, -0.12f}, {-0.24f, 0.12f}}, color);
}

void DrawGauges(DrawList& out, int oxygen, int divers_aboard) {
  const float top = kStripHeight + kGaugeRow;
  constexpr float kLength = 4.6f;
  const float share = std::clamp(static_cast<float>(oxygen) / kFullOxygen, 0.0f, 1.0f);
  const Color color = share > 0.25f ? kOxygen : kOxygenLow;
  out.Text({0.3f, top + 0.2f}, 0.24f, "OXYGEN", MixColors(kFoam, kSand, 0.3f));
  out.Rectangle(0.3f, top + 0.55f, kLength, 0.26f, kGauge);
  out.Rectangle(0.3f, top + 0.55f, kLength * share, 0.26f, color);
  for (int i = 1; i < 10; ++i) {
    out.Rectangle(0.3f + kLength / 10.0f * static_cast<float>(i) - 0.01f, top + 0.55f, 0.02f, 0.26f, kGauge);
  }
  out.Text({5.5f, top + 0.2f}, 0.24f, "DIVERS ABOARD", MixColors(kFoam, kSand, 0.3f));
  for (int i = 0; i < kMostDivers; ++i) {
    const DrawPoint head = {5.65f + 0.62f * static_cast<float>(i), top + 0.68f};
    const bool full = i < divers_aboard;
    out.Circle(head, 0.17f, full ? kSkin : kGauge);
    if (full) out.Rectangle(head.x - 0.12f, head.y - 0.08f, 0.24f, 0.12f, kMask);
  }
}

}  // namespace

void Seaquest::Draw(DrawList& out) const {
  const State& s = state_;
  DrawSea(out);
  DrawGauges(out, s.oxygen, s.divers_aboard);
  for (const Swimmer& diver : s.divers) DrawDiver(Sprite(out, diver.row, diver.column, diver.heading));
  for (const Swimmer& fish : s.fish) DrawFish(Sprite(out, fish.row, fish.column, fish.heading));
  for (const Swimmer& enemy : s.submarines)
    DrawSubmarine(Sprite(out, enemy.row, enemy.column, enemy.heading));
  const Sprite boat(out, s.row, s.column, s.facing);
  if (terminated()) boat.Disc(-0.3f, 0.0f, 0.8f, kHit);
  DrawBoat(boat);
  for (const Bullet& bullet : s.own_bullets) {
    DrawTorpedo(Sprite(out, bullet.row, bullet.column, bullet.heading), kTorpedo);
  }
  for (const Bullet& bullet : s.enemy_bullets) {
    DrawTorpedo(Sprite(out, bullet.row, bullet.column, bullet.heading), kEnemyTorpedo);
  }
  DrawScore(out, "", 0.0f);
}

}  // namespace metronome
