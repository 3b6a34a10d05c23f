#ifndef METRONOME_TESTS_GAMES_CARTPOLE_TRACE_H_
#define METRONOME_TESTS_GAMES_CARTPOLE_TRACE_H_

#include <string>
#include <string_view>
#include <vector>

#include "games/cartpole.h"

namespace metronome {

/// Episodes that the original CartPole-v1 played, for comparison. The file is text, one record a line, fields
/// separated by single spaces, lines that start with '#' are comments:
///   T 1 cartpole <episodes> <steps>           first record; all S records together
///   E <number from 0> <label>                 begins an episode
///   R <x> <v> <th> <w>                        state it starts in
///   S <action> <x> <v> <th> <w> <reward> <terminated 0|1> <truncated 0|1>   one step and the state after it
///   Z                                         last line
struct CartpoleTrace {
  struct Step {
    int line = 0;  ///< In the file, from 1.
    int action = 0;
    Cartpole::State state;
    double reward = 0.0;
    bool terminated = false;
    bool truncated = false;
  };
  struct Episode {
    std::string label;
    Cartpole::State start;
    std::vector<Step> steps;  ///< The last few may come after the end.
  };
  std::vector<Episode> episodes;
};

/// Throws std::runtime_error that names the line when anything is not as above.
CartpoleTrace ParseCartpoleTrace(std::string_view text);

}  // namespace metronome

#endif  // METRONOME_TESTS_GAMES_CARTPOLE_TRACE_H_
