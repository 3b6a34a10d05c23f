#include "games/minatar/minatar_policy.h"

namespace metronome {

MinatarPolicy::MinatarPolicy(const GameParameters& parameters,
                             std::span<const MinatarAction> minimal_actions) {
  if (parameters.GetBool("minimal_actions")) {
    for (std::size_t i = 0; i < minimal_actions.size(); ++i) {
      index_of_action_[static_cast<std::size_t>(minimal_actions[i])] = static_cast<int>(i);
    }
  } else {
    for (std::size_t i = 0; i < index_of_action_.size(); ++i) index_of_action_[i] = static_cast<int>(i);
  }
}

int MinatarPolicy::Act(std::span<const float> observation) {
  observation_ = observation;
  return index_of_action_[static_cast<std::size_t>(Choose())];
}

CellSet MinatarPolicy::Cells(int channel) const {
  CellSet cells;
  for (int row = 0; row < CellSet::kSide; ++row) {
    for (int column = 0; column < CellSet::kSide; ++column) {
      if (Has(channel, row, column)) cells.Add(row, column);
    }
  }
  return cells;
}

MinatarPolicy::Place MinatarPolicy::Find(int channel) const {
  for (int row = 0; row < CellSet::kSide; ++row) {
    for (int column = 0; column < CellSet::kSide; ++column) {
      if (Has(channel, row, column)) return {.row = row, .column = column};
    }
  }
  return {};
}

}  // namespace metronome
