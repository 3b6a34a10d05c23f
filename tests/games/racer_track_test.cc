#include "games/racer_track.h"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <set>
#include <vector>

#include "metronome/core/rng.h"
#include "support/allocation_counter.h"

namespace metronome {
namespace {

using Eigen::Vector2d;

double Cross(const Vector2d& a, const Vector2d& b) { return a.x() * b.y() - a.y() * b.x(); }

// Points of the line `across` metres to the left of the centre line, about every `spacing` metres of that.
std::vector<Vector2d> Sample(const RacerTrack& track, double spacing, double across) {
  const int parts = static_cast<int>(std::ceil(track.length() / spacing));
  std::vector<Vector2d> points;
  for (int i = 0; i < parts; ++i) points.push_back(track.PointAt(track.length() * i / parts, across));
  return points;
}

// One over the radius of the circle through three points.
double Curvature(const Vector2d& a, const Vector2d& b, const Vector2d& c) {
  return 2 * std::abs(Cross(b - a, c - a)) / ((b - a).norm() * (c - b).norm() * (c - a).norm());
}

// Whether two segments have a point in common. The boxes settle it for segments of one straight line, where
// the signs are mere rounding.
bool SegmentsMeet(const Vector2d& a, const Vector2d& b, const Vector2d& c, const Vector2d& d) {
  for (const Eigen::Index axis : {0, 1}) {
    if (std::max(a[axis], b[axis]) < std::min(c[axis], d[axis])) return false;
    if (std::max(c[axis], d[axis]) < std::min(a[axis], b[axis])) return false;
  }
  return (Cross(b - a, c - a) > 0) != (Cross(b - a, d - a) > 0) &&
         (Cross(d - c, a - c) > 0) != (Cross(d - c, b - c) > 0);
}

// Follows the centre line from the length, radius and direction of each piece alone, with the standard
// library.
void ExpectJoinedAndClosed(const RacerTrack& track) {
  const auto pieces = track.pieces();
  Vector2d position = pieces.front().begin;
  double heading = std::atan2(pieces.front().begin_direction.y(), pieces.front().begin_direction.x());
  double length = 0.0;
  double turned = 0.0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const RacerPiece& piece = pieces[i];
    const RacerPiece& next = pieces[(i + 1) % pieces.size()];
    ASSERT_EQ(piece.end, next.begin) << "piece " << i;
    ASSERT_NEAR((piece.end_direction - next.begin_direction).norm(), 0.0, 1e-12) << "piece " << i;
    ASSERT_GT(piece.length, 0.0) << "piece " << i;
    ASSERT_NEAR(piece.start, length, 1e-9) << "piece " << i;
    length += piece.length;
    if (piece.is_arc()) {
      const double angle = piece.turn * piece.length / piece.radius;
      ASSERT_LE(std::abs(angle), RacerTrack::kMaxTurn + 1e-9) << "piece " << i;
      const Vector2d arm(std::sin(heading), -std::cos(heading));
      const Vector2d turned_arm(std::sin(heading + angle), -std::cos(heading + angle));
      position += piece.turn * piece.radius * (turned_arm - arm);
      heading += angle;
      turned += angle;
    } else {
      position += piece.length * Vector2d(std::cos(heading), std::sin(heading));
    }
    ASSERT_NEAR((position - piece.end).norm(), 0.0, 1e-8) << "piece " << i;
    ASSERT_NEAR((Vector2d(std::cos(heading), std::sin(heading)) - piece.end_direction).norm(), 0.0, 1e-9)
        << "piece " << i;
  }
  ASSERT_NEAR(length, track.length(), 1e-9);
  // Once around: a line that crosses itself once would turn by nothing or twice as much.
  ASSERT_NEAR(std::abs(turned), 2 * std::numbers::pi, 1e-8);
}

void ExpectSmooth(const RacerTrack& track, const std::vector<Vector2d>& center_line) {
  const std::size_t n = center_line.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double curvature = Curvature(center_line[i], center_line[(i + 1) % n], center_line[(i + 2) % n]);
    ASSERT_LE(curvature, 1 / track.min_radius() + 1e-6) << "point " << i;
  }
}

// Every pair of points, without the shortcuts of the generator.
void ExpectKeepsOffItself(const RacerTrack& track, const std::vector<Vector2d>& center_line) {
  const std::size_t n = center_line.size();
  const double spacing = track.length() / static_cast<double>(n);
  const auto neighbors =
      static_cast<std::size_t>(std::ceil(std::numbers::pi * track.min_radius() / spacing)) + 1;
  double least = HUGE_VAL;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + neighbors; j < n && j <= i + n - neighbors; ++j) {
      least = std::min(least, (center_line[i] - center_line[j]).squaredNorm());
    }
  }
  ASSERT_GE(std::sqrt(least), 2 * track.half_width() + RacerTrack::kGap);
}

void ExpectInArea(const RacerTrack& track) {
  for (const double side : {-1.0, 1.0}) {
    for (const Vector2d& point : Sample(track, 5.0, side * track.half_width())) {
      ASSERT_LE(std::abs(point.x()), RacerTrack::kWidth / 2);
      ASSERT_LE(std::abs(point.y()), RacerTrack::kHeight / 2);
    }
  }
}

double TurnTo(const RacerTrack& track, double side) {
  double sum = 0.0;
  for (const RacerPiece& piece : track.pieces()) {
    if (piece.turn == side) sum += piece.length / piece.radius;
  }
  return sum;
}

void ExpectKeepsItsPromises(const RacerTrack& track) {
  const std::vector<Vector2d> center_line = Sample(track, 1.0, 0.0);
  ASSERT_NO_FATAL_FAILURE(ExpectJoinedAndClosed(track));
  ASSERT_NO_FATAL_FAILURE(ExpectSmooth(track, center_line));
  ASSERT_NO_FATAL_FAILURE(ExpectKeepsOffItself(track, center_line));
  ASSERT_NO_FATAL_FAILURE(ExpectInArea(track));
  ASSERT_GE(TurnTo(track, 1.0), 0.5);
  ASSERT_GE(TurnTo(track, -1.0), 0.5);
  ASSERT_GE(track.length(), RacerTrack::kMinLength);
  ASSERT_LE(track.length(), RacerTrack::kMaxLength);
  // The start line has straight road on both sides.
  ASSERT_FALSE(track.pieces().front().is_arc());
  ASSERT_FALSE(track.pieces().back().is_arc());
  ASSERT_NEAR(track.pieces().front().length, track.pieces().back().length, 1e-9);
  ASSERT_GE(track.pieces().front().length, 20.0);
}

TEST(RacerTrackTest, TenThousandTracksKeepTheirPromises) {
  RacerTrack track(6.0);
  std::set<std::uint64_t> hashes;
  int most_drafts = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    track.Generate(seed);
    ASSERT_NO_FATAL_FAILURE(ExpectKeepsItsPromises(track));
    hashes.insert(track.hash());
    most_drafts = std::max(most_drafts, track.drafts());
  }
  EXPECT_EQ(hashes.size(), 10'000u) << "two seeds have the same track";
  EXPECT_LE(most_drafts, RacerTrack::kMaxDrafts / 2) << "the spare track is near";
}

TEST(RacerTrackTest, NarrowAndWideRoadsKeepTheirPromises) {
  for (const double half_width : {RacerTrack::kMinHalfWidth, 5.0, 7.5, RacerTrack::kMaxHalfWidth}) {
    RacerTrack track(half_width);
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      SCOPED_TRACE("half width " + std::to_string(half_width) + ", seed " + std::to_string(seed));
      track.Generate(seed);
      ASSERT_NO_FATAL_FAILURE(ExpectKeepsItsPromises(track));
      ASSERT_LE(track.drafts(), RacerTrack::kMaxDrafts) << "the spare track";
    }
  }
}

// Rounding a corner widely can bring the line too near another part of it, which its polygon is not. That is
// rare: these seeds draft such a track first.
TEST(RacerTrackTest, CornersRoundedTowardsAnotherPartOfTheRoadAreDraftedAnew) {
  for (const auto& [half_width, seed] :
       {std::pair{4.0, 8080u}, std::pair{4.0, 81'203u}, std::pair{5.0, 78'223u}, std::pair{5.0, 96'408u},
        std::pair{6.0, 74'533u}}) {
    RacerTrack track(half_width);
    track.Generate(seed);
    ASSERT_NO_FATAL_FAILURE(ExpectKeepsItsPromises(track)) << "seed " << seed;
  }
}

TEST(RacerTrackTest, TheSpareTrackKeepsItsPromises) {
  for (const double half_width : {RacerTrack::kMinHalfWidth, 6.0, RacerTrack::kMaxHalfWidth}) {
    RacerTrack track(half_width);
    track.Generate(1);
    const std::uint64_t hash = track.hash();
    track.UseSpare();
    EXPECT_NE(track.hash(), hash);
    ExpectKeepsItsPromises(track);
  }
}

TEST(RacerTrackTest, TheEdgesNeverMeet) {
  RacerTrack track(6.0);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    track.Generate(seed);
    const std::vector<Vector2d> left = Sample(track, 1.5, track.half_width());
    const std::vector<Vector2d> right = Sample(track, 1.5, -track.half_width());
    const std::size_t n = left.size();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const std::size_t after_i = (i + 1) % n;
        const std::size_t after_j = (j + 1) % n;
        ASSERT_FALSE(SegmentsMeet(left[i], left[after_i], right[j], right[after_j])) << "seed " << seed;
        if (j == i || j == after_i || after_j == i) continue;
        ASSERT_FALSE(SegmentsMeet(left[i], left[after_i], left[j], left[after_j])) << "seed " << seed;
        ASSERT_FALSE(SegmentsMeet(right[i], right[after_i], right[j], right[after_j])) << "seed " << seed;
      }
    }
  }
}

TEST(RacerTrackTest, TracksAreVaried) {
  RacerTrack track(6.0);
  constexpr int kTracks = 2000;
  int clockwise = 0;
  double sum = 0.0;
  double squares = 0.0;
  int winding = 0;
  std::map<std::size_t, int> corners;
  double tightest = HUGE_VAL;
  double widest = 0.0;
  double sharpest = 0.0;
  for (std::uint64_t seed = 0; seed < kTracks; ++seed) {
    track.Generate(seed);
    const double left = TurnTo(track, 1.0);
    const double right = TurnTo(track, -1.0);
    clockwise += right > left ? 1 : 0;
    winding += std::min(left, right) > std::numbers::pi ? 1 : 0;
    sum += track.length();
    squares += track.length() * track.length();
    ++corners[track.pieces().size() / 2];
    for (const RacerPiece& piece : track.pieces()) {
      if (!piece.is_arc()) continue;
      tightest = std::min(tightest, piece.radius);
      widest = std::max(widest, piece.radius);
      sharpest = std::max(sharpest, piece.length / piece.radius);
    }
  }
  const double mean = sum / kTracks;
  EXPECT_NEAR(clockwise, kTracks / 2, kTracks / 20);
  EXPECT_GE(std::sqrt(squares / kTracks - mean * mean), 40.0) << "lengths, m";
  EXPECT_GE(winding, kTracks / 10) << "tracks that turn back by half a circle or more";
  EXPECT_GE(corners.size(), 7u) << "numbers of corners";
  for (const auto& [number, tracks] : corners) EXPECT_LE(tracks, kTracks / 4) << number << " corners";
  EXPECT_LE(tightest, track.min_radius() + 0.1);
  EXPECT_GE(widest, 60.0);
  EXPECT_GE(sharpest, 2.0) << "rad";
}

TEST(RacerTrackTest, ASeedAlwaysGivesTheSameTrack) {
  RacerTrack used(6.0);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    used.Generate(seed);
    RacerTrack fresh(6.0);
    fresh.Generate(seed);
    ASSERT_EQ(used.hash(), fresh.hash()) << "seed " << seed;
    ASSERT_EQ(used.length(), fresh.length()) << "seed " << seed;
  }
}

TEST(RacerTrackTest, TheHashCoversTheWidth) {
  RacerTrack narrow(4.0);
  RacerTrack wide(9.0);
  EXPECT_NE(narrow.hash(), wide.hash());
}

TEST(RacerTrackTest, NothingIsAllocated) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  RacerTrack track(6.0);
  const AllocationScope scope;
  for (std::uint64_t seed = 0; seed < 200; ++seed) track.Generate(seed);
  EXPECT_EQ(scope.count(), 0);
}

TEST(RacerTrackTest, AlongAndAcrossUndoPointAt) {
  RacerTrack track(6.0);
  Rng rng(5);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    track.Generate(seed);
    RacerPlace place;
    // On and on around the track, so that Follow() always starts from nearby.
    for (double along = 0.1; along < track.length() - 0.1; along += rng.Uniform(0.0, 3.0)) {
      const double across = rng.Uniform(-track.half_width(), track.half_width());
      const Vector2d point = track.PointAt(along, across);
      track.Follow(point, place);
      ASSERT_EQ(place.lap, 0);
      ASSERT_NEAR(track.Along(place.piece, point), along, 1e-9) << "seed " << seed;
      ASSERT_NEAR(track.Across(place.piece, point), across, 1e-9) << "seed " << seed << " along " << along;
    }
  }
}

TEST(RacerTrackTest, DirectionIsThatOfTheCenterLine) {
  RacerTrack track(6.0);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    track.Generate(seed);
    constexpr double kStep = 1e-5;
    for (double along = 0.3; along < track.length() - 1; along += 2.7) {
      const Vector2d difference =
          (track.PointAt(along + kStep, 0.0) - track.PointAt(along - kStep, 0.0)) / (2 * kStep);
      ASSERT_NEAR((difference - track.DirectionAt(along)).norm(), 0.0, 1e-5) << "seed " << seed;
      const Vector2d to_left = track.PointAt(along, 1.0) - track.PointAt(along, 0.0);
      ASSERT_NEAR(Cross(track.DirectionAt(along), to_left), 1.0, 1e-9) << "seed " << seed;
    }
  }
}

TEST(RacerTrackTest, FollowCountsLapsForwardsAndBackwards) {
  RacerTrack track(6.0);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    track.Generate(seed);
    for (const int direction : {1, -1}) {
      RacerPlace place;
      double progress = 0.0;
      const int steps = 1000;
      for (int i = 1; i <= 3 * steps; ++i) {
        const double way = direction * track.length() * (i - 0.5) / steps;
        const double along = way - track.length() * std::floor(way / track.length());
        const Vector2d point = track.PointAt(along, 3.0 * std::sin(i * 0.01));
        track.Follow(point, place);
        const double next = static_cast<double>(place.lap) * track.length() + track.Along(place.piece, point);
        ASSERT_NEAR(next, way, 1e-8) << "seed " << seed << " step " << i;
        ASSERT_LE(std::abs(next - progress), 1.0) << "no jumps";
        progress = next;
      }
      EXPECT_EQ(place.lap, direction > 0 ? 2 : -3);
    }
  }
}

TEST(RacerTrackTest, FollowEndsWhereverThePointIs) {
  RacerTrack track(6.0);
  track.Generate(3);
  Rng rng(3);
  for (int i = 0; i < 1000; ++i) {
    RacerPlace place;
    const double x = rng.Uniform(-1e6, 1e6);
    const double y = rng.Uniform(-1e6, 1e6);
    track.Follow(Vector2d(x, y), place);
    ASSERT_GE(place.piece, 0);
    ASSERT_LT(place.piece, static_cast<int>(track.pieces().size()));
  }
}

// The nearest crossing of a ray with any edge of any piece.
double CastRayAgainstEverything(const RacerTrack& track, const Vector2d& from, const Vector2d& direction,
                                double range) {
  double nearest = range;
  const auto meet = [&nearest](double way) {
    if (way > 0.0) nearest = std::min(nearest, way);
  };
  for (const RacerPiece& piece : track.pieces()) {
    for (const double side : {-track.half_width(), track.half_width()}) {
      if (!piece.is_arc()) {
        const Vector2d left(-piece.begin_direction.y(), piece.begin_direction.x());
        const Vector2d a = piece.begin + side * left - from;
        const Vector2d ab = piece.end - piece.begin;
        // from + way * direction = a + share * ab
        const double determinant = Cross(direction, ab);
        if (determinant == 0.0) continue;
        const double share = Cross(a, direction) / determinant;
        if (share >= 0.0 && share <= 1.0) meet(Cross(a, ab) / determinant);
        continue;
      }
      const double radius = piece.radius - piece.turn * side;
      const Vector2d arm = from - piece.center;
      const double b = arm.dot(direction);
      const double root = b * b - arm.squaredNorm() + radius * radius;
      if (root < 0.0) continue;
      for (const double way : {-b - std::sqrt(root), -b + std::sqrt(root)}) {
        const Vector2d hit = arm + way * direction;
        const Vector2d first = piece.begin - piece.center;
        const double angle = std::atan2(piece.turn * Cross(first, hit), first.dot(hit));
        if (angle >= 0.0 && angle <= piece.length / piece.radius) meet(way);
      }
    }
  }
  return nearest;
}

void ExpectRaysAreRight(double half_width, double range, std::uint64_t seeds) {
  RacerTrack track(half_width);
  Rng rng(17);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    track.Generate(seed);
    for (int i = 0; i < 300; ++i) {
      const double along = rng.Uniform(0.0, track.length());
      const double across = rng.Uniform(-0.999, 0.999) * track.half_width();
      const double angle = rng.Uniform(-std::numbers::pi, std::numbers::pi);
      const Vector2d from = track.PointAt(along, across);
      const Vector2d direction(std::cos(angle), std::sin(angle));
      int piece = 0;
      while (piece + 1 < static_cast<int>(track.pieces().size()) &&
             track.pieces()[static_cast<std::size_t>(piece) + 1].start <= along) {
        ++piece;
      }
      ASSERT_NEAR(track.CastRay(piece, from, direction, range),
                  CastRayAgainstEverything(track, from, direction, range), 1e-6)
          << "seed " << seed << " along " << along << " across " << across << " angle " << angle;
    }
  }
}

TEST(RacerTrackTest, RaysEndWhereTheyFirstMeetAnEdge) { ExpectRaysAreRight(6.0, 120.0, 500); }

TEST(RacerTrackTest, RaysAreRightOnNarrowAndWideRoads) {
  ExpectRaysAreRight(RacerTrack::kMinHalfWidth, 300.0, 200);
  ExpectRaysAreRight(RacerTrack::kMaxHalfWidth, 30.0, 200);
}

TEST(RacerTrackTest, RaysFromTheJointsOfPiecesAreRightFromBothSides) {
  RacerTrack track(6.0);
  Rng rng(23);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    track.Generate(seed);
    const int pieces = static_cast<int>(track.pieces().size());
    for (int piece = 0; piece < pieces; ++piece) {
      const RacerPiece& here = track.pieces()[static_cast<std::size_t>(piece)];
      const Vector2d left(-here.end_direction.y(), here.end_direction.x());
      const Vector2d from = here.end + rng.Uniform(-5.9, 5.9) * left;
      const double angle = rng.Uniform(-std::numbers::pi, std::numbers::pi);
      const Vector2d direction(std::cos(angle), std::sin(angle));
      const double want = CastRayAgainstEverything(track, from, direction, 120.0);
      ASSERT_NEAR(track.CastRay(piece, from, direction, 120.0), want, 1e-6) << "seed " << seed;
      ASSERT_NEAR(track.CastRay((piece + 1) % pieces, from, direction, 120.0), want, 1e-6) << "seed " << seed;
    }
  }
}

TEST(RacerTrackTest, RaysOnAStraightByHand) {
  RacerTrack track(6.0);
  track.Generate(1);
  const Vector2d from = track.pieces().front().begin;
  const Vector2d ahead = track.pieces().front().begin_direction;
  const Vector2d left(-ahead.y(), ahead.x());
  EXPECT_NEAR(track.CastRay(0, from, left, 120.0), 6.0, 1e-9);
  EXPECT_NEAR(track.CastRay(0, from, -left, 120.0), 6.0, 1e-9);
  // 3-4-5: half way off to the left and four fifths ahead.
  EXPECT_NEAR(track.CastRay(0, from, 0.6 * left + 0.8 * ahead, 120.0), 10.0, 1e-9);
  EXPECT_NEAR(track.CastRay(0, from + 3.0 * left, 0.6 * left - 0.8 * ahead, 120.0), 5.0, 1e-9);
  EXPECT_EQ(track.CastRay(0, from, left, 4.0), 4.0) << "no farther than the range";
}

}  // namespace
}  // namespace metronome
