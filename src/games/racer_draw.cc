// The picture of a race: the whole track from above, one cell a metre.

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

#include "games/racer.h"
#include "metronome/core/math.h"
#include "metronome/core/rng.h"

namespace metronome {
namespace {

using Eigen::Vector2d;

constexpr Color kGrass = {62, 128, 62};
constexpr Color kMowing = {255, 255, 255, 12};
constexpr Color kVerge = {84, 146, 74};
constexpr Color kEdgeShade = {30, 60, 34, 70};
constexpr Color kTreeShade = {24, 60, 34, 120};
constexpr Color kTree = {40, 100, 50};
constexpr Color kTreeMiddle = {56, 124, 58};
constexpr Color kTreeTop = {84, 152, 74};
constexpr Color kLine = {232, 232, 226};
constexpr Color kKerb = {200, 44, 40};
constexpr Color kAsphalt = {78, 80, 86};
constexpr Color kWornAsphalt = {70, 72, 78};
constexpr Color kSkidMark = {54, 55, 60};
constexpr Color kDark = {24, 24, 28};
constexpr Color kShadow = {20, 24, 20, 90};
constexpr Color kBody = {226, 62, 38};
constexpr Color kStripe = {248, 240, 226};
constexpr Color kGlass = {34, 46, 66};
constexpr Color kLamp = {255, 236, 160};
constexpr Color kBrakeLight = {255, 70, 70};
constexpr Color kTailLight = {120, 16, 20};
constexpr Color kRay = {255, 240, 150, 130};
constexpr Color kRayEnd = {255, 214, 90, 230};
constexpr Color kPanel = {16, 20, 24, 170};
constexpr Color kText = {240, 244, 240};

constexpr float kVergeWidth = 3.2f;     // m
constexpr float kMowingStripe = 16.0f;  // m
constexpr double kPointSpacing = 0.75;  // of the drawn centre line, m
constexpr std::size_t kMaxPoints =
    static_cast<std::size_t>(RacerTrack::kMaxLength / kPointSpacing) + RacerTrack::kMaxPieces;
constexpr double kKerbLength = 2.2;      // of one red or white stone, m
constexpr double kKerbWidth = 1.6;       // m
constexpr double kKerbMaxRadius = 45.0;  // corners wider than this have none, m
constexpr double kKerbMinTurn = 0.35;    // nor those that turn by less, rad
constexpr int kTreeTries = 70;
constexpr double kCarLength = RacerCar::kLength;
constexpr double kCarWidth = RacerCar::kWidth;
constexpr double kAxle = 1.35;             // of both axles from the middle, m
constexpr double kFrontWheelAngle = 0.45;  // at full lock, rad

DrawPoint ToPicture(const Vector2d& point) {
  return {static_cast<float>(point.x() + RacerTrack::kWidth / 2),
          static_cast<float>(RacerTrack::kHeight / 2 - point.y())};
}

// Points of the car's own frame, x to the nose and y to the left, in the picture.
class CarFrame {
 public:
  explicit CarFrame(const RacerCar& car) : origin_(car.position), forward_(car.forward) {}
  DrawPoint At(double ahead, double left) const {
    return ToPicture(Vector2d(origin_.x() + ahead * forward_.x() - left * forward_.y(),
                              origin_.y() + ahead * forward_.y() + left * forward_.x()));
  }
  // A rectangle about (ahead, left), turned by `angle`.
  void Box(DrawList& out, double ahead, double left, double length, double width, double angle,
           Color color) const {
    const SinCosValues turned = SinCos(angle);
    std::array<DrawPoint, 4> corners;
    for (std::size_t i = 0; i < 4; ++i) {
      const double x = (i == 0 || i == 3 ? 0.5 : -0.5) * length;
      const double y = (i < 2 ? 0.5 : -0.5) * width;
      corners[i] = At(ahead + turned.cos * x - turned.sin * y, left + turned.sin * x + turned.cos * y);
    }
    out.Polygon(corners, color);
  }

 private:
  Vector2d origin_;
  Vector2d forward_;
};

void DrawGrass(DrawList& out) {
  constexpr auto kWidth = static_cast<float>(RacerTrack::kWidth);
  constexpr auto kHeight = static_cast<float>(RacerTrack::kHeight);
  out.Rectangle(0.0f, 0.0f, kWidth, kHeight, kGrass);
  for (float left = 0.0f; left < kWidth; left += 2 * kMowingStripe) {
    out.Rectangle(left, 0.0f, std::min(kMowingStripe, kWidth - left), kHeight, kMowing);
  }
}

// The same trees for the same track, all off the road.
void DrawTrees(const RacerTrack& track, std::span<const Vector2d> center_line, DrawList& out) {
  Rng rng(track.hash(), "trees");
  for (int i = 0; i < kTreeTries; ++i) {
    const double radius = rng.Uniform(1.6, 3.4);
    const double x = rng.Uniform(-0.5, 0.5) * RacerTrack::kWidth;
    const double y = rng.Uniform(-0.5, 0.5) * RacerTrack::kHeight;
    const Vector2d place(x, y);
    const double room = track.half_width() + radius + 4.0;
    const bool free = std::all_of(center_line.begin(), center_line.end(), [&](const Vector2d& point) {
      return (point - place).squaredNorm() > room * room;
    });
    if (!free) continue;
    const DrawPoint at = ToPicture(place);
    const auto size = static_cast<float>(radius);
    out.Circle({at.x + 0.3f * size, at.y + 0.38f * size}, size, kTreeShade);
    out.Circle(at, size, kTree);
    out.Circle({at.x - 0.12f * size, at.y - 0.15f * size}, 0.74f * size, kTreeMiddle);
    out.Circle({at.x - 0.25f * size, at.y - 0.32f * size}, 0.42f * size, kTreeTop);
  }
}

// Red and white stones along the inner edge of the tighter corners; the road covers a part of them.
void DrawKerbs(const RacerTrack& track, DrawList& out) {
  for (const RacerPiece& piece : track.pieces()) {
    if (!piece.is_arc() || piece.radius > kKerbMaxRadius) continue;
    if (piece.length < kKerbMinTurn * piece.radius) continue;
    const double edge = track.half_width();
    const int stones = static_cast<int>(piece.length / kKerbLength) / 2 * 2 + 3;  // odd: red at both ends
    for (int i = 0; i < stones; ++i) {
      std::array<DrawPoint, 6> points;
      for (int k = 0; k < 3; ++k) {
        const double along = piece.start + piece.length * (2 * i + k) / (2 * stones);
        points[static_cast<std::size_t>(k)] = ToPicture(track.PointAt(along, piece.turn * (edge - 0.5)));
        points[static_cast<std::size_t>(5 - k)] =
            ToPicture(track.PointAt(along, piece.turn * (edge + kKerbWidth)));
      }
      out.Polygon(points, i % 2 == 0 ? kKerb : kLine);
    }
  }
}

void DrawStartLine(const RacerTrack& track, DrawList& out) {
  constexpr int kRows = 2;
  const int columns = static_cast<int>(2 * track.half_width());
  const double side = 2 * track.half_width() / columns;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const double along = row * side;
      const double across = column * side - track.half_width();
      const std::array<DrawPoint, 4> square = {ToPicture(track.PointAt(along, across)),
                                               ToPicture(track.PointAt(along + side, across)),
                                               ToPicture(track.PointAt(along + side, across + side)),
                                               ToPicture(track.PointAt(along, across + side))};
      out.Polygon(square, (row + column) % 2 == 0 ? kLine : kDark);
    }
  }
}

void DrawCar(const RacerCar& car, bool braking, DrawList& out) {
  RacerCar shadow = car;
  shadow.position += Vector2d(0.5, -0.6);
  CarFrame(shadow).Box(out, 0, 0, kCarLength, kCarWidth, 0, kShadow);
  const CarFrame frame(car);
  for (const double side : {-1.0, 1.0}) {
    frame.Box(out, kAxle, side * 0.9, 0.9, 0.42, kFrontWheelAngle * car.steering, kDark);
    frame.Box(out, -kAxle, side * 0.9, 0.9, 0.46, 0, kDark);
  }
  // The body, narrower at the nose.
  const std::array<DrawPoint, 8> body = {frame.At(2.2, 0.45),  frame.At(1.9, 0.75),  frame.At(-1.9, 0.9),
                                         frame.At(-2.2, 0.8),  frame.At(-2.2, -0.8), frame.At(-1.9, -0.9),
                                         frame.At(1.9, -0.75), frame.At(2.2, -0.45)};
  out.Polygon(body, kBody);
  frame.Box(out, 0.0, 0.0, kCarLength, 0.4, 0, kStripe);
  const std::array<DrawPoint, 4> windscreen = {frame.At(0.75, 0.6), frame.At(0.2, 0.72), frame.At(0.2, -0.72),
                                               frame.At(0.75, -0.6)};
  out.Polygon(windscreen, kGlass);
  frame.Box(out, -1.2, 0, 0.5, 1.2, 0, kGlass);
  for (const double side : {-1.0, 1.0}) {
    frame.Box(out, 2.0, side * 0.5, 0.3, 0.3, 0, kLamp);
    frame.Box(out, -2.1, side * 0.6, 0.25, 0.45, 0, braking ? kBrakeLight : kTailLight);
  }
}

}  // namespace

void Racer::RecordSkid(const RacerCar& before) {
  Skid& skid = skids_[static_cast<std::size_t>(num_skids_++ % kMaxSkids)];
  const CarFrame from(before);
  const CarFrame to(car_);
  for (std::size_t wheel = 0; wheel < 2; ++wheel) {
    const double left = wheel == 0 ? 0.9 : -0.9;
    skid.from[wheel] = from.At(-kAxle, left);
    skid.to[wheel] = to.At(-kAxle, left);
  }
}

void Racer::Draw(DrawList& out) const {
  std::array<Vector2d, kMaxPoints> center_line;
  std::array<DrawPoint, kMaxPoints + 1> road;
  std::size_t num_points = 0;
  for (const RacerPiece& piece : track_.pieces()) {
    const int parts = 1 + static_cast<int>(piece.length / kPointSpacing);
    for (int i = 0; i < parts; ++i) {
      center_line[num_points] = track_.PointAt(piece.start + piece.length * i / parts, 0.0);
      road[num_points] = ToPicture(center_line[num_points]);
      ++num_points;
    }
  }
  const std::span<const Vector2d> points = std::span(center_line).first(num_points);
  road[num_points] = road[0];
  const std::span<const DrawPoint> outline = std::span(road).first(num_points + 1);

  const auto road_width = static_cast<float>(2 * track_.half_width());
  DrawGrass(out);
  out.Polyline(outline, road_width + 2 * kVergeWidth, kVerge);
  DrawTrees(track_, points, out);
  out.Polyline(outline, road_width + 2.2f, kEdgeShade);
  out.Polyline(outline, road_width + 0.6f, kLine);
  DrawKerbs(track_, out);
  out.Polyline(outline, road_width - 0.4f, kAsphalt);
  out.Polyline(outline, 0.5f * road_width, kWornAsphalt);
  DrawStartLine(track_, out);

  const std::int64_t first = std::max<std::int64_t>(0, num_skids_ - kMaxSkids);
  for (std::int64_t i = first; i < num_skids_; ++i) {
    const Skid& skid = skids_[static_cast<std::size_t>(i % kMaxSkids)];
    for (std::size_t wheel = 0; wheel < 2; ++wheel) {
      const std::array<DrawPoint, 2> mark = {skid.from[wheel], skid.to[wheel]};
      out.Polyline(mark, 0.4f, kSkidMark);
    }
  }
  DrawCar(car_, braking_, out);
}

void Racer::DrawOverlay(DrawList& out) const {
  constexpr double kKilometersPerHour = 3.6;
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "lap %lld   %3.0f km/h   %5.1f s",
                static_cast<long long>(laps_ + 1), kKilometersPerHour * car_.velocity.norm(),
                static_cast<double>(ticks_) * RacerCar::kTickSeconds);
  out.Rectangle(2.0f, 2.0f, 84.0f, 8.0f, kPanel);
  out.Text({4.0f, 3.5f}, 5.0f, text.data(), kText);
}

void Racer::DrawSenses(DrawList& out) const {
  const Vector2d forward = car_.forward;
  for (const Vector2d& ray : rays_) {
    const Vector2d direction(forward.x() * ray.x() - forward.y() * ray.y(),
                             forward.y() * ray.x() + forward.x() * ray.y());
    const double distance = track_.CastRay(place_.piece, car_.position, direction, ray_range_);
    const std::array<DrawPoint, 2> points = {ToPicture(car_.position),
                                             ToPicture(car_.position + distance * direction)};
    out.Polyline(points, 0.25f, kRay);
    out.Circle(points[1], 0.7f, kRayEnd);
  }
}

std::optional<CloseUp> Racer::close_up() const {
  constexpr float kCloseUpWidth = 72.0f;     // m
  constexpr double kLookAheadSeconds = 0.3;  // so that more is seen of where it goes
  return CloseUp{.center = ToPicture(car_.position + kLookAheadSeconds * car_.velocity),
                 .width = kCloseUpWidth,
                 .subject = ToPicture(car_.position)};
}

}  // namespace metronome
