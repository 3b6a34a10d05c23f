#ifndef METRONOME_APP_CONSISTENCY_H_
#define METRONOME_APP_CONSISTENCY_H_

#include <map>
#include <string>
#include <vector>

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

/// Where a run goes on that was on `saved_device` ("" when its checkpoint doesn't say), with `found` here:
/// one whose device is chosen by measurement stays where it was, if it can. Another measurement could come
/// out otherwise, and the run would not be the one that was never stopped. Sets config.device.name; returns
/// what is to be told, where something changes that only rounding shows.
std::vector<std::string> SettleDevice(const RunConfig& saved, const std::string& saved_device,
                                      const std::vector<std::string>& found, RunConfig& config);

}  // namespace metronome

#endif  // METRONOME_APP_CONSISTENCY_H_
