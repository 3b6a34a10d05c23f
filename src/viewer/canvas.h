#ifndef METRONOME_VIEWER_CANVAS_H_
#define METRONOME_VIEWER_CANVAS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "metronome/games/draw_list.h"

namespace metronome {

/// A rectangle of whole pixels.
struct PixelArea {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
  int right() const { return left + width; }
  int bottom() const { return top + height; }
  friend bool operator==(const PixelArea&, const PixelArea&) = default;
};

/// A picture in memory, and antialiased shapes on it: each pixel gets the exact share of it that a shape
/// covers. The same on every machine and screen, since no graphics driver has a hand in it.
///
/// Coordinates are in pixels, origin top left, y down. Painting allocates only while shapes or the picture
/// grow. Not thread-safe.
class Canvas {
 public:
  Canvas() = default;
  Canvas(int width, int height) { Resize(width, height); }

  /// Contents are lost.  REQUIRES: width, height >= 0.
  void Resize(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }
  /// Row-major, 0xAARRGGBB, always opaque.
  std::span<const std::uint32_t> pixels() const { return pixels_; }
  Color At(int x, int y) const;
  void Set(int x, int y, Color color);  ///< The alpha is not used.

  /// Nothing is painted outside `area` (nor outside the picture) until the next call.
  void SetClip(PixelArea area);
  void ClearClip() { SetClip({0, 0, width_, height_}); }

  /// Every pixel within the clip.
  void Clear(Color color);

  void FillRectangle(float left, float top, float width, float height, Color color);
  void FillPolygon(std::span<const DrawPoint> points, Color color);
  void FillCircle(DrawPoint center, float radius, Color color);
  void FillRoundedRectangle(float left, float top, float width, float height, float radius, Color color);
  /// Joined segments with round corners and ends; closed where the last point is the first. Lines thinner
  /// than a pixel are painted as wide as one, and fainter.
  void StrokePolyline(std::span<const DrawPoint> points, float width, Color color);
  /// One line of text, its top left corner at `position`. `weight` is the strokes' width, 1 is regular.
  void Text(DrawPoint position, float height, std::string_view text, Color color, float weight = 1.0f);

  /// Copies the part of `source` that begins at (source_x, source_y) over `area`, within the clip.
  /// REQUIRES (checked): that part lies in `source`.
  void Copy(const Canvas& source, int source_x, int source_y, PixelArea area);

 private:
  static constexpr int kBlock = 32;  // pixels of a row that share a mark in touched_

  void AddPolygon(std::span<const DrawPoint> points);
  void AddCircle(DrawPoint center, float radius);
  void AddPolyline(std::span<const DrawPoint> points, float width);
  void AddEdge(DrawPoint from, DrawPoint to);
  void AddEdgeInside(DrawPoint from, DrawPoint to);
  void FillPath(Color color);
  void BlendSpan(int y, int from, int to, float coverage, Color color);

  int width_ = 0;
  int height_ = 0;
  PixelArea clip_;
  std::vector<std::uint32_t> pixels_;

  // The path in hand: for each pixel, by how much the covered share changes there going right along the row.
  std::vector<float> changes_;         // (height, width + 2)
  std::vector<std::uint8_t> touched_;  // (height, blocks): whether any of a block's changes was written
  int blocks_ = 0;                     // of a row
  int first_row_ = 0;                  // rows that were touched
  int end_row_ = 0;

  std::vector<DrawPoint> circle_;
  std::vector<DrawPoint> stroke_;      // points without repetitions
  std::vector<DrawPoint> glyph_;       // one pen stroke
  std::vector<DrawPoint> directions_;  // of each segment of a polyline
};

}  // namespace metronome

#endif  // METRONOME_VIEWER_CANVAS_H_
