#ifndef METRONOME_GAMES_DRAW_LIST_H_
#define METRONOME_GAMES_DRAW_LIST_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metronome {

/// 8 bits a channel; alpha 255 is opaque.
struct Color {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  std::uint8_t alpha = 255;
  friend bool operator==(const Color&, const Color&) = default;
};

/// A point of a picture, in cells: x to the right, y down, origin top left.
struct DrawPoint {
  float x = 0.0f;
  float y = 0.0f;
};

enum class DrawKind { kPolygon, kPolyline, kCircle, kText };

/// One shape. Its points are points().subspan(first_point, num_points) of the list.
struct DrawCommand {
  DrawKind kind = DrawKind::kPolygon;
  Color color;
  std::int32_t first_point = 0;
  std::int32_t num_points = 0;
  float size = 0.0f;  ///< Radius of a circle, width of a polyline, height of a line of text; cells.
  std::int32_t first_character = 0;  ///< Text only.
  std::int32_t num_characters = 0;
};

/// The shapes of one picture, painted in order, the last on top. A game appends to it; the viewer, the
/// recorder and the tests read it. Clear() keeps the memory, so a list used again allocates nothing.
class DrawList {
 public:
  void Clear();

  void Rectangle(float left, float top, float width, float height, Color color);
  /// A filled simple polygon, convex or not, of at least 3 points.
  void Polygon(std::span<const DrawPoint> points, Color color);
  /// Joined segments with round corners.
  void Polyline(std::span<const DrawPoint> points, float width, Color color);
  void Circle(DrawPoint center, float radius, Color color);
  /// One line of text, its top left corner at `position`.
  void Text(DrawPoint position, float height, std::string_view text, Color color);

  std::span<const DrawCommand> commands() const { return commands_; }
  std::span<const DrawPoint> points(const DrawCommand& command) const;
  std::string_view text(const DrawCommand& command) const;

 private:
  DrawCommand& Append(DrawKind kind, std::span<const DrawPoint> points, float size, Color color);

  std::vector<DrawCommand> commands_;
  std::vector<DrawPoint> points_;
  std::string characters_;
};

}  // namespace metronome

#endif  // METRONOME_GAMES_DRAW_LIST_H_
