#ifndef METRONOME_GAMES_MINATAR_MINATAR_POLICY_H_
#define METRONOME_GAMES_MINATAR_MINATAR_POLICY_H_

#include <array>
#include <span>

#include "games/minatar/cell_set.h"
#include "games/minatar/minatar_game.h"

namespace metronome {

/// What the scripted players of the five games share: they look at the cells of an observation and name an
/// action, whichever set of actions the game is set to.
class MinatarPolicy : public ScriptedPolicy {
 public:
  int Act(std::span<const float> observation) final;

 protected:
  /// `minimal_actions` of the game.
  MinatarPolicy(const GameParameters& parameters, std::span<const MinatarAction> minimal_actions);

  virtual MinatarAction Choose() = 0;

  // The observation at hand, for Choose().

  /// Whether that cell of a channel is set; false off the board.
  bool Has(int channel, int row, int column) const {
    if (row < 0 || row >= CellSet::kSide || column < 0 || column >= CellSet::kSide) return false;
    return observation_[Index(channel, row, column)] != 0.0f;
  }
  /// All cells of a channel that are set.
  CellSet Cells(int channel) const;
  struct Place {
    int row = -1;  ///< -1 where the channel is empty.
    int column = -1;
  };
  /// The first cell of a channel that is set.
  Place Find(int channel) const;
  /// The way something moves that leaves its trail behind it in a channel: 1 to the right, -1 to the left. At
  /// an edge, with the trail off the board, it has just come in.
  int Heading(int trail_channel, int row, int column) const {
    if (Has(trail_channel, row, column - 1)) return 1;
    if (Has(trail_channel, row, column + 1)) return -1;
    return column < CellSet::kSide / 2 ? 1 : -1;
  }

 private:
  static std::size_t Index(int channel, int row, int column) {
    return static_cast<std::size_t>(CellSet::kCells * channel + CellSet::kSide * row + column);
  }

  std::array<int, 6> index_of_action_ = {};  // in the game's set; that of kNone where it has no such action
  std::span<const float> observation_;
};

}  // namespace metronome

#endif  // METRONOME_GAMES_MINATAR_MINATAR_POLICY_H_
