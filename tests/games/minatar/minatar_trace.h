#ifndef METRONOME_TESTS_GAMES_MINATAR_MINATAR_TRACE_H_
#define METRONOME_TESTS_GAMES_MINATAR_MINATAR_TRACE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "games/minatar/minatar_game.h"

namespace metronome {

/// Episodes that an original MinAtar game played, for comparison. The file, as in trace_records.h:
///   T 1 <game> <channels> <episodes> <steps>  first record; all S records together
///   E <number from 0> <new|same> <ramping 0|1> <sticky action probability> <label>
///                                             begins an episode; "same" goes on with the environment of the
///                                             episode before, whose last action carries over
///   R <n> <draw>... <observation>             after the reset
///   S <requested> <executed> <reward> <terminated 0|1> <n> <draw>... <observation>   after the step
///   Z                                         last line
/// A draw is "u <double>" or "i <low> <high> <value>", low <= value < high. An observation is 25 digits a
/// channel, hexadecimal, whose bits are the flattened [row][column][channel], the most significant first.
struct MinatarTrace {
  struct Draw {
    bool is_integer = false;
    double uniform = 0.0;
    int low = 0;
    int high = 0;
    int value = 0;
  };
  /// What a reset or a step drew and what could be seen after it.
  struct Moment {
    int line = 0;  ///< In the file, from 1.
    std::vector<Draw> draws;
    std::vector<std::uint8_t> observation;  ///< (channels, 10, 10) of 0 and 1, as our games write it.
  };
  struct Step {
    MinatarAction requested = MinatarAction::kNone;
    MinatarAction executed = MinatarAction::kNone;
    int reward = 0;
    bool terminated = false;
    Moment after;
  };
  struct Episode {
    bool is_new = true;
    MinatarOptions options;
    std::string label;
    Moment start;
    std::vector<Step> steps;  ///< The last few may come after the end.
  };
  std::string game;
  int channels = 0;
  std::vector<Episode> episodes;
};

/// Throws std::runtime_error that names the line when anything is not as above.
MinatarTrace ParseMinatarTrace(std::string_view text);

}  // namespace metronome

#endif  // METRONOME_TESTS_GAMES_MINATAR_MINATAR_TRACE_H_
