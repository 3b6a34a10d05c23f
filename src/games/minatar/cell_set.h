#ifndef METRONOME_GAMES_MINATAR_CELL_SET_H_
#define METRONOME_GAMES_MINATAR_CELL_SET_H_

#include <bit>
#include <cstdint>

namespace metronome {

/// A set of the cells of a board of 10 x 10: bit 10 * row + column of a number of 128 bits. Row 0 is at the
/// top, column 0 at the left. To move all cells is one shift.
class CellSet {
 public:
  static constexpr int kSide = 10;
  static constexpr int kCells = kSide * kSide;

  constexpr CellSet() = default;

  static constexpr CellSet Cell(int row, int column) { return CellSet(Bits{1} << Index(row, column)); }
  static constexpr CellSet Row(int row) { return CellSet(kRowBits << (kSide * row)); }
  static constexpr CellSet Column(int column) { return CellSet(kColumnBits << column); }
  /// Rows top .. bottom of the columns left .. right.
  static constexpr CellSet Block(int top, int bottom, int left, int right) {
    CellSet block;
    for (int row = top; row <= bottom; ++row) {
      for (int column = left; column <= right; ++column) block.Add(row, column);
    }
    return block;
  }

  constexpr bool Has(int row, int column) const { return ((bits_ >> Index(row, column)) & 1) != 0; }
  constexpr void Add(int row, int column) { bits_ |= Bits{1} << Index(row, column); }
  constexpr void Remove(int row, int column) { bits_ &= ~(Bits{1} << Index(row, column)); }

  constexpr bool empty() const { return bits_ == 0; }
  constexpr int size() const { return std::popcount(low()) + std::popcount(high()); }

  /// All cells one row up or down; those that leave the board are dropped.
  constexpr CellSet MovedUp() const { return CellSet(bits_ >> kSide); }
  constexpr CellSet MovedDown() const { return CellSet((bits_ << kSide) & kBoardBits); }
  /// One row down, and from the last row into the first.
  constexpr CellSet RotatedDown() const {
    return CellSet(((bits_ << kSide) | (bits_ >> (kCells - kSide))) & kBoardBits);
  }
  /// All cells one column aside; those that leave the board are dropped.
  constexpr CellSet MovedLeft() const { return CellSet((bits_ & ~kColumnBits) >> 1); }
  constexpr CellSet MovedRight() const { return CellSet((bits_ & ~(kColumnBits << (kSide - 1))) << 1); }

  friend constexpr CellSet operator&(CellSet left, CellSet right) {
    return CellSet(left.bits_ & right.bits_);
  }
  friend constexpr CellSet operator|(CellSet left, CellSet right) {
    return CellSet(left.bits_ | right.bits_);
  }
  /// The cells of `left` that are not in `right`.
  friend constexpr CellSet operator-(CellSet left, CellSet right) {
    return CellSet(left.bits_ & ~right.bits_);
  }
  friend constexpr bool operator==(CellSet left, CellSet right) { return left.bits_ == right.bits_; }

  /// Calls visit(10 * row + column) for each cell, in rising order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (std::uint64_t rest = low(); rest != 0; rest &= rest - 1) visit(std::countr_zero(rest));
    for (std::uint64_t rest = high(); rest != 0; rest &= rest - 1) visit(64 + std::countr_zero(rest));
  }

  constexpr std::uint64_t low() const { return static_cast<std::uint64_t>(bits_); }
  constexpr std::uint64_t high() const { return static_cast<std::uint64_t>(bits_ >> 64); }

 private:
  __extension__ using Bits = unsigned __int128;

  static constexpr Bits kRowBits = (Bits{1} << kSide) - 1;
  static constexpr Bits kBoardBits = (Bits{1} << kCells) - 1;
  /// Column 0: as many ones as there are rows, ten bits apart.
  static constexpr Bits kColumnBits = kBoardBits / kRowBits;

  explicit constexpr CellSet(Bits bits) : bits_(bits) {}
  static constexpr int Index(int row, int column) { return kSide * row + column; }

  Bits bits_ = 0;
};

}  // namespace metronome

#endif  // METRONOME_GAMES_MINATAR_CELL_SET_H_
