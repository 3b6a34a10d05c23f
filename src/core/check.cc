#include "metronome/core/check.h"

#include <cstdio>
#include <cstdlib>

namespace metronome::internal {

void CheckFailed(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace metronome::internal
