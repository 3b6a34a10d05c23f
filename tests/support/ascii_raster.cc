#include "support/ascii_raster.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>

namespace metronome {
namespace {

constexpr std::string_view kSymbols = " .=|-#oO@+*%:X&$~^!<>/ABCDEFGHIJKLMN";

struct Point {
  double x;
  double y;
};

/// Squared distance from `p` to the segment from a to b.
double SquaredDistance(Point p, Point a, Point b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double length = dx * dx + dy * dy;
  const double along = length > 0.0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length : 0.0;
  const double t = std::clamp(along, 0.0, 1.0);
  const double x = p.x - (a.x + t * dx);
  const double y = p.y - (a.y + t * dy);
  return x * x + y * y;
}

Point Convert(const DrawPoint& point) { return {static_cast<double>(point.x), static_cast<double>(point.y)}; }

/// Whether the polygon covers `p`, by the even-odd rule.
bool Inside(std::span<const DrawPoint> corners, Point p) {
  bool inside = false;
  for (std::size_t i = 0, j = corners.size() - 1; i < corners.size(); j = i++) {
    const Point a = Convert(corners[i]);
    const Point b = Convert(corners[j]);
    if ((a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside;
}

bool OnPolyline(std::span<const DrawPoint> points, double reach, Point p) {
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    if (SquaredDistance(p, Convert(points[i]), Convert(points[i + 1])) <= reach * reach) return true;
  }
  return false;
}

}  // namespace

AsciiRaster::AsciiRaster(double width, double height, int columns)
    : width_(width),
      height_(height),
      columns_(columns),
      rows_(std::max(1, static_cast<int>(std::lround(columns * height / width / 2.0)))) {}

std::vector<std::string> AsciiRaster::Paint(const DrawList& list) {
  const double character_width = width_ / columns_;
  const double character_height = height_ / rows_;
  std::vector<std::string> lines(static_cast<std::size_t>(rows_),
                                 std::string(static_cast<std::size_t>(columns_), ' '));
  for (const DrawCommand& command : list.commands()) {
    if (command.color.alpha < 128) continue;
    const char symbol = SymbolOf(command.color);
    const std::span<const DrawPoint> points = list.points(command);
    if (command.kind == DrawKind::kText) {
      const Point start = Convert(points[0]);
      const int row =
          static_cast<int>(std::floor((start.y + static_cast<double>(command.size) / 2) / character_height));
      int column = static_cast<int>(std::floor(start.x / character_width));
      for (const char character : list.text(command)) {
        if (row >= 0 && row < rows_ && column >= 0 && column < columns_) {
          lines[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = character;
        }
        ++column;
      }
      continue;
    }
    for (int row = 0; row < rows_; ++row) {
      for (int column = 0; column < columns_; ++column) {
        const Point middle = {(column + 0.5) * character_width, (row + 0.5) * character_height};
        bool covered = false;
        if (command.kind == DrawKind::kPolygon) {
          covered = Inside(points, middle);
        } else if (command.kind == DrawKind::kPolyline) {
          covered = OnPolyline(points, std::max(static_cast<double>(command.size) / 2, character_width / 2),
                               middle);
        } else {
          const Point center = Convert(points[0]);
          const bool holds_center = std::abs(center.x - middle.x) <= character_width / 2 &&
                                    std::abs(center.y - middle.y) <= character_height / 2;
          const auto radius = static_cast<double>(command.size);
          covered = holds_center || SquaredDistance(middle, center, center) <= radius * radius;
        }
        if (covered) lines[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = symbol;
      }
    }
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

std::vector<std::string> AsciiRaster::Legend() const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < colors_.size(); ++i) {
    char line[40];
    std::snprintf(line, sizeof line, "'%c' is %02x%02x%02x", kSymbols[std::min(i, kSymbols.size() - 1)],
                  static_cast<unsigned>(colors_[i].red), static_cast<unsigned>(colors_[i].green),
                  static_cast<unsigned>(colors_[i].blue));
    lines.emplace_back(line);
  }
  return lines;
}

char AsciiRaster::SymbolOf(const Color& color) {
  const auto known = std::find(colors_.begin(), colors_.end(), color);
  const auto index = static_cast<std::size_t>(known - colors_.begin());
  if (known == colors_.end()) colors_.push_back(color);
  return kSymbols[std::min(index, kSymbols.size() - 1)];
}

}  // namespace metronome
