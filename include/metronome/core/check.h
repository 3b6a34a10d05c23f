#ifndef METRONOME_CORE_CHECK_H_
#define METRONOME_CORE_CHECK_H_

#include <sstream>
#include <string>

namespace metronome::internal {

/// Prints `file:line: what` on standard error and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const std::string& what);

template <typename Left, typename Right>
[[noreturn]] void CheckFailedWithValues(const char* file, int line, const char* text, const Left& left,
                                        const Right& right) {
  std::ostringstream out;
  out << "check failed: " << text << " (" << left << " against " << right << ")";
  CheckFailed(file, line, out.str());
}

}  // namespace metronome::internal

/// A broken internal contract, our own mistake: prints the condition and aborts. In every build.
#define METRONOME_CHECK(condition)                                                         \
  do {                                                                                     \
    if (!(condition)) [[unlikely]] {                                                       \
      ::metronome::internal::CheckFailed(__FILE__, __LINE__, "check failed: " #condition); \
    }                                                                                      \
  } while (false)

/// Like METRONOME_CHECK for a comparison; prints both values.
#define METRONOME_CHECK_OP_(left, op, right)                                                     \
  do {                                                                                           \
    const auto& metronome_left = (left);                                                         \
    const auto& metronome_right = (right);                                                       \
    if (!(metronome_left op metronome_right)) [[unlikely]] {                                     \
      ::metronome::internal::CheckFailedWithValues(__FILE__, __LINE__, #left " " #op " " #right, \
                                                   metronome_left, metronome_right);             \
    }                                                                                            \
  } while (false)

#define METRONOME_CHECK_EQ(left, right) METRONOME_CHECK_OP_(left, ==, right)
#define METRONOME_CHECK_NE(left, right) METRONOME_CHECK_OP_(left, !=, right)
#define METRONOME_CHECK_LT(left, right) METRONOME_CHECK_OP_(left, <, right)
#define METRONOME_CHECK_LE(left, right) METRONOME_CHECK_OP_(left, <=, right)
#define METRONOME_CHECK_GT(left, right) METRONOME_CHECK_OP_(left, >, right)
#define METRONOME_CHECK_GE(left, right) METRONOME_CHECK_OP_(left, >=, right)

/// For hot loops: a check in debug builds, nothing in release builds.
#ifdef NDEBUG
#define METRONOME_DCHECK(condition) \
  do {                              \
    if (false) {                    \
      METRONOME_CHECK(condition);   \
    }                               \
  } while (false)
#else
#define METRONOME_DCHECK(condition) METRONOME_CHECK(condition)
#endif

#endif  // METRONOME_CORE_CHECK_H_
