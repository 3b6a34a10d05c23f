#include "metronome/core/stop_signal.h"

#include <atomic>
#include <csignal>

#include "metronome/core/check.h"

namespace metronome {
namespace {

std::atomic<int> received_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "the handler may only touch lock-free atomics");

extern "C" void OnStopSignal(int signal) {
  int none = 0;
  received_signal.compare_exchange_strong(none, signal, std::memory_order_relaxed);
}

}  // namespace

void StopSignal::Install() {
  struct sigaction action = {};
  action.sa_handler = OnStopSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // reads and writes in progress go on
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction present = {};
    METRONOME_CHECK_EQ(sigaction(signal, nullptr, &present), 0);
    // A program under nohup goes on when its terminal closes.
    if (signal == SIGHUP && present.sa_handler == SIG_IGN) continue;
    METRONOME_CHECK_EQ(sigaction(signal, &action, nullptr), 0);
  }
}

int StopSignal::received() { return received_signal.load(std::memory_order_relaxed); }

void StopSignal::Clear() { received_signal.store(0, std::memory_order_relaxed); }

}  // namespace metronome
