#include "games/minatar/minatar_picture.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

#include "metronome/core/check.h"

namespace metronome {
namespace {

constexpr Color kStrip = {14, 16, 24};
constexpr Color kStripEdge = {58, 66, 90};
constexpr Color kText = {236, 240, 248};
constexpr Color kFaintText = {138, 148, 172};
constexpr Color kAction = {150, 162, 190};
constexpr Color kStuck = {255, 196, 84};
constexpr Color kBar = {96, 176, 255};
constexpr Color kBarGround = {40, 46, 64};
constexpr int kGroundBands = 20;
constexpr int kMostTint = 126;  // alpha: pictures in text leave out what is mostly transparent
constexpr std::size_t kMostPoints = 16;

}  // namespace

Color MixColors(Color from, Color to, float share) {
  const auto mix = [share](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(static_cast<float>(a) + share * static_cast<float>(b - a) + 0.5f);
  };
  return {mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue),
          mix(from.alpha, to.alpha)};
}

Color WithAlpha(Color color, int alpha) {
  color.alpha = static_cast<std::uint8_t>(alpha);
  return color;
}

void Sprite::Box(float left, float top, float right, float bottom, Color color) const {
  Polygon({{left, top}, {right, top}, {right, bottom}, {left, bottom}}, color);
}

void Sprite::Disc(float x, float y, float radius, Color color) const { out_.Circle(At(x, y), radius, color); }

void Sprite::Polygon(std::initializer_list<DrawPoint> points, Color color) const {
  METRONOME_CHECK_LE(points.size(), kMostPoints);
  std::array<DrawPoint, kMostPoints> placed;
  std::transform(points.begin(), points.end(), placed.begin(), [this](DrawPoint p) { return At(p.x, p.y); });
  out_.Polygon(std::span(placed).first(points.size()), color);
}

void Sprite::Line(std::initializer_list<DrawPoint> points, float width, Color color) const {
  METRONOME_CHECK_LE(points.size(), kMostPoints);
  std::array<DrawPoint, kMostPoints> placed;
  std::transform(points.begin(), points.end(), placed.begin(), [this](DrawPoint p) { return At(p.x, p.y); });
  out_.Polyline(std::span(placed).first(points.size()), width, color);
}

void DrawGround(DrawList& out, Color ground, Color tint) {
  constexpr float kBand = kPictureSide / kGroundBands;
  out.Rectangle(0.0f, kStripHeight, kPictureSide, kPictureSide, ground);
  for (int band = 1; band < kGroundBands; ++band) {
    out.Rectangle(0.0f, kStripHeight + kBand * static_cast<float>(band), kPictureSide, kBand,
                  WithAlpha(tint, kMostTint * band / kGroundBands));
  }
}

void DrawStrip(DrawList& out, int score, MinatarAction executed, bool stuck, std::string_view bar_name,
               float bar) {
  out.Rectangle(0.0f, 0.0f, kPictureSide, kStripHeight, kStrip);
  out.Rectangle(0.0f, kStripHeight - 0.03f, kPictureSide, 0.03f, kStripEdge);
  std::array<char, 16> number{};
  std::snprintf(number.data(), number.size(), "%d", score);
  out.Text({0.25f, 0.27f}, 0.26f, "SCORE", kFaintText);
  out.Text({1.35f, 0.17f}, 0.46f, number.data(), kText);

  // An arrow, a shot or a dot.
  const Color color = stuck ? kStuck : kAction;
  const Sprite sign(out, -0.9f, 4.5f);
  switch (executed) {
    case MinatarAction::kNone:
      sign.Disc(0.0f, 0.0f, 0.06f, color);
      break;
    case MinatarAction::kLeft:
      sign.Polygon({{-0.2f, 0.0f}, {0.1f, -0.2f}, {0.1f, 0.2f}}, color);
      break;
    case MinatarAction::kRight:
      sign.Polygon({{0.2f, 0.0f}, {-0.1f, -0.2f}, {-0.1f, 0.2f}}, color);
      break;
    case MinatarAction::kUp:
      sign.Polygon({{0.0f, -0.2f}, {0.2f, 0.1f}, {-0.2f, 0.1f}}, color);
      break;
    case MinatarAction::kDown:
      sign.Polygon({{0.0f, 0.2f}, {0.2f, -0.1f}, {-0.2f, -0.1f}}, color);
      break;
    case MinatarAction::kFire:
      sign.Disc(0.0f, 0.0f, 0.17f, color);
      sign.Disc(0.0f, 0.0f, 0.08f, kStrip);
      break;
  }
  if (stuck) out.Text({5.35f, 0.27f}, 0.26f, "STICKY", kStuck);

  if (bar_name.empty()) return;
  constexpr float kLeft = 7.9f;
  constexpr float kLength = 1.85f;
  const float width = 0.2f * static_cast<float>(bar_name.size());
  out.Text({kLeft - 0.15f - width, 0.27f}, 0.26f, bar_name, kFaintText);
  out.Rectangle(kLeft, 0.3f, kLength, 0.2f, kBarGround);
  out.Rectangle(kLeft, 0.3f, kLength * std::clamp(bar, 0.0f, 1.0f), 0.2f, kBar);
}

}  // namespace metronome
