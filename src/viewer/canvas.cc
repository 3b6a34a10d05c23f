#include "viewer/canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "metronome/core/check.h"
#include "viewer/font.h"

namespace metronome {
namespace {

constexpr float kLeastCoverage = 1.0f / 512.0f;
// A bend by less is painted as one mitre, by more with a round corner; the cosine of 20 degrees.
constexpr float kSmoothCosine = 0.94f;
constexpr float kStrokeUnits = 2.3f;       // width of a glyph's strokes, in the font's units
constexpr float kLeastStroke = 1.0f;       // pixels
constexpr float kLeastCapRadius = 0.7f;    // thinner lines have square ends
constexpr float kCircleTolerance = 0.08f;  // pixels between a circle and the polygon in its place

std::uint32_t Pack(Color color) {
  return 0xff000000u | (static_cast<std::uint32_t>(color.red) << 16) |
         (static_cast<std::uint32_t>(color.green) << 8) | static_cast<std::uint32_t>(color.blue);
}

/// `alpha` in 0 .. 256.
std::uint32_t Blend(std::uint32_t below, std::uint32_t above, std::uint32_t alpha) {
  const std::uint32_t rest = 256 - alpha;
  const std::uint32_t red_blue =
      (((below & 0x00ff00ffu) * rest + (above & 0x00ff00ffu) * alpha + 0x00800080u) >> 8) & 0x00ff00ffu;
  const std::uint32_t green =
      (((below & 0x0000ff00u) * rest + (above & 0x0000ff00u) * alpha + 0x00008000u) >> 8) & 0x0000ff00u;
  return 0xff000000u | red_blue | green;
}

DrawPoint Minus(DrawPoint a, DrawPoint b) { return {a.x - b.x, a.y - b.y}; }
float Dot(DrawPoint a, DrawPoint b) { return a.x * b.x + a.y * b.y; }
float Length(DrawPoint a) { return std::sqrt(Dot(a, a)); }

}  // namespace

void Canvas::Resize(int width, int height) {
  METRONOME_CHECK_GE(width, 0);
  METRONOME_CHECK_GE(height, 0);
  width_ = width;
  height_ = height;
  blocks_ = (width + 2 + kBlock - 1) / kBlock;
  pixels_.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 0xff000000u);
  changes_.assign(static_cast<std::size_t>(width + 2) * static_cast<std::size_t>(height), 0.0f);
  touched_.assign(static_cast<std::size_t>(blocks_) * static_cast<std::size_t>(height), 0);
  first_row_ = height;
  end_row_ = 0;
  ClearClip();
}

Color Canvas::At(int x, int y) const {
  METRONOME_CHECK(x >= 0 && x < width_ && y >= 0 && y < height_);
  const std::uint32_t pixel =
      pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)];
  return {static_cast<std::uint8_t>(pixel >> 16), static_cast<std::uint8_t>(pixel >> 8),
          static_cast<std::uint8_t>(pixel)};
}

void Canvas::Set(int x, int y, Color color) {
  METRONOME_CHECK(x >= 0 && x < width_ && y >= 0 && y < height_);
  pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)] =
      Pack(color);
}

void Canvas::SetClip(PixelArea area) {
  const int left = std::clamp(area.left, 0, width_);
  const int top = std::clamp(area.top, 0, height_);
  clip_ = {left, top, std::clamp(area.right(), left, width_) - left,
           std::clamp(area.bottom(), top, height_) - top};
}

void Canvas::Clear(Color color) {
  for (int y = clip_.top; y < clip_.bottom(); ++y) BlendSpan(y, clip_.left, clip_.right(), 1.0f, color);
}

void Canvas::FillRectangle(float left, float top, float width, float height, Color color) {
  const std::array<DrawPoint, 4> corners = {
      {{left, top}, {left + width, top}, {left + width, top + height}, {left, top + height}}};
  FillPolygon(corners, color);
}

void Canvas::FillPolygon(std::span<const DrawPoint> points, Color color) {
  AddPolygon(points);
  FillPath(color);
}

void Canvas::FillCircle(DrawPoint center, float radius, Color color) {
  AddCircle(center, radius);
  FillPath(color);
}

void Canvas::FillRoundedRectangle(float left, float top, float width, float height, float radius,
                                  Color color) {
  const float r = std::min({radius, width / 2, height / 2});
  constexpr int kPartsOfCorner = 8;
  std::array<DrawPoint, 4 * (kPartsOfCorner + 1)> points;
  std::size_t count = 0;
  for (int corner = 0; corner < 4; ++corner) {
    const float x = corner == 0 || corner == 3 ? left + width - r : left + r;
    const float y = corner < 2 ? top + height - r : top + r;
    for (int part = 0; part <= kPartsOfCorner; ++part) {
      const float angle = (static_cast<float>(corner) + static_cast<float>(part) / kPartsOfCorner) *
                          (std::numbers::pi_v<float> / 2);
      points[count++] = {x + r * std::cos(angle), y + r * std::sin(angle)};
    }
  }
  FillPolygon(points, color);
}

void Canvas::StrokePolyline(std::span<const DrawPoint> points, float width, Color color) {
  if (width < 1.0f) {
    color.alpha = static_cast<std::uint8_t>(static_cast<float>(color.alpha) * std::max(width, 0.0f) + 0.5f);
    width = 1.0f;
  }
  AddPolyline(points, width);
  FillPath(color);
}

void Canvas::Text(DrawPoint position, float height, std::string_view text, Color color, float weight) {
  const float scale = height / kLineUnits;
  const float width = std::max(kLeastStroke, kStrokeUnits * scale) * weight;
  float x = position.x;
  const float y = position.y - kLineTop * scale;
  for (const char character : text) {
    const std::string_view glyph = GlyphOf(character);
    const float left = x - static_cast<float>(glyph[0] - 'R') * scale;
    glyph_.clear();
    for (std::size_t i = 2; i + 1 < glyph.size(); i += 2) {
      if (glyph[i] == ' ') {
        if (!glyph_.empty()) AddPolyline(glyph_, width);
        glyph_.clear();
        continue;
      }
      glyph_.push_back({left + static_cast<float>(glyph[i] - 'R') * scale,
                        y + static_cast<float>(glyph[i + 1] - 'R') * scale});
    }
    if (!glyph_.empty()) AddPolyline(glyph_, width);
    x += static_cast<float>(glyph[1] - glyph[0]) * scale;
  }
  FillPath(color);
}

void Canvas::Copy(const Canvas& source, int source_x, int source_y, PixelArea area) {
  METRONOME_CHECK(source_x >= 0 && source_y >= 0 && source_x + area.width <= source.width_ &&
                  source_y + area.height <= source.height_);
  const int left = std::max(area.left, clip_.left);
  const int right = std::min(area.right(), clip_.right());
  const int top = std::max(area.top, clip_.top);
  const int bottom = std::min(area.bottom(), clip_.bottom());
  if (left >= right) return;
  for (int y = top; y < bottom; ++y) {
    const auto from =
        static_cast<std::size_t>(source_y + y - area.top) * static_cast<std::size_t>(source.width_) +
        static_cast<std::size_t>(source_x + left - area.left);
    const auto to =
        static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(left);
    std::memcpy(pixels_.data() + to, source.pixels_.data() + from,
                static_cast<std::size_t>(right - left) * sizeof(std::uint32_t));
  }
}

// All parts of a path go around in the same direction, so that where they overlap their shares add up and are
// cut at one, and none takes away from another.
void Canvas::AddPolygon(std::span<const DrawPoint> points) {
  if (points.size() < 3) return;
  float area = 0.0f;
  const DrawPoint origin = points[0];
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const DrawPoint a = Minus(points[i], origin);
    const DrawPoint b = Minus(points[i + 1], origin);
    area += a.x * b.y - a.y * b.x;
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const DrawPoint a = points[i];
    const DrawPoint b = points[i + 1 == points.size() ? 0 : i + 1];
    if (area >= 0.0f) {
      AddEdge(a, b);
    } else {
      AddEdge(b, a);
    }
  }
}

void Canvas::AddCircle(DrawPoint center, float radius) {
  if (!(radius > 0.0f)) return;
  const float cosine = std::max(-0.9f, 1.0f - kCircleTolerance / radius);
  const int corners =
      std::clamp(static_cast<int>(std::ceil(std::numbers::pi_v<float> / std::acos(cosine))), 8, 512);
  // The polygon has the circle's area.
  const float part = 2 * std::numbers::pi_v<float> / static_cast<float>(corners);
  radius *= std::sqrt(part / std::sin(part));
  circle_.clear();
  for (int i = 0; i < corners; ++i) {
    const float angle = part * static_cast<float>(i);
    circle_.push_back({center.x + radius * std::cos(angle), center.y + radius * std::sin(angle)});
  }
  AddPolygon(circle_);
}

void Canvas::AddPolyline(std::span<const DrawPoint> points, float width) {
  const float half = width / 2;
  stroke_.clear();
  for (const DrawPoint& point : points) {
    if (stroke_.empty() || Length(Minus(point, stroke_.back())) > 1e-4f) stroke_.push_back(point);
  }
  if (stroke_.size() < 2) {
    if (!stroke_.empty()) AddCircle(stroke_[0], half);
    return;
  }
  const std::size_t segments = stroke_.size() - 1;
  const bool closed = segments >= 3 && Length(Minus(stroke_.front(), stroke_.back())) <= 1e-4f;
  directions_.clear();
  for (std::size_t i = 0; i < segments; ++i) {
    const DrawPoint way = Minus(stroke_[i + 1], stroke_[i]);
    const float length = Length(way);
    directions_.push_back({way.x / length, way.y / length});
  }
  // Half the line's width to the left of its course, at the end of one segment where the next begins; false
  // where the bend wants a round corner.
  const auto mitre = [&](std::size_t before, std::size_t after, DrawPoint& offset) {
    const DrawPoint a = directions_[before];
    const DrawPoint b = directions_[after];
    const float cosine = Dot(a, b);
    if (cosine < kSmoothCosine) return false;
    const float reach = half * std::sqrt((1.0f - std::min(cosine, 1.0f)) / (1.0f + cosine));
    const float room = std::min(Length(Minus(stroke_[before + 1], stroke_[before])),
                                Length(Minus(stroke_[after + 1], stroke_[after])));
    if (reach > 0.5f * room) return false;
    const float factor = half / (1.0f + cosine);
    offset = {-(a.y + b.y) * factor, (a.x + b.x) * factor};
    return true;
  };
  for (std::size_t i = 0; i < segments; ++i) {
    const DrawPoint square = {-directions_[i].y * half, directions_[i].x * half};
    DrawPoint at_start = square;
    DrawPoint at_end = square;
    const bool has_before = i > 0 || closed;
    const bool has_after = i + 1 < segments || closed;
    if (has_before) mitre(i > 0 ? i - 1 : segments - 1, i, at_start);
    if (has_after) {
      // The corner is painted once, by the segment before it.
      if (!mitre(i, i + 1 < segments ? i + 1 : 0, at_end)) AddCircle(stroke_[i + 1], half);
    }
    if (half >= kLeastCapRadius) {
      if (!has_before) AddCircle(stroke_[i], half);
      if (!has_after) AddCircle(stroke_[i + 1], half);
    }
    const DrawPoint a = stroke_[i];
    const DrawPoint b = stroke_[i + 1];
    const std::array<DrawPoint, 4> quad = {{{a.x + at_start.x, a.y + at_start.y},
                                            {b.x + at_end.x, b.y + at_end.y},
                                            {b.x - at_end.x, b.y - at_end.y},
                                            {a.x - at_start.x, a.y - at_start.y}}};
    AddPolygon(quad);
  }
}

// Cuts an edge where it leaves the clip. What lies to the left counts as if it ran down the clip's left side,
// what lies to the right has no effect.
void Canvas::AddEdge(DrawPoint from, DrawPoint to) {
  const auto top = static_cast<float>(clip_.top);
  const auto bottom = static_cast<float>(clip_.bottom());
  const auto left = static_cast<float>(clip_.left);
  const auto right = static_cast<float>(clip_.right());
  if (!(std::isfinite(from.x) && std::isfinite(from.y) && std::isfinite(to.x) && std::isfinite(to.y))) return;
  if (from.y == to.y || std::max(from.y, to.y) <= top || std::min(from.y, to.y) >= bottom) return;
  const auto at_height = [&](float y) {
    return DrawPoint{from.x + (to.x - from.x) * ((y - from.y) / (to.y - from.y)), y};
  };
  const DrawPoint original_from = from;
  const DrawPoint original_to = to;
  const auto clamp_height = [&](DrawPoint point) {
    if (point.y < top) return at_height(top);
    if (point.y > bottom) return at_height(bottom);
    return point;
  };
  const DrawPoint clipped_from = clamp_height(original_from);
  const DrawPoint clipped_to = clamp_height(original_to);
  from = clipped_from;
  to = clipped_to;
  // Three parts at most: beyond one side, inside, beyond the other.
  const auto split = [&](float x, DrawPoint a, DrawPoint b) {
    return DrawPoint{x, a.y + (b.y - a.y) * ((x - a.x) / (b.x - a.x))};
  };
  std::array<DrawPoint, 4> parts = {from};
  std::size_t count = 1;
  for (const float x : from.x < to.x ? std::array{left, right} : std::array{right, left}) {
    if ((from.x < x && to.x > x) || (from.x > x && to.x < x)) parts[count++] = split(x, from, to);
  }
  parts[count++] = to;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    DrawPoint a = parts[i];
    DrawPoint b = parts[i + 1];
    if (std::min(a.x, b.x) >= right) continue;
    a.x = std::clamp(a.x, left, right);
    b.x = std::clamp(b.x, left, right);
    AddEdgeInside(a, b);
  }
}

// The area to the right of an edge, spread over the pixels that it crosses (as in Raph Levien's font-rs).
void Canvas::AddEdgeInside(DrawPoint from, DrawPoint to) {
  if (from.y == to.y) return;
  float sign = 1.0f;
  if (from.y > to.y) {
    std::swap(from, to);
    sign = -1.0f;
  }
  const float slope = (to.x - from.x) / (to.y - from.y);
  float x = from.x;
  const int first = static_cast<int>(from.y);
  const int end = std::min(clip_.bottom(), static_cast<int>(std::ceil(to.y)));
  first_row_ = std::min(first_row_, first);
  end_row_ = std::max(end_row_, end);
  const float least = std::min(from.x, to.x);
  const float most = std::max(from.x, to.x);
  for (int y = first; y < end; ++y) {
    float* const row = changes_.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width_ + 2);
    std::uint8_t* const marks =
        touched_.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(blocks_);
    const float height = std::min(static_cast<float>(y + 1), to.y) - std::max(static_cast<float>(y), from.y);
    const float next = std::clamp(x + slope * height, least, most);
    const float d = height * sign;
    const float x0 = std::min(x, next);
    const float x1 = std::max(x, next);
    x = next;
    const float x0_floor = std::floor(x0);
    const int x0_pixel = static_cast<int>(x0_floor);
    const float x1_ceil = std::ceil(x1);
    const int x1_pixel = static_cast<int>(x1_ceil);
    if (x1_pixel <= x0_pixel + 1) {
      const float middle = 0.5f * (x0 + x1) - x0_floor;
      row[x0_pixel] += d - d * middle;
      row[x0_pixel + 1] += d * middle;
    } else {
      const float s = 1.0f / (x1 - x0);
      const float x0_part = x0 - x0_floor;
      const float a0 = 0.5f * s * (1.0f - x0_part) * (1.0f - x0_part);
      const float x1_part = x1 - x1_ceil + 1.0f;
      const float am = 0.5f * s * x1_part * x1_part;
      row[x0_pixel] += d * a0;
      if (x1_pixel == x0_pixel + 2) {
        row[x0_pixel + 1] += d * (1.0f - a0 - am);
      } else {
        const float a1 = s * (1.5f - x0_part);
        row[x0_pixel + 1] += d * (a1 - a0);
        for (int pixel = x0_pixel + 2; pixel < x1_pixel - 1; ++pixel) row[pixel] += d * s;
        const float a2 = a1 + static_cast<float>(x1_pixel - x0_pixel - 3) * s;
        row[x1_pixel - 1] += d * (1.0f - a2 - am);
      }
      row[x1_pixel] += d * am;
    }
    const int last = std::max(x0_pixel + 1, x1_pixel) / kBlock;
    for (int block = x0_pixel / kBlock; block <= last; ++block) marks[block] = 1;
  }
}

void Canvas::FillPath(Color color) {
  const int left = clip_.left;
  const int right = clip_.right();
  for (int y = first_row_; y < end_row_; ++y) {
    float* const row = changes_.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width_ + 2);
    std::uint8_t* const marks =
        touched_.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(blocks_);
    float sum = 0.0f;
    for (int block = left / kBlock; block < blocks_; ++block) {
      const int from = std::max(left, block * kBlock);
      const int to = std::min(right, (block + 1) * kBlock);
      if (marks[block] == 0) {
        // Runs of untouched blocks are one span.
        int end = block + 1;
        while (end < blocks_ && marks[end] == 0) ++end;
        const float coverage = std::min(std::abs(sum), 1.0f);
        if (coverage > kLeastCoverage && from < right) {
          BlendSpan(y, from, std::min(right, end * kBlock), coverage, color);
        }
        block = end - 1;
        continue;
      }
      marks[block] = 0;
      std::uint32_t* const line =
          pixels_.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width_);
      const std::uint32_t packed = Pack(color);
      const float alpha = static_cast<float>(color.alpha) * (256.0f / 255.0f);
      for (int x = from; x < to; ++x) {
        sum += row[x];
        row[x] = 0.0f;
        const float coverage = std::min(std::abs(sum), 1.0f);
        if (coverage > kLeastCoverage) {
          line[x] = Blend(line[x], packed, static_cast<std::uint32_t>(coverage * alpha + 0.5f));
        }
      }
      // Beyond the clip the changes have no effect, but must not stay.
      for (int x = std::max(from, right); x < std::min(width_ + 2, (block + 1) * kBlock); ++x) row[x] = 0.0f;
    }
  }
  first_row_ = height_;
  end_row_ = 0;
}

void Canvas::BlendSpan(int y, int from, int to, float coverage, Color color) {
  if (from >= to) return;
  std::uint32_t* const line = pixels_.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width_);
  const std::uint32_t packed = Pack(color);
  const auto alpha =
      static_cast<std::uint32_t>(coverage * static_cast<float>(color.alpha) * (256.0f / 255.0f) + 0.5f);
  if (alpha >= 256) {
    std::fill(line + from, line + to, packed);
    return;
  }
  for (int x = from; x < to; ++x) line[x] = Blend(line[x], packed, alpha);
}

}  // namespace metronome
