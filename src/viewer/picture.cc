#include "viewer/picture.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

namespace metronome {
namespace {

bool SamePoints(std::span<const DrawPoint> a, std::span<const DrawPoint> b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](DrawPoint p, DrawPoint q) {
           return p.x == q.x && p.y == q.y;
         });
}

bool SameCommand(const DrawList& left, const DrawCommand& a, const DrawList& right, const DrawCommand& b) {
  return a.kind == b.kind && a.color == b.color && a.size == b.size &&
         SamePoints(left.points(a), right.points(b)) && left.text(a) == right.text(b);
}

bool AreAPair(const DrawCommand& a, const DrawCommand& b) {
  return a.kind == b.kind && a.num_points == b.num_points;
}

void Append(const DrawList& list, const DrawCommand& command, std::span<const DrawPoint> points,
            DrawList& out) {
  switch (command.kind) {
    case DrawKind::kPolygon:
      out.Polygon(points, command.color);
      break;
    case DrawKind::kPolyline:
      out.Polyline(points, command.size, command.color);
      break;
    case DrawKind::kCircle:
      out.Circle(points[0], command.size, command.color);
      break;
    case DrawKind::kText:
      out.Text(points[0], command.size, list.text(command), command.color);
      break;
  }
}

}  // namespace

void PaintCommands(const DrawList& list, std::size_t first, std::size_t end, const Placement& placement,
                   Canvas& canvas) {
  // One point list for all commands; it grows to the longest and stays.
  thread_local std::vector<DrawPoint> points;
  for (std::size_t i = first; i < end; ++i) {
    const DrawCommand& command = list.commands()[i];
    points.clear();
    for (const DrawPoint point : list.points(command)) points.push_back(placement.Apply(point));
    const float size = command.size * placement.scale;
    switch (command.kind) {
      case DrawKind::kPolygon:
        canvas.FillPolygon(points, command.color);
        break;
      case DrawKind::kPolyline:
        canvas.StrokePolyline(points, size, command.color);
        break;
      case DrawKind::kCircle:
        canvas.FillCircle(points[0], size, command.color);
        break;
      case DrawKind::kText:
        canvas.Text(points[0], size, list.text(command), command.color);
        break;
    }
  }
}

std::size_t CommonBeginning(const DrawList& left, const DrawList& right) {
  const std::size_t most = std::min(left.commands().size(), right.commands().size());
  std::size_t count = 0;
  while (count < most && SameCommand(left, left.commands()[count], right, right.commands()[count])) ++count;
  return count;
}

void InBetween(const DrawList& before, const DrawList& after, float share, float longest_way, DrawList& out) {
  thread_local std::vector<DrawPoint> points;
  out.Clear();
  const std::span<const DrawCommand> old_commands = before.commands();
  const std::span<const DrawCommand> new_commands = after.commands();
  const auto copy = [&](const DrawList& list, const DrawCommand& command) {
    Append(list, command, list.points(command), out);
  };
  if (share >= 1.0f) {
    for (const DrawCommand& command : new_commands) copy(after, command);
    return;
  }
  const std::size_t common = CommonBeginning(before, after);
  const std::size_t most = std::min(old_commands.size(), new_commands.size()) - common;
  std::size_t pairs = 0;
  while (pairs < most && AreAPair(old_commands[old_commands.size() - 1 - pairs],
                                  new_commands[new_commands.size() - 1 - pairs])) {
    ++pairs;
  }
  const std::size_t first_pair = old_commands.size() - pairs;
  for (std::size_t i = 0; i < first_pair; ++i) copy(before, old_commands[i]);
  for (std::size_t i = 0; i < pairs; ++i) {
    const DrawCommand& old_command = old_commands[first_pair + i];
    const DrawCommand& new_command = new_commands[new_commands.size() - pairs + i];
    const std::span<const DrawPoint> from = before.points(old_command);
    const std::span<const DrawPoint> to = after.points(new_command);
    points.clear();
    bool jumps = false;
    for (std::size_t k = 0; k < from.size(); ++k) {
      const float dx = to[k].x - from[k].x;
      const float dy = to[k].y - from[k].y;
      jumps = jumps || dx * dx + dy * dy > longest_way * longest_way;
      points.push_back({from[k].x + share * dx, from[k].y + share * dy});
    }
    if (jumps) {
      copy(before, old_command);
    } else {
      Append(before, old_command, points, out);
    }
  }
}

void PicturePainter::Paint(const DrawList& list, double width, double height, float scale, int left, int top,
                           PixelArea area, Canvas& canvas) {
  canvas.SetClip(area);
  const auto whole_width = static_cast<int>(std::ceil(width * static_cast<double>(scale) - 1e-3));
  const auto whole_height = static_cast<int>(std::ceil(height * static_cast<double>(scale) - 1e-3));
  const Placement placement = {scale, static_cast<float>(area.left - left),
                               static_cast<float>(area.top - top)};
  const std::size_t end = list.commands().size();
  const bool fits = left >= 0 && top >= 0 && left + area.width <= whole_width &&
                    top + area.height <= whole_height &&
                    std::int64_t{whole_width} * whole_height <= kMostKeptPixels;
  if (!fits) {
    PaintCommands(list, 0, end, placement, canvas);
    painted_ = end;
    canvas.ClearClip();
    return;
  }
  painted_ = 0;
  if (kept_.width() != whole_width || kept_.height() != whole_height || kept_scale_ != scale) {
    kept_.Resize(whole_width, whole_height);
    kept_scale_ = scale;
    kept_commands_ = 0;
  }
  const std::size_t common = CommonBeginning(list, last_);
  if (common < kept_commands_) {
    kept_.Clear({0, 0, 0, 255});
    kept_commands_ = 0;
  }
  const Placement at_origin = {scale, 0.0f, 0.0f};
  PaintCommands(list, kept_commands_, common, at_origin, kept_);
  painted_ += common - kept_commands_;
  kept_commands_ = common;
  canvas.Copy(kept_, left, top, area);
  PaintCommands(list, common, end, placement, canvas);
  painted_ += end - common;
  canvas.ClearClip();
  last_ = list;  // into memory that it has already
}

}  // namespace metronome
