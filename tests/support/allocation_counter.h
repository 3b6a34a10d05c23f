#ifndef METRONOME_TESTS_SUPPORT_ALLOCATION_COUNTER_H_
#define METRONOME_TESTS_SUPPORT_ALLOCATION_COUNTER_H_

#include "metronome/core/allocation_counter.h"

/// Ends a test with a printed reason where AllocationScope cannot count.
#define METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED()                            \
  if (!::metronome::AllocationScope::supported())                                  \
  GTEST_SKIP() << "allocations are not counted in this build: a sanitizer brings " \
                  "its own heap"

#endif  // METRONOME_TESTS_SUPPORT_ALLOCATION_COUNTER_H_
