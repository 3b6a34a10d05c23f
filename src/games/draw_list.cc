#include "metronome/games/draw_list.h"

#include <array>

#include "metronome/core/check.h"

namespace metronome {

void DrawList::Clear() {
  commands_.clear();
  points_.clear();
  characters_.clear();
}

void DrawList::Rectangle(float left, float top, float width, float height, Color color) {
  const float right = left + width;
  const float bottom = top + height;
  const std::array<DrawPoint, 4> corners = {{{left, top}, {right, top}, {right, bottom}, {left, bottom}}};
  Append(DrawKind::kPolygon, corners, 0.0f, color);
}

void DrawList::Polygon(std::span<const DrawPoint> points, Color color) {
  METRONOME_CHECK_GE(points.size(), 3u);
  Append(DrawKind::kPolygon, points, 0.0f, color);
}

void DrawList::Polyline(std::span<const DrawPoint> points, float width, Color color) {
  METRONOME_CHECK_GE(points.size(), 2u);
  Append(DrawKind::kPolyline, points, width, color);
}

void DrawList::Circle(DrawPoint center, float radius, Color color) {
  Append(DrawKind::kCircle, {&center, 1}, radius, color);
}

void DrawList::Text(DrawPoint position, float height, std::string_view text, Color color) {
  DrawCommand& command = Append(DrawKind::kText, {&position, 1}, height, color);
  command.first_character = static_cast<std::int32_t>(characters_.size());
  command.num_characters = static_cast<std::int32_t>(text.size());
  characters_.append(text);
}

std::span<const DrawPoint> DrawList::points(const DrawCommand& command) const {
  return std::span(points_).subspan(static_cast<std::size_t>(command.first_point),
                                    static_cast<std::size_t>(command.num_points));
}

std::string_view DrawList::text(const DrawCommand& command) const {
  return std::string_view(characters_)
      .substr(static_cast<std::size_t>(command.first_character),
              static_cast<std::size_t>(command.num_characters));
}

DrawCommand& DrawList::Append(DrawKind kind, std::span<const DrawPoint> points, float size, Color color) {
  DrawCommand& command = commands_.emplace_back();
  command.kind = kind;
  command.color = color;
  command.first_point = static_cast<std::int32_t>(points_.size());
  command.num_points = static_cast<std::int32_t>(points.size());
  command.size = size;
  points_.insert(points_.end(), points.begin(), points.end());
  return command;
}

}  // namespace metronome
