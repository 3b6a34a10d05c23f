#include "games/racer_track.h"

#include <algorithm>
#include <cmath>

#include "metronome/core/check.h"
#include "metronome/core/hash.h"
#include "metronome/core/math.h"

// No product of an Eigen matrix and a vector in here: Eigen would use fused multiply-adds where the processor
// has them, and the last bits would differ between machines.

namespace metronome {
namespace {

using Eigen::Vector2d;

constexpr double kMinStraight = 4.0;                  // between two corners, m
constexpr double kMinLongStraight = 40.0;             // the one with the start line, m
constexpr double kMinTurnBack = 0.6;                  // sum of the turns of the rarer direction, rad
constexpr double kBorder = 2.0;                       // grass between the road and the border of the area, m
constexpr double kWidestRadius = 60.0;                // that a corner may get above the least, m
constexpr double kCosMaxTurn = -0.85688875336894732;  // cos kMaxTurn
constexpr double kCosMinTurn = 0.99500416527802576;   // cos 0.1
constexpr int kInsertionsPerCorner = 6;               // tries for each corner wanted
constexpr double kRounding = 1e-9;                    // m
constexpr double kSampleSpacing = 2.0;                // of the points that IsClear() looks at, m
// Between two samples the road can be this much nearer to itself than at them, m: where two parts are nearest
// they run side by side, and half a spacing s from that place each has moved away by at most s^2/8 (1/gap +
// 1/radius).
constexpr double kSampleSlack = 0.25;
constexpr int kMaxSamples =
    static_cast<int>(RacerTrack::kMaxLength / kSampleSpacing) + RacerTrack::kMaxPieces + 1;

double Cross(const Vector2d& a, const Vector2d& b) { return a.x() * b.y() - a.y() * b.x(); }

Vector2d TurnedLeft(const Vector2d& v) { return Vector2d(-v.y(), v.x()); }

Vector2d Rotated(const Vector2d& v, double sine, double cosine) {
  return Vector2d(cosine * v.x() - sine * v.y(), sine * v.x() + cosine * v.y());
}

// Squared distance between a point and the segment a b.
double SquaredDistance(const Vector2d& point, const Vector2d& a, const Vector2d& b) {
  const Vector2d ab = b - a;
  const Vector2d ap = point - a;
  const double share = std::clamp(ap.dot(ab) / ab.squaredNorm(), 0.0, 1.0);
  return (ap - share * ab).squaredNorm();
}

// Whether all of the segment a b is at least `distance` from all of the segment c d.
bool Apart(const Vector2d& a, const Vector2d& b, const Vector2d& c, const Vector2d& d, double distance) {
  const double limit = distance * distance;
  if (SquaredDistance(a, c, d) < limit || SquaredDistance(b, c, d) < limit ||
      SquaredDistance(c, a, b) < limit || SquaredDistance(d, a, b) < limit) {
    return false;
  }
  const bool ab_parts_cd = (Cross(b - a, c - a) > 0.0) != (Cross(b - a, d - a) > 0.0);
  const bool cd_parts_ab = (Cross(d - c, a - c) > 0.0) != (Cross(d - c, b - c) > 0.0);
  return !(ab_parts_cd && cd_parts_ab);
}

}  // namespace

RacerTrack::RacerTrack(double half_width) : half_width_(half_width) {
  METRONOME_CHECK_GE(half_width, kMinHalfWidth);
  METRONOME_CHECK_LE(half_width, kMaxHalfWidth);
  UseSpare();
}

void RacerTrack::Generate(std::uint64_t seed) {
  Rng rng(seed, "racer track");
  for (drafts_ = 1; drafts_ <= kMaxDrafts; ++drafts_) {
    DraftCorners(rng);
    DraftRadii(rng);
    if (Build()) return;
  }
  UseSpare();
}

void RacerTrack::UseSpare() {
  static constexpr double kPoints[][2] = {{-95, -60}, {-40, -60}, {0, -10}, {40, -60},
                                          {95, -60},  {95, 60},   {-95, 60}};  // a rectangle with a dent
  num_corners_ = 0;
  for (const auto& [x, y] : kPoints)
    corners_[static_cast<std::size_t>(num_corners_++)] = {Vector2d(x, y), 20.0};
  drafts_ = kMaxDrafts + 1;
  METRONOME_CHECK(Build());
}

const RacerTrack::Corner& RacerTrack::corner(int index) const {
  return corners_[static_cast<std::size_t>((index + num_corners_) % num_corners_)];
}

RacerTrack::Corner& RacerTrack::corner(int index) {
  return corners_[static_cast<std::size_t>((index + num_corners_) % num_corners_)];
}

// Of the turn at a corner, left or right; infinite where it is beyond what is allowed. An arc of radius r
// that rounds the corner begins and ends r times this from it.
double RacerTrack::TanHalfTurn(int index) const {
  const Vector2d in = (corner(index).point - corner(index - 1).point).normalized();
  const Vector2d out = (corner(index + 1).point - corner(index).point).normalized();
  const double cosine = in.dot(out);
  if (cosine < kCosMaxTurn || cosine > kCosMinTurn) return HUGE_VAL;
  return std::abs(Cross(in, out)) / (1.0 + cosine);
}

// Whether the side from a corner to the next has room for the least arcs at both and a straight between.
bool RacerTrack::SideFits(int index) const {
  const double length = (corner(index + 1).point - corner(index).point).norm();
  return min_radius() * (TanHalfTurn(index) + TanHalfTurn(index + 1)) + kMinStraight <= length;
}

// Puts a corner before corner `index` unless the outline would come too near itself or turn too sharply.
bool RacerTrack::TryInsertCorner(int index, const Vector2d& point) {
  const Vector2d from = corner(index - 1).point;
  const Vector2d to = corner(index).point;
  const double distance = 2 * half_width_ + kGap + kSampleSlack;
  for (int side = index; side < index + num_corners_ - 1; ++side) {
    // The sides next to the new ones share a corner with one of them.
    const Vector2d a = corner(side).point;
    const Vector2d b = corner(side + 1).point;
    if (side != index && !Apart(point, to, a, b, distance)) return false;
    if (side != index + num_corners_ - 2 && !Apart(from, point, a, b, distance)) return false;
  }
  std::copy_backward(corners_.begin() + index, corners_.begin() + num_corners_,
                     corners_.begin() + num_corners_ + 1);
  corners_[static_cast<std::size_t>(index)].point = point;
  ++num_corners_;
  if (SideFits(index - 2) && SideFits(index - 1) && SideFits(index) && SideFits(index + 1)) return true;
  std::copy(corners_.begin() + index + 1, corners_.begin() + num_corners_, corners_.begin() + index);
  --num_corners_;
  return false;
}

// A polygon, counter-clockwise at first, grows from a few corners by new ones that push a side of it in or
// out.
void RacerTrack::DraftCorners(Rng& rng) {
  const double room_x = kWidth / 2 - half_width_ - kBorder;
  const double room_y = kHeight / 2 - half_width_ - kBorder;
  num_corners_ = 3 + static_cast<int>(rng.UniformInt(3));
  const double phase = rng.Uniform(0.0, 2 * kPi);
  for (int i = 0; i < num_corners_; ++i) {
    const SinCosValues at = SinCos(phase + 2 * kPi * (i + rng.Uniform(-0.2, 0.2)) / num_corners_);
    const double x = room_x * rng.Uniform(0.6, 1.0) * at.cos;
    const double y = room_y * rng.Uniform(0.6, 1.0) * at.sin;
    corner(i).point = Vector2d(x, y);
  }
  const int wanted = num_corners_ + 3 + static_cast<int>(rng.UniformInt(kMaxCorners - num_corners_ - 2));
  for (int attempt = 0; attempt < kInsertionsPerCorner * wanted && num_corners_ < wanted; ++attempt) {
    const int index = 1 + static_cast<int>(rng.UniformInt(num_corners_));
    const Vector2d side = corner(index).point - corner(index - 1).point;
    const double share = rng.Uniform(0.25, 0.75);
    const double push = rng.Uniform(-0.7, 0.7);
    const Vector2d point = corner(index - 1).point + share * side + push * TurnedLeft(side);
    if (std::abs(point.x()) <= room_x && std::abs(point.y()) <= room_y) TryInsertCorner(index, point);
  }
  if (rng.UniformInt(2) == 0) std::reverse(corners_.begin(), corners_.begin() + num_corners_);
}

// One corner after the other is given a radius of its own, as far as its sides have room.
void RacerTrack::DraftRadii(Rng& rng) {
  std::array<double, kMaxCorners> tan_half_turn;
  std::array<double, kMaxCorners> room;  // of the straight that begins at the corner
  for (int i = 0; i < num_corners_; ++i) {
    tan_half_turn[static_cast<std::size_t>(i)] = TanHalfTurn(i);
    corner(i).radius = min_radius();
  }
  for (int i = 0; i < num_corners_; ++i) {
    const int next = (i + 1) % num_corners_;
    room[static_cast<std::size_t>(i)] = (corner(next).point - corner(i).point).norm() - kMinStraight -
                                        min_radius() * (tan_half_turn[static_cast<std::size_t>(i)] +
                                                        tan_half_turn[static_cast<std::size_t>(next)]);
  }
  for (int i = 0; i < num_corners_; ++i) {
    const double wide = rng.Uniform();
    double& before = room[static_cast<std::size_t>((i + num_corners_ - 1) % num_corners_)];
    double& after = room[static_cast<std::size_t>(i)];
    const double tangent =
        std::min({kWidestRadius * wide * wide * tan_half_turn[static_cast<std::size_t>(i)], before, after});
    if (!(tangent > 0.0)) continue;
    corner(i).radius += tangent / tan_half_turn[static_cast<std::size_t>(i)];
    before -= tangent;
    after -= tangent;
  }
}

// Makes the pieces out of the corners. Returns whether they keep what the header promises.
bool RacerTrack::Build() {
  int longest = 0;
  double longest_length = 0.0;
  std::array<double, kMaxCorners> tangent;
  for (int i = 0; i < num_corners_; ++i) {
    tangent[static_cast<std::size_t>(i)] = corner(i).radius * TanHalfTurn(i);
  }
  for (int i = 0; i < num_corners_; ++i) {
    const double straight = (corner(i + 1).point - corner(i).point).norm() -
                            tangent[static_cast<std::size_t>(i)] -
                            tangent[static_cast<std::size_t>((i + 1) % num_corners_)];
    if (!(straight >= kMinStraight - 1e-9)) return false;
    if (straight > longest_length) {
      longest = i;
      longest_length = straight;
    }
  }
  if (longest_length < kMinLongStraight) return false;

  num_pieces_ = 0;
  length_ = 0.0;
  double turned_left = 0.0;
  double turned_right = 0.0;
  const auto add = [this](const RacerPiece& piece) {
    RacerPiece& added = pieces_[static_cast<std::size_t>(num_pieces_++)];
    added = piece;
    added.start = length_;
    length_ += piece.length;
  };
  // The middle of the longest straight.
  const Vector2d long_side = (corner(longest + 1).point - corner(longest).point).normalized();
  const Vector2d start_line =
      corner(longest).point + (tangent[static_cast<std::size_t>(longest)] + longest_length / 2) * long_side;
  Vector2d from = start_line;
  Vector2d direction = long_side;
  for (int i = 1; i <= num_corners_; ++i) {
    const int index = (longest + i) % num_corners_;
    const double reach = tangent[static_cast<std::size_t>(index)];
    const Vector2d next_direction = (corner(index + 1).point - corner(index).point).normalized();
    RacerPiece straight;
    straight.begin = from;
    straight.end = corner(index).point - reach * direction;
    straight.begin_direction = direction;
    straight.end_direction = direction;
    straight.length = (straight.end - straight.begin).norm();
    add(straight);
    RacerPiece arc;
    arc.begin = straight.end;
    arc.end = corner(index).point + reach * next_direction;
    arc.begin_direction = direction;
    arc.end_direction = next_direction;
    arc.turn = Cross(direction, next_direction) > 0.0 ? 1.0 : -1.0;
    arc.radius = corner(index).radius;
    arc.center = arc.begin + arc.turn * arc.radius * TurnedLeft(direction);
    const double angle = Atan2(std::abs(Cross(direction, next_direction)), direction.dot(next_direction));
    arc.length = arc.radius * angle;
    add(arc);
    (arc.turn > 0.0 ? turned_left : turned_right) += angle;
    from = arc.end;
    direction = next_direction;
  }
  RacerPiece last;
  last.begin = from;
  last.end = start_line;
  last.begin_direction = direction;
  last.end_direction = direction;
  last.length = (last.end - last.begin).norm();
  add(last);

  if (std::min(turned_left, turned_right) < kMinTurnBack) return false;
  if (length_ < kMinLength || length_ > kMaxLength) return false;
  if (!IsClear()) return false;
  StateHasher hasher;
  hasher.Add(half_width_);
  for (const RacerPiece& piece : pieces()) {
    for (const Vector2d& v :
         {piece.begin, piece.end, piece.begin_direction, piece.end_direction, piece.center}) {
      hasher.Add(v.x()).Add(v.y());
    }
    hasher.Add(piece.radius).Add(piece.turn).Add(piece.start).Add(piece.length);
  }
  hash_ = hasher.value();
  return true;
}

// Whether the road keeps off itself: compares points of the centre line. The distance to a point that runs on
// along the line changes by no more than the way it runs, so far points are passed over in leaps.
bool RacerTrack::IsClear() const {
  std::array<Vector2d, kMaxSamples> points;
  std::array<double, kMaxSamples> along;
  int num_samples = 0;
  for (const RacerPiece& piece : pieces()) {
    const int parts = static_cast<int>(piece.length / kSampleSpacing) + 1;
    const double part = piece.length / parts;
    if (piece.is_arc()) {
      const SinCosValues step = SinCos(piece.turn * part / piece.radius);
      Vector2d arm = piece.begin - piece.center;
      for (int i = 0; i < parts; ++i) {
        points[static_cast<std::size_t>(num_samples)] = piece.center + arm;
        along[static_cast<std::size_t>(num_samples++)] = piece.start + i * part;
        arm = Rotated(arm, step.sin, step.cos);
      }
    } else {
      for (int i = 0; i < parts; ++i) {
        points[static_cast<std::size_t>(num_samples)] = piece.begin + i * part * piece.begin_direction;
        along[static_cast<std::size_t>(num_samples++)] = piece.start + i * part;
      }
    }
  }
  const double clearance = 2 * half_width_ + kGap + kSampleSlack;
  const double neighborhood = kPi * min_radius();
  int first = 0;
  for (int i = 0; i < num_samples; ++i) {
    const double here = along[static_cast<std::size_t>(i)];
    while (first < num_samples && along[static_cast<std::size_t>(first)] - here <= neighborhood) ++first;
    int j = first;
    while (j < num_samples && length_ - (along[static_cast<std::size_t>(j)] - here) > neighborhood) {
      const double distance =
          (points[static_cast<std::size_t>(j)] - points[static_cast<std::size_t>(i)]).norm();
      if (distance < clearance) return false;
      j += 1 + static_cast<int>((distance - clearance) * (1.0 / kSampleSpacing));
    }
  }
  return true;
}

void RacerTrack::Follow(const Vector2d& position, RacerPlace& place) const {
  // No more than once around, whatever the position.
  for (int i = 0; i < num_pieces_; ++i) {
    const RacerPiece& piece = pieces_[static_cast<std::size_t>(place.piece)];
    if ((position - piece.end).dot(piece.end_direction) > 0.0) {
      if (++place.piece == num_pieces_) {
        place.piece = 0;
        ++place.lap;
      }
    } else if ((position - piece.begin).dot(piece.begin_direction) < 0.0) {
      if (--place.piece < 0) {
        place.piece = num_pieces_ - 1;
        --place.lap;
      }
    } else {
      return;
    }
  }
}

double RacerTrack::Along(int index, const Vector2d& position) const {
  const RacerPiece& piece = pieces_[static_cast<std::size_t>(index)];
  if (!piece.is_arc()) return piece.start + (position - piece.begin).dot(piece.begin_direction);
  const Vector2d from = piece.begin - piece.center;
  const Vector2d to = position - piece.center;
  return piece.start + piece.radius * Atan2(piece.turn * Cross(from, to), from.dot(to));
}

double RacerTrack::Across(int index, const Vector2d& position) const {
  const RacerPiece& piece = pieces_[static_cast<std::size_t>(index)];
  if (!piece.is_arc()) return Cross(piece.begin_direction, position - piece.begin);
  return piece.turn * (piece.radius - (position - piece.center).norm());
}

int RacerTrack::PieceAt(double along) const {
  METRONOME_CHECK(along >= 0.0 && along < length_);
  int index = num_pieces_ - 1;
  while (pieces_[static_cast<std::size_t>(index)].start > along) --index;
  return index;
}

Vector2d RacerTrack::DirectionAt(double along) const {
  const RacerPiece& piece = pieces_[static_cast<std::size_t>(PieceAt(along))];
  if (!piece.is_arc()) return piece.begin_direction;
  const SinCosValues turned = SinCos(piece.turn * (along - piece.start) / piece.radius);
  return Rotated(piece.begin_direction, turned.sin, turned.cos);
}

Vector2d RacerTrack::PointAt(double along, double across) const {
  const RacerPiece& piece = pieces_[static_cast<std::size_t>(PieceAt(along))];
  const Vector2d direction = DirectionAt(along);
  if (!piece.is_arc())
    return piece.begin + (along - piece.start) * direction + across * TurnedLeft(direction);
  return piece.center + (across - piece.turn * piece.radius) * TurnedLeft(direction);
}

// Goes with the ray from piece to piece. Each road is left in one of two ways: over an edge, where the ray
// ends, or through one of its square ends into the next piece. Since a straight's road is convex and an arc
// turns by less than half a circle, a ray leaves through the end that it runs towards, and meets no other
// line before.
double RacerTrack::CastRay(int index, const Vector2d& position, const Vector2d& direction,
                           double range) const {
  double entry = 0.0;  // way along the ray to where it came into the piece, m
  for (int i = 0; i < num_pieces_; ++i) {
    const RacerPiece& piece = pieces_[static_cast<std::size_t>(index)];
    double edge = range;  // way to the edge
    double exit = range;  // way to the end
    int step = 0;
    const double to_end = direction.dot(piece.end_direction);
    const double to_begin = direction.dot(piece.begin_direction);
    if (to_end > 0.0) {
      exit = (piece.end - position).dot(piece.end_direction) / to_end;
      step = 1;
    }
    if (piece.is_arc()) {
      if (to_begin < 0.0) {
        const double back = (piece.begin - position).dot(piece.begin_direction) / to_begin;
        if (step == 0 || back < exit) {
          exit = back;
          step = -1;
        }
      }
      // |arm + t direction| = r: t^2 + 2 b t + c - r^2 = 0.
      const Vector2d arm = position - piece.center;
      const double b = arm.dot(direction);
      const double c = arm.squaredNorm();
      const double outer = piece.radius + half_width_;
      const double inner = piece.radius - half_width_;
      const double outer_root = b * b - c + outer * outer;
      if (outer_root >= 0.0) edge = -b + std::sqrt(outer_root);
      const double inner_root = b * b - c + inner * inner;
      if (inner_root > 0.0) {
        const double meet = -b - std::sqrt(inner_root);
        if (meet >= entry - kRounding) edge = std::min(edge, meet);
      }
    } else {
      if (to_begin < 0.0) {
        exit = (piece.begin - position).dot(piece.begin_direction) / to_begin;
        step = -1;
      }
      const double across = Cross(piece.begin_direction, position - piece.begin);
      const double drift = Cross(piece.begin_direction, direction);
      if (drift != 0.0) edge = ((drift > 0.0 ? half_width_ : -half_width_) - across) / drift;
    }
    if (edge <= exit || exit >= range) return std::clamp(edge, 0.0, range);
    entry = exit;
    index += step;
    if (index == num_pieces_) index = 0;
    if (index < 0) index = num_pieces_ - 1;
  }
  return range;
}

}  // namespace metronome
