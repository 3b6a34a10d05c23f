#ifndef METRONOME_GAMES_RACER_DRIVER_H_
#define METRONOME_GAMES_RACER_DRIVER_H_

#include <span>

#include "metronome/games/game.h"

namespace metronome {

/// A careful driver for Racer, the yardstick for trained ones. It sees the observation alone.
///   Steering: towards where the road goes on longest, which is the mean of the rays' angles weighted by the
///   fourth power of what they see. It presses the key that brings the wheel nearest to where that wants it.
///   Speed: slow enough to stop within the road seen ahead.
class RacerDriver final : public ScriptedPolicy {
 public:
  /// `grip` as in the game's parameters, m/s^2.
  explicit RacerDriver(double grip) : grip_(grip) {}
  int Act(std::span<const float> observation) override;

 private:
  double grip_;
};

}  // namespace metronome

#endif  // METRONOME_GAMES_RACER_DRIVER_H_
