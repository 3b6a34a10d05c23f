#ifndef METRONOME_GAMES_RACER_TRACK_H_
#define METRONOME_GAMES_RACER_TRACK_H_

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <span>

#include "metronome/core/rng.h"

namespace metronome {

/// One piece of a track's centre line, a straight or an arc. Its road is the strip of constant width around
/// it, cut square at both ends.
struct RacerPiece {
  Eigen::Vector2d begin = Eigen::Vector2d::Zero();             ///< m
  Eigen::Vector2d end = Eigen::Vector2d::Zero();               ///< m; the next piece's `begin`, to the bit.
  Eigen::Vector2d begin_direction = Eigen::Vector2d::UnitX();  ///< Direction of travel, length 1.
  Eigen::Vector2d end_direction = Eigen::Vector2d::UnitX();
  Eigen::Vector2d center = Eigen::Vector2d::Zero();  ///< Of an arc's circle, m.
  double radius = 0.0;                               ///< Of an arc's centre line, m.
  double turn = 0.0;                                 ///< +1 left, -1 right, 0 straight.
  double start = 0.0;                                ///< Way from the start line to `begin`, m.
  double length = 0.0;                               ///< Along the centre line, m.

  bool is_arc() const { return turn != 0.0; }
};

/// Where on the track something is.
struct RacerPlace {
  int piece = 0;         ///< Index of the piece.
  std::int64_t lap = 0;  ///< Times the start line was crossed forwards, less the times backwards.
};

/// A closed racing track, made from a seed: a road of constant width around a centre line of straights and
/// circular arcs that join without a bend. Plane coordinates in metres, x to the right, y up, origin in the
/// middle of the area, angles counter-clockwise.
///
/// What holds of every track:
///   - the centre line is closed and its direction continuous; no arc is tighter than min_radius(), so both
///     edges are smooth, and none turns by more than kMaxTurn;
///   - parts of the centre line that lie further apart than pi * min_radius() along it are at least
///     2 * half_width + kGap apart, so the road never touches or crosses itself;
///   - it turns both ways, and is kMinLength to kMaxLength long;
///   - the whole road lies in the area, kWidth by kHeight;
///   - the start line is in the middle of the longest straight, and the first piece begins there.
///
/// All memory is in the object: nothing allocates. Not thread-safe.
class RacerTrack {
 public:
  static constexpr double kWidth = 240.0;      ///< Of the area, m.
  static constexpr double kHeight = 160.0;     ///< m
  static constexpr double kGap = 3.0;          ///< Least width of the grass between two parts of the road, m.
  static constexpr double kInnerRadius = 3.0;  ///< Least radius of an edge, m.
  static constexpr double kMaxTurn = 2.6;      ///< Of one corner, rad; 149 degrees.
  static constexpr double kMinLength = 300.0;  ///< m
  static constexpr double kMaxLength = 900.0;  ///< m
  static constexpr double kMinHalfWidth = 4.0;
  static constexpr double kMaxHalfWidth = 9.0;
  static constexpr int kMaxCorners = 14;
  static constexpr int kMaxPieces = 2 * kMaxCorners + 1;
  static constexpr int kMaxDrafts = 64;

  /// Holds the spare track.  REQUIRES: kMinHalfWidth <= half_width <= kMaxHalfWidth (m).
  explicit RacerTrack(double half_width);

  /// Replaces the track by the one that `seed` stands for. Drafts random tracks until one is right, at most
  /// kMaxDrafts; should none be, takes the spare track.
  void Generate(std::uint64_t seed);

  /// Replaces the track by one that is the same for every seed.
  void UseSpare();

  double half_width() const { return half_width_; }
  double min_radius() const { return half_width_ + kInnerRadius; }
  double length() const { return length_; }  ///< Of the centre line, m.
  std::span<const RacerPiece> pieces() const {
    return {pieces_.data(), static_cast<std::size_t>(num_pieces_)};
  }
  /// Drafts that the last Generate() made; kMaxDrafts + 1 when it took the spare track.
  int drafts() const { return drafts_; }
  std::uint64_t hash() const { return hash_; }  ///< Of all pieces and the half width.

  /// Moves `place`, right for somewhere near `position`, to the piece on whose road `position` lies.
  void Follow(const Eigen::Vector2d& position, RacerPlace& place) const;

  /// Of a point on the road of `piece`: way along the centre line from the start line, m.
  double Along(int piece, const Eigen::Vector2d& position) const;
  /// Of a point on the road of `piece`: distance from the centre line, m, positive to the left of it. The
  /// point is on the road while this is within half_width() of 0.
  double Across(int piece, const Eigen::Vector2d& position) const;

  /// The point `across` metres to the left of the centre line, `along` metres after the start line, and the
  /// direction of travel there.  REQUIRES: 0 <= along < length().
  Eigen::Vector2d PointAt(double along, double across) const;
  Eigen::Vector2d DirectionAt(double along) const;

  /// How far one sees from `position`, on the road of `piece`, in `direction` (length 1) before the road's
  /// edge: m, at most `range`. Exact but for rounding.
  double CastRay(int piece, const Eigen::Vector2d& position, const Eigen::Vector2d& direction,
                 double range) const;

 private:
  // A corner of the polygon whose rounded outline is the centre line.
  struct Corner {
    Eigen::Vector2d point = Eigen::Vector2d::Zero();
    double radius = 0.0;
  };

  const Corner& corner(int index) const;  // of the closed polygon: any index from -num_corners_ on
  Corner& corner(int index);
  double TanHalfTurn(int index) const;
  bool SideFits(int index) const;
  bool TryInsertCorner(int index, const Eigen::Vector2d& point);
  void DraftCorners(Rng& rng);
  void DraftRadii(Rng& rng);
  bool Build();
  bool IsClear() const;
  int PieceAt(double along) const;

  double half_width_;
  double length_ = 0.0;
  int num_pieces_ = 0;
  int num_corners_ = 0;
  int drafts_ = 0;
  std::uint64_t hash_ = 0;
  std::array<RacerPiece, kMaxPieces> pieces_;
  std::array<Corner, kMaxCorners> corners_;
};

}  // namespace metronome

#endif  // METRONOME_GAMES_RACER_TRACK_H_
