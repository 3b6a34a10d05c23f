#ifndef METRONOME_VIEWER_FONT_H_
#define METRONOME_VIEWER_FONT_H_

#include <array>
#include <cstddef>
#include <string_view>

namespace metronome {

/// A font of strokes, so that text is crisp at any size: printable ASCII, from the space on. Each glyph is a
/// sequence of pairs of characters. The first pair is its left and right bound, every other a point (x, y),
/// y down, as distances from 'R'; the pair " R" lifts the pen. Capitals stand from kCapTop to kBaseline.
inline constexpr std::size_t kNumGlyphs = 95;
extern const std::array<std::string_view, kNumGlyphs> kGlyphs;

/// Of the data, in its own units.
inline constexpr float kCapTop = -12.0f;
inline constexpr float kBaseline = 9.0f;
inline constexpr float kLineTop = -15.0f;
inline constexpr float kLineUnits = 31.0f;  ///< From the top of a line to its bottom, below the descenders.

/// The glyph of a character; that of '?' for what the font has not.
std::string_view GlyphOf(char character);

/// Width of a line of text of this height, in the unit of `height`.
float TextWidth(std::string_view text, float height);

}  // namespace metronome

#endif  // METRONOME_VIEWER_FONT_H_
