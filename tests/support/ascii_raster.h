#ifndef METRONOME_TESTS_SUPPORT_ASCII_RASTER_H_
#define METRONOME_TESTS_SUPPORT_ASCII_RASTER_H_

#include <string>
#include <vector>

#include "metronome/games/draw_list.h"

namespace metronome {

/// Paints pictures as lines of text, for golden files that a person can read. Each colour has a character of
/// its own, given out in the order in which colours first show; the first one, the ground, is a blank.
class AsciiRaster {
 public:
  /// `columns` characters show `width` cells; the number of lines follows, a character being twice as high as
  /// wide.
  AsciiRaster(double width, double height, int columns);

  /// The topmost shape at the middle of each character. Lines and circles are at least a character thick, so
  /// that none is lost; a shape whose colour is more than half transparent is left out. Blanks at the ends of
  /// lines are cut off.
  std::vector<std::string> Paint(const DrawList& list);

  /// One line for each character so far: "'#' is 54a0ff".
  std::vector<std::string> Legend() const;

 private:
  char SymbolOf(const Color& color);

  double width_;
  double height_;
  int columns_;
  int rows_;
  std::vector<Color> colors_;  // in the order of kSymbols
};

}  // namespace metronome

#endif  // METRONOME_TESTS_SUPPORT_ASCII_RASTER_H_
