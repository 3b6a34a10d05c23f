#ifndef METRONOME_TESTS_GAMES_PLAYTHROUGH_H_
#define METRONOME_TESTS_GAMES_PLAYTHROUGH_H_

#include <string>
#include <string_view>
#include <vector>

namespace metronome {

/// Two short episodes of a game, as lines that a person can read and a test can compare: pictures in text,
/// actions, rewards, flags, observations in four digits, hashes of the state. In the first the scripted
/// player plays, now and then disturbed, where the game has one; in the second chance does.
std::vector<std::string> MakePlaythrough(std::string_view game);

/// Where the expected one is kept.
std::string PlaythroughPath(std::string_view game);

}  // namespace metronome

#endif  // METRONOME_TESTS_GAMES_PLAYTHROUGH_H_
