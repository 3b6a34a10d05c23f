#include "metronome/games/game.h"

#include "metronome/core/check.h"

namespace metronome {

std::int64_t ObservationSpec::size() const {
  METRONOME_CHECK(!shape.empty());
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

}  // namespace metronome
