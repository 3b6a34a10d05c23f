#include "learner/worker_team.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include "metronome/core/check.h"

namespace metronome {
namespace {

// Long enough for what the caller does between two jobs (a game's step, sampling): some tens of microseconds.
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

#if defined(__linux__)

/// The core that this thread runs on.
int CurrentCore() { return sched_getcpu(); }

/// Moves this thread to another core, if it may run on another.
void LeaveCore(int core) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<std::size_t>(core), &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0) return;
  sched_setaffinity(0, sizeof(allowed), &allowed);
}

#else

int CurrentCore() { return -1; }
void LeaveCore(int) {}

#endif

/// Spins and then yields until `done` is true. False when it isn't after `yields` of these.
template <typename Done>
bool WaitAwake(const Done& done, int yields) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (done()) return true;
    Pause();
  }
  for (int yield = 0; yield < yields; ++yield) {
    if (done()) return true;
    std::this_thread::yield();
  }
  return done();
}

}  // namespace

WorkerTeam::WorkerTeam(int threads) : tickets_(static_cast<std::size_t>(threads)) {
  METRONOME_CHECK_GE(threads, 1);
  threads_.reserve(static_cast<std::size_t>(threads - 1));
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this, i] { Work(static_cast<std::size_t>(i)); });
}

WorkerTeam::~WorkerTeam() {
  ending_.store(true);
  alarm_.fetch_add(1);
  alarm_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerTeam::Run(std::int64_t parts, void* context, Function function) {
  METRONOME_DCHECK(parts < static_cast<std::int64_t>(kClosed));
  const std::uint64_t round = (tickets_[0].value.load(std::memory_order_relaxed) >> kPartBits) + 1;
  for (Ticket& ticket : tickets_) {
    ticket.value.store(round << kPartBits | kClosed, std::memory_order_release);
  }
  parts_.store(parts, std::memory_order_release);
  context_.store(context, std::memory_order_release);
  function_.store(function, std::memory_order_release);
  finished_.store(0, std::memory_order_relaxed);  // every part of the job before was counted before it ended
  for (Ticket& ticket : tickets_) ticket.value.store(round << kPartBits, std::memory_order_release);
  alarm_.fetch_add(1);
  alarm_.notify_all();  // no system call while nobody sleeps

  caller_core_.store(CurrentCore(), std::memory_order_relaxed);
  DoParts(round, 0);
  const auto done = [&] { return finished_.load(std::memory_order_acquire) == parts; };
  while (!WaitAwake(done, kYields)) {
  }
}

void WorkerTeam::DoParts(std::uint64_t round, std::size_t self) {
  const std::size_t threads = tickets_.size();
  for (std::size_t offset = 0; offset < threads; ++offset) {
    const std::size_t owner = (self + offset) % threads;
    std::atomic<std::uint64_t>& value = tickets_[owner].value;
    while (true) {
      std::uint64_t ticket = value.load(std::memory_order_acquire);
      if (ticket >> kPartBits != round) return;
      const std::int64_t parts = parts_.load(std::memory_order_acquire);
      const auto begin = parts * static_cast<std::int64_t>(owner) / static_cast<std::int64_t>(threads);
      const auto end = parts * static_cast<std::int64_t>(owner + 1) / static_cast<std::int64_t>(threads);
      const std::int64_t part = begin + static_cast<std::int64_t>(ticket & kClosed);
      if (part >= end) break;
      void* const context = context_.load(std::memory_order_acquire);
      const Function function = function_.load(std::memory_order_acquire);
      if (!value.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
      function(context, part);
      finished_.fetch_add(1, std::memory_order_release);
    }
  }
}

void WorkerTeam::Work(std::size_t self) {
  std::uint64_t seen = 0;
  while (true) {
    const std::uint32_t alarm = alarm_.load();
    std::uint64_t ticket = 0;
    const auto woken = [&] {
      ticket = tickets_[self].value.load(std::memory_order_acquire);
      return (ticket >> kPartBits != seen && (ticket & kClosed) != kClosed) ||
             ending_.load(std::memory_order_relaxed);
    };
    if (!WaitAwake(woken, kYields)) {
      alarm_.wait(alarm);
      continue;
    }
    if (ending_.load(std::memory_order_relaxed)) return;
    // The system may have woken this thread on the caller's core, where it is in the way, and can leave it
    // there for a minute although another core is idle.
    const int core = caller_core_.load(std::memory_order_relaxed);
    if (core >= 0 && CurrentCore() == core) LeaveCore(core);
    seen = ticket >> kPartBits;
    DoParts(seen, self);
  }
}

}  // namespace metronome
