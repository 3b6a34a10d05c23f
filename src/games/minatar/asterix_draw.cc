// The picture of Asterix: a Gaul, gold and legionaries in the lanes of a forest.

#include "games/minatar/asterix.h"
#include "games/minatar/minatar_picture.h"

namespace metronome {
namespace {

constexpr Color kGround = {58, 88, 60};
constexpr Color kTint = {34, 58, 56};
constexpr Color kLaneLight = {255, 255, 255, 12};
constexpr Color kLaneEdge = {20, 36, 30, 90};
constexpr Color kLeaf = {40, 74, 46};
constexpr Color kLeafLight = {60, 104, 58};
constexpr Color kDust = {236, 220, 180, 255};
constexpr Color kShadow = {0, 0, 0, 70};
constexpr Color kGold = {255, 204, 64};
constexpr Color kGoldDark = {200, 140, 30};
constexpr Color kGoldLight = {255, 240, 176};
constexpr Color kShield = {196, 40, 44};
constexpr Color kBrass = {236, 188, 90};
constexpr Color kSteel = {176, 184, 196};
constexpr Color kSteelDark = {122, 130, 144};
constexpr Color kPlume = {230, 60, 52};
constexpr Color kSkin = {244, 196, 152};
constexpr Color kHair = {250, 206, 74};
constexpr Color kTunic = {34, 36, 44};
constexpr Color kTrousers = {206, 56, 50};
constexpr Color kBelt = {60, 140, 78};
constexpr Color kWing = {252, 252, 250};
constexpr Color kInk = {28, 26, 30};
constexpr Color kHit = {255, 70, 60, 120};

void DrawForest(DrawList& out) {
  DrawGround(out, kGround, kTint);
  for (int lane = 0; lane < Asterix::kLanes; ++lane) {
    const float top = kStripHeight + 1.0f + static_cast<float>(lane);
    if (lane % 2 == 0) out.Rectangle(0.0f, top, kPictureSide, 1.0f, kLaneLight);
    out.Rectangle(0.0f, top + 0.97f, kPictureSide, 0.03f, kLaneEdge);
  }
  for (const int row : {0, CellSet::kSide - 1}) {
    out.Rectangle(0.0f, kStripHeight + static_cast<float>(row), kPictureSide, 1.0f, kLeaf);
    for (int column = 0; column < CellSet::kSide; ++column) {
      const Sprite bush(out, row, column);
      const float lift = 0.08f * static_cast<float>(column * 3 % 4);
      bush.Disc(-0.2f, 0.1f - lift, 0.36f, kLeafLight);
      bush.Disc(-0.16f, 0.16f - lift, 0.34f, kLeaf);
      bush.Disc(0.3f, -0.1f + lift, 0.3f, kLeafLight);
      bush.Disc(0.34f, -0.04f + lift, 0.28f, kLeaf);
    }
  }
}

void DrawShadow(const Sprite& sprite) { sprite.Line({{-0.2f, 0.41f}, {0.2f, 0.41f}}, 0.1f, kShadow); }

void DrawDust(const Sprite& sprite) {
  for (int i = 0; i < 3; ++i) {
    const auto step = static_cast<float>(i);
    sprite.Disc(-0.62f - 0.26f * step, 0.26f - 0.05f * step, 0.13f - 0.03f * step,
                WithAlpha(kDust, 110 - 34 * i));
  }
}

void DrawGold(const Sprite& sprite) {
  DrawShadow(sprite);
  // A pot, and coins over its rim.
  sprite.Disc(-0.16f, -0.14f, 0.13f, kGoldDark);
  sprite.Disc(-0.16f, -0.16f, 0.12f, kGold);
  sprite.Disc(0.16f, -0.14f, 0.13f, kGoldDark);
  sprite.Disc(0.16f, -0.16f, 0.12f, kGold);
  sprite.Disc(0.0f, -0.22f, 0.15f, kGoldDark);
  sprite.Disc(0.0f, -0.24f, 0.14f, kGold);
  sprite.Disc(-0.03f, -0.27f, 0.05f, kGoldLight);
  sprite.Polygon(
      {{-0.34f, -0.1f}, {0.34f, -0.1f}, {0.36f, 0.12f}, {0.24f, 0.34f}, {-0.24f, 0.34f}, {-0.36f, 0.12f}},
      kTunic);
  sprite.Line({{-0.34f, -0.08f}, {0.34f, -0.08f}}, 0.09f, kBrass);
  sprite.Polygon({{-0.24f, 0.02f}, {-0.16f, 0.02f}, {-0.12f, 0.26f}, {-0.18f, 0.26f}}, {255, 255, 255, 50});
  sprite.Line({{0.3f, -0.42f}, {0.3f, -0.26f}}, 0.03f, kGoldLight);
  sprite.Line({{0.22f, -0.34f}, {0.38f, -0.34f}}, 0.03f, kGoldLight);
}

void DrawLegionary(const Sprite& sprite) {
  DrawShadow(sprite);
  // A spear ahead, the head in its helmet, the shield before the body.
  sprite.Line({{-0.1f, 0.14f}, {0.46f, -0.06f}}, 0.05f, kGoldDark);
  sprite.Polygon({{0.36f, -0.1f}, {0.5f, -0.07f}, {0.4f, 0.04f}}, kSteel);
  sprite.Line({{-0.12f, 0.3f}, {-0.12f, 0.42f}}, 0.08f, kSkin);
  sprite.Line({{0.1f, 0.3f}, {0.1f, 0.42f}}, 0.08f, kSkin);
  sprite.Disc(0.02f, -0.18f, 0.15f, kSkin);
  sprite.Polygon({{-0.2f, -0.12f},
                  {-0.18f, -0.28f},
                  {-0.06f, -0.36f},
                  {0.1f, -0.36f},
                  {0.2f, -0.26f},
                  {0.22f, -0.18f},
                  {-0.06f, -0.18f},
                  {-0.1f, -0.02f}},
                 kSteel);
  sprite.Line({{-0.18f, -0.17f}, {0.22f, -0.19f}}, 0.04f, kSteelDark);
  sprite.Polygon({{-0.24f, -0.3f},
                  {-0.14f, -0.46f},
                  {0.04f, -0.49f},
                  {0.18f, -0.42f},
                  {0.12f, -0.34f},
                  {-0.06f, -0.36f},
                  {-0.16f, -0.2f}},
                 kPlume);
  sprite.Disc(0.1f, -0.12f, 0.025f, kInk);
  sprite.Polygon(
      {{-0.22f, -0.02f}, {0.26f, -0.02f}, {0.28f, 0.16f}, {0.24f, 0.34f}, {-0.2f, 0.34f}, {-0.24f, 0.16f}},
      kShield);
  sprite.Line({{-0.2f, 0.0f}, {0.24f, 0.0f}}, 0.035f, kBrass);
  sprite.Line({{-0.18f, 0.33f}, {0.22f, 0.33f}}, 0.035f, kBrass);
  sprite.Line({{0.02f, 0.02f}, {0.02f, 0.32f}}, 0.03f, kBrass);
  sprite.Disc(0.02f, 0.16f, 0.075f, kBrass);
}

void DrawGaul(const Sprite& sprite) {
  DrawShadow(sprite);
  sprite.Box(-0.2f, 0.2f, -0.02f, 0.42f, kTrousers);
  sprite.Box(0.02f, 0.2f, 0.2f, 0.42f, kTrousers);
  sprite.Polygon({{-0.2f, 0.0f}, {0.2f, 0.0f}, {0.24f, 0.24f}, {-0.24f, 0.24f}}, kTunic);
  sprite.Line({{-0.22f, 0.22f}, {0.22f, 0.22f}}, 0.06f, kBelt);
  sprite.Disc(-0.27f, 0.12f, 0.08f, kSkin);
  sprite.Disc(0.27f, 0.12f, 0.08f, kSkin);
  sprite.Disc(0.0f, -0.12f, 0.2f, kSkin);
  // The helmet with its wings.
  sprite.Polygon({{-0.2f, -0.16f}, {-0.17f, -0.3f}, {0.0f, -0.37f}, {0.17f, -0.3f}, {0.2f, -0.16f}}, kSteel);
  sprite.Line({{-0.2f, -0.17f}, {0.2f, -0.17f}}, 0.05f, kSteelDark);
  for (const float side : {-1.0f, 1.0f}) {
    sprite.Polygon({{0.14f * side, -0.22f},
                    {0.22f * side, -0.5f},
                    {0.3f * side, -0.38f},
                    {0.36f * side, -0.42f},
                    {0.32f * side, -0.24f},
                    {0.2f * side, -0.16f}},
                   kWing);
    sprite.Disc(0.08f * side, -0.1f, 0.026f, kInk);
    sprite.Polygon({{0.0f, -0.02f}, {0.16f * side, -0.04f}, {0.22f * side, 0.08f}, {0.1f * side, 0.06f}},
                   kHair);
  }
  sprite.Disc(0.0f, -0.03f, 0.065f, {236, 160, 124});
}

}  // namespace

void Asterix::Draw(DrawList& out) const {
  constexpr float kRampTime = 102.0f;  // steps
  DrawForest(out);
  for (int i = 0; i < kLanes; ++i) {
    const Lane& lane = state_.lanes[static_cast<std::size_t>(i)];
    if (lane.kind == Kind::kNothing) continue;
    const Sprite sprite(out, i + 1, lane.column, lane.heading);
    DrawDust(sprite);
    if (lane.kind == Kind::kGold) {
      DrawGold(sprite);
    } else {
      DrawLegionary(sprite);
    }
  }
  const Sprite player(out, state_.player_row, state_.player_column);
  if (terminated()) player.Disc(0.0f, 0.0f, 0.55f, kHit);
  DrawGaul(player);
  const bool ramps = ramping() && (state_.spawn_period > 1 || state_.move_period > 1);
  DrawScore(out, ramps ? "FASTER" : "", static_cast<float>(state_.ramp_timer + 1) / kRampTime);
}

}  // namespace metronome
