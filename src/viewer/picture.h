#ifndef METRONOME_VIEWER_PICTURE_H_
#define METRONOME_VIEWER_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "metronome/games/draw_list.h"
#include "viewer/canvas.h"

namespace metronome {

/// From cells to pixels.
struct Placement {
  float scale = 1.0f;  ///< Pixels a cell.
  float left = 0.0f;   ///< Pixel of the cells' origin.
  float top = 0.0f;
  DrawPoint Apply(DrawPoint point) const { return {left + point.x * scale, top + point.y * scale}; }
};

/// Paints commands [first, end) of `list`.
void PaintCommands(const DrawList& list, std::size_t first, std::size_t end, const Placement& placement,
                   Canvas& canvas);

/// How many commands at the beginning of both lists are equal in everything.
std::size_t CommonBeginning(const DrawList& left, const DrawList& right);

/// A picture between two others, for decisions that last several ticks. `share` 0 gives `before`, 1 `after`.
/// The beginning that both have in common stays. Of the rest, commands are matched from the last backwards
/// as long as their kinds and numbers of points agree; the points of a pair go straight from one place to the
/// other, unless that is further than `longest_way` cells: such a shape jumps at the end. What has no partner
/// shows as it was, until the end.
void InBetween(const DrawList& before, const DrawList& after, float share, float longest_way, DrawList& out);

/// Paints a game's picture again and again. The beginning of the list that has not changed since the last
/// time (a track, a board) is kept as pixels, so that it isn't painted again.
class PicturePainter {
 public:
  /// Shows the part of the picture that begins at pixel (left, top) of the whole picture at `scale`, in
  /// `area` of the canvas.  `width`, `height`: of the whole picture, in cells.
  void Paint(const DrawList& list, double width, double height, float scale, int left, int top,
             PixelArea area, Canvas& canvas);

  /// Commands that were painted by the last Paint(), for tests.
  std::size_t painted() const { return painted_; }

 private:
  // Larger pictures, 128 MiB of pixels and changes, are painted anew each time.
  static constexpr std::int64_t kMostKeptPixels = std::int64_t{16} << 20;

  Canvas kept_;
  float kept_scale_ = 0.0f;
  std::size_t kept_commands_ = 0;
  DrawList last_;
  std::size_t painted_ = 0;
};

}  // namespace metronome

#endif  // METRONOME_VIEWER_PICTURE_H_
