#ifndef METRONOME_LEARNER_FLOAT_MODE_H_
#define METRONOME_LEARNER_FLOAT_MODE_H_

#include <cstdint>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace metronome {

/// While it lives, this thread takes denormal numbers for 0. Adam's decaying moments end there, and each
/// would cost a hundred times an ordinary number. Games keep the full arithmetic: the mode is put back.
class FlushDenormals {
 public:
#if defined(__SSE__)
  FlushDenormals() : before_(_mm_getcsr()) {
    _mm_setcsr(before_ | 0x8040U);
  }  // flush to zero, denormals are zero
  ~FlushDenormals() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#elif defined(__aarch64__)
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(before_ | (std::uint64_t{1} << 24)));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }

 private:
  std::uint64_t before_ = 0;
#endif

 public:
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
};

}  // namespace metronome

#endif  // METRONOME_LEARNER_FLOAT_MODE_H_
