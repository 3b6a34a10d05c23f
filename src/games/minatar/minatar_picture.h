#ifndef METRONOME_GAMES_MINATAR_MINATAR_PICTURE_H_
#define METRONOME_GAMES_MINATAR_MINATAR_PICTURE_H_

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "games/minatar/cell_set.h"
#include "games/minatar/minatar_game.h"
#include "metronome/games/draw_list.h"

namespace metronome {

// What the pictures of the five games share: a strip with the score above a board of 10 x 10 cells.

inline constexpr float kPictureSide = CellSet::kSide;
inline constexpr float kStripHeight = 0.8f;
inline constexpr float kPictureHeight = kPictureSide + kStripHeight;

/// `share` 0 gives `from`, 1 gives `to`.
Color MixColors(Color from, Color to, float share);
Color WithAlpha(Color color, int alpha);

/// Shapes about the middle of a cell, in cells: x ahead in the direction that a thing faces, y down. The
/// whole cell is -0.5 .. 0.5.
class Sprite {
 public:
  /// Of the board. `facing` is 1 to the right, -1 to the left.
  Sprite(DrawList& out, float row, float column, int facing = 1)
      : out_(out), x_(column + 0.5f), y_(row + 0.5f + kStripHeight), facing_(static_cast<float>(facing)) {}
  Sprite(DrawList& out, int row, int column, int facing = 1)
      : Sprite(out, static_cast<float>(row), static_cast<float>(column), facing) {}

  void Box(float left, float top, float right, float bottom, Color color) const;
  void Disc(float x, float y, float radius, Color color) const;
  /// At most 16 points each.
  void Polygon(std::initializer_list<DrawPoint> points, Color color) const;
  void Line(std::initializer_list<DrawPoint> points, float width, Color color) const;

 private:
  DrawPoint At(float x, float y) const { return {x_ + facing_ * x, y_ + y}; }

  DrawList& out_;
  float x_;
  float y_;
  float facing_;
};

/// The board's ground, in one colour at the top and tinted more and more with another to the bottom.
void DrawGround(DrawList& out, Color ground, Color tint);

/// The strip: the score, the action that was executed, lit where it is not the one asked for, and a bar that
/// is full at 1 with its name; none where the name is empty.
void DrawStrip(DrawList& out, int score, MinatarAction executed, bool stuck, std::string_view bar_name,
               float bar);

}  // namespace metronome

#endif  // METRONOME_GAMES_MINATAR_MINATAR_PICTURE_H_
