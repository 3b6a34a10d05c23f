#include "viewer/font.h"

namespace metronome {

std::string_view GlyphOf(char character) {
  const int index = static_cast<unsigned char>(character) - ' ';
  if (index >= 0 && index < static_cast<int>(kNumGlyphs)) return kGlyphs[static_cast<std::size_t>(index)];
  return kGlyphs[static_cast<std::size_t>('?' - ' ')];
}

float TextWidth(std::string_view text, float height) {
  int units = 0;
  for (const char character : text) {
    const std::string_view glyph = GlyphOf(character);
    units += glyph[1] - glyph[0];
  }
  return static_cast<float>(units) * height / kLineUnits;
}

}  // namespace metronome
