#ifndef METRONOME_CORE_ALLOCATION_COUNTER_H_
#define METRONOME_CORE_ALLOCATION_COUNTER_H_

#include <cstdint>

namespace metronome {

/// Counts the heap blocks that all threads of this program take from the scope's construction on. Only for
/// programs that link metronome_allocation_counter, which replaces malloc or operator new. Scopes may be
/// nested; they only look.
///
///   const AllocationScope scope;
///   buffer.Add(...);
///   EXPECT_EQ(scope.count(), 0);   // read before anything that prints
///
/// With glibc every call of malloc, calloc, realloc, memalign, aligned_alloc and posix_memalign counts, from
/// any library, and with them operator new. Elsewhere (macOS) operator new alone. Not under ASan, MSan or
/// TSan, which bring a heap of their own.
class AllocationScope {
 public:
  AllocationScope();

  /// Whether this build can count; if not, count() is always 0.
  static bool supported();

  std::int64_t count() const;  ///< Blocks taken since construction; a realloc is one.
  std::int64_t bytes() const;  ///< Bytes asked for since construction.

 private:
  std::int64_t count_at_start_;
  std::int64_t bytes_at_start_;
};

}  // namespace metronome

#endif  // METRONOME_CORE_ALLOCATION_COUNTER_H_
