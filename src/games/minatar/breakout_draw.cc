// The picture of Breakout.

#include <array>

#include "games/minatar/breakout.h"
#include "games/minatar/minatar_picture.h"

namespace metronome {
namespace {

constexpr Color kNight = {20, 22, 40};
constexpr Color kDusk = {74, 44, 96};
constexpr Color kDot = {255, 255, 255, 16};
constexpr Color kPit = {255, 60, 60, 26};
constexpr std::array<Color, 3> kBricks = {{{232, 84, 96}, {245, 166, 66}, {64, 190, 150}}};  // by row
constexpr Color kLight = {255, 255, 255, 90};
constexpr Color kShade = {0, 0, 0, 70};
constexpr Color kGap = {255, 255, 255, 12};
constexpr Color kBall = {255, 246, 220};
constexpr Color kBallLight = {255, 255, 255};
constexpr Color kGlow = {255, 220, 140, 40};
constexpr Color kTail = {255, 220, 140, 255};
constexpr Color kPaddle = {88, 166, 255};
constexpr Color kPaddleLight = {196, 226, 255};
constexpr Color kPaddleEnd = {40, 96, 190};
constexpr Color kLost = {255, 70, 70, 110};

constexpr int kFirstBrickRow = 1;
constexpr int kTailParts = 6;

void DrawBrick(DrawList& out, int row, int column) {
  const Sprite brick(out, row, column);
  const Color color = kBricks[static_cast<std::size_t>(row - kFirstBrickRow) % kBricks.size()];
  brick.Box(-0.47f, -0.42f, 0.47f, 0.42f, color);
  brick.Box(-0.47f, -0.42f, 0.47f, -0.32f, kLight);
  brick.Box(-0.47f, 0.28f, 0.47f, 0.42f, kShade);
  brick.Polygon({{-0.3f, -0.32f}, {-0.12f, -0.32f}, {-0.26f, 0.28f}, {-0.44f, 0.28f}}, WithAlpha(kLight, 40));
}

}  // namespace

void Breakout::Draw(DrawList& out) const {
  constexpr int kPaddleRow = CellSet::kSide - 1;
  DrawGround(out, kNight, kDusk);
  for (int row = 0; row < CellSet::kSide; ++row) {
    for (int column = 0; column < CellSet::kSide; ++column) Sprite(out, row, column).Disc(0, 0, 0.03f, kDot);
  }
  out.Rectangle(0.0f, kStripHeight + kPaddleRow, kPictureSide, 1.0f, kPit);
  for (int row = kFirstBrickRow; row <= 3; ++row) {
    for (int column = 0; column < CellSet::kSide; ++column) {
      if (state_.bricks.Has(row, column)) {
        DrawBrick(out, row, column);
      } else {
        Sprite(out, row, column).Box(-0.47f, -0.42f, 0.47f, 0.42f, kGap);
      }
    }
  }

  const Sprite paddle(out, kPaddleRow, state_.paddle_column);
  paddle.Line({{-0.33f, 0.05f}, {0.33f, 0.05f}}, 0.34f, kPaddleEnd);
  paddle.Line({{-0.24f, 0.05f}, {0.24f, 0.05f}}, 0.34f, kPaddle);
  paddle.Line({{-0.26f, -0.04f}, {0.26f, -0.04f}}, 0.07f, kPaddleLight);

  const auto between = [](int from, int to, float share) {
    return static_cast<float>(from) + share * static_cast<float>(to - from);
  };
  for (int i = 0; i < kTailParts; ++i) {
    const float share = static_cast<float>(i) / kTailParts;
    const Sprite tail(out, between(state_.trail_row, state_.ball_row, share),
                      between(state_.trail_column, state_.ball_column, share));
    tail.Disc(0, 0, 0.1f + 0.14f * share, WithAlpha(kTail, 20 + static_cast<int>(70 * share)));
  }
  const Sprite ball(out, state_.ball_row, state_.ball_column);
  if (terminated()) ball.Disc(0, 0, 0.5f, kLost);
  ball.Disc(0, 0, 0.46f, kGlow);
  ball.Disc(0, 0, 0.36f, kGlow);
  ball.Disc(0, 0, 0.27f, kBall);
  ball.Disc(-0.08f, -0.09f, 0.09f, kBallLight);
  DrawScore(out, "WALL", static_cast<float>(state_.bricks.size()) / 30.0f);
}

}  // namespace metronome
