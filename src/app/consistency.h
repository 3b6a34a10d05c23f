#ifndef METRONOME_APP_CONSISTENCY_H_
#define METRONOME_APP_CONSISTENCY_H_

#include <map>
#include <string>

#include "metronome/train/config.h"

namespace metronome {

/// Refuses settings that are valid one by one but not together. Throws Error (kUsage), one line that begins
/// with the origin of one of them, names them all with their values, and says why they don't go together.
/// What has no value yet (game.name, train.steps) is left alone.
/// `origins`: by full key name, where a value that isn't the default came from.
void CheckConsistency(const RunConfig& config, const std::map<std::string, std::string>& origins);

/// Why a network can't see such observations: convolutions without a grid, or a kernel larger than the grid
/// that it gets. Empty when it can.
std::string ConvolutionFault(const NetworkConfig& network, const ObservationSpec& observation);

}  // namespace metronome

#endif  // METRONOME_APP_CONSISTENCY_H_
