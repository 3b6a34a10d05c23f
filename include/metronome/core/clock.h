#ifndef METRONOME_CORE_CLOCK_H_
#define METRONOME_CORE_CLOCK_H_

#include <cstdint>

namespace metronome {

/// Nanoseconds on a clock that never goes back; only differences mean anything.
std::int64_t MonotonicNanoseconds();

}  // namespace metronome

#endif  // METRONOME_CORE_CLOCK_H_
