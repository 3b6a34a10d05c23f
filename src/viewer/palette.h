#ifndef METRONOME_VIEWER_PALETTE_H_
#define METRONOME_VIEWER_PALETTE_H_

#include "metronome/games/draw_list.h"

namespace metronome::palette {

/// The colours of everything around a game.
inline constexpr Color kBackground = {17, 21, 30};
inline constexpr Color kPanel = {27, 33, 46};
inline constexpr Color kRaised = {38, 46, 63};
inline constexpr Color kLine = {58, 70, 92};
inline constexpr Color kText = {232, 236, 244};
inline constexpr Color kQuiet = {146, 158, 182};
inline constexpr Color kAccent = {255, 190, 92};
inline constexpr Color kBlue = {84, 160, 255};
inline constexpr Color kRed = {240, 100, 88};
inline constexpr Color kGreen = {112, 204, 138};
inline constexpr Color kVeil = {12, 15, 22, 215};

}  // namespace metronome::palette

#endif  // METRONOME_VIEWER_PALETTE_H_
