#ifndef METRONOME_GAMES_MINATAR_CHANCE_H_
#define METRONOME_GAMES_MINATAR_CHANCE_H_

#include <cstdint>

#include "metronome/core/hash.h"
#include "metronome/core/rng.h"

namespace metronome {

/// Outcomes that come from elsewhere than a stream of random numbers: those of a recorded episode.
class ChanceScript {
 public:
  virtual ~ChanceScript() = default;
  virtual double Uniform() = 0;
  virtual int UniformInt(int low, int high) = 0;
};

/// Where a game of chance takes its outcomes from: its own stream, or a script where one is set. Every draw
/// of a game goes through here. The script costs a branch that never changes.
class Chance {
 public:
  void Seed(std::uint64_t seed) { rng_ = Rng(seed); }
  /// Borrowed; nullptr goes back to the stream.
  void set_script(ChanceScript* script) { script_ = script; }

  /// Uniform in [0, 1).
  double Uniform() {
    if (script_ != nullptr) [[unlikely]]
      return script_->Uniform();
    return rng_.Uniform();
  }

  /// Uniform over low .. high - 1.
  int UniformInt(int low, int high) {
    if (script_ != nullptr) [[unlikely]]
      return script_->UniformInt(low, high);
    return low + static_cast<int>(rng_.UniformInt(high - low));
  }

  /// Four draws ahead tell the four words of the stream's state.
  void Hash(StateHasher& hasher) const {
    Rng ahead = rng_;
    for (int i = 0; i < 4; ++i) hasher.Add(ahead.NextBits());
  }

 private:
  Rng rng_{0};
  ChanceScript* script_ = nullptr;
};

}  // namespace metronome

#endif  // METRONOME_GAMES_MINATAR_CHANCE_H_
