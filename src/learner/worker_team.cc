#include "learner/worker_team.h"

#include "metronome/core/check.h"

namespace metronome {
namespace {

// Long enough for what the caller does between two jobs (a game's step, sampling), some tens of microseconds.
constexpr int kSpins = 2000;
// Then the core is offered to others this often before the thread goes to sleep.
constexpr int kYields = 64;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

WorkerTeam::WorkerTeam(int threads) : size_(threads) {
  METRONOME_CHECK_GE(threads, 1);
  threads_.reserve(static_cast<std::size_t>(threads - 1));
  for (int index = 1; index < threads; ++index) threads_.emplace_back([this, index] { Work(index); });
}

WorkerTeam::~WorkerTeam() {
  ending_.store(true, std::memory_order_relaxed);
  jobs_.fetch_add(1, std::memory_order_release);
  jobs_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerTeam::Start(Function function, void* context) {
  function_ = function;
  context_ = context;
  jobs_.fetch_add(1, std::memory_order_release);
  jobs_.notify_all();
}

void WorkerTeam::Work(int index) {
  std::uint32_t job = 0;
  while (true) {
    WaitWhile(jobs_, job);
    ++job;
    if (ending_.load(std::memory_order_relaxed)) return;
    function_(context_, index);
    Barrier();
  }
}

void WorkerTeam::Barrier() {
  if (size_ == 1) return;
  const std::uint32_t barrier = barriers_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size_)) {
    arrived_.store(0, std::memory_order_relaxed);
    barriers_.store(barrier + 1, std::memory_order_release);
    barriers_.notify_all();
    return;
  }
  WaitWhile(barriers_, barrier);
}

void WorkerTeam::WaitWhile(const std::atomic<std::uint32_t>& counter, std::uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (counter.load(std::memory_order_acquire) != old) return;
    Pause();
  }
  for (int yield = 0; yield < kYields; ++yield) {
    if (counter.load(std::memory_order_acquire) != old) return;
    std::this_thread::yield();
  }
  counter.wait(old, std::memory_order_acquire);
}

}  // namespace metronome
