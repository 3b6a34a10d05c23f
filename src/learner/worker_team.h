#ifndef METRONOME_LEARNER_WORKER_TEAM_H_
#define METRONOME_LEARNER_WORKER_TEAM_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace metronome {

/// A fixed number of threads, the caller among them, that share out the parts of a job. Each part goes to
/// whichever thread is free, so a thread that the system has put aside holds nobody up but for the part it is
/// in; what the parts compute must not depend on who computes them.
///
/// Between jobs the threads spin for some tens of microseconds, so that a steady loop makes no system call;
/// after that they offer their core to others, and then sleep. ForEach() allocates nothing. One caller at a
/// time.
class WorkerTeam {
 public:
  explicit WorkerTeam(int threads);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  /// Calls job(part) once for each part = 0 .. parts - 1, in any order and on any thread, and returns when
  /// all are done.  The job must not throw.  REQUIRES: 0 <= parts < 2^24.
  template <typename Job>
  void ForEach(std::int64_t parts, Job&& job) {
    if (threads_.empty()) {
      for (std::int64_t part = 0; part < parts; ++part) job(part);
      return;
    }
    Run(parts, &job, [](void* context, std::int64_t part) {
      (*static_cast<std::remove_reference_t<Job>*>(context))(part);
    });
  }

 private:
  using Function = void (*)(void* context, std::int64_t part);
  void Run(std::int64_t parts, void* context, Function function);
  /// Does parts of job number `round` until none is left to begin.
  void DoParts(std::uint64_t round);
  void Work();

  // A ticket is the number of the job, above kPartBits bits that count the parts begun. Taking a part is one
  // compare-and-swap of the whole, so a thread that wakes up late can't take a part of a job that it didn't
  // read.
  static constexpr int kPartBits = 24;
  static constexpr std::uint64_t kPartMask = (std::uint64_t{1} << kPartBits) - 1;

  std::vector<std::thread> threads_;
  std::atomic<bool> ending_{false};
  // On cache lines apart, since all threads look at them all the time.
  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  alignas(64) std::atomic<std::int64_t> finished_{0};  // parts of the present job
  alignas(64) std::atomic<std::uint32_t> alarm_{0};    // changes with each job; what sleepers wait on
  // The present job. Written while the ticket is closed, so whoever reads a new value finds the ticket
  // changed too.
  alignas(64) std::atomic<std::int64_t> parts_{0};
  std::atomic<void*> context_{nullptr};
  std::atomic<Function> function_{nullptr};
};

}  // namespace metronome

#endif  // METRONOME_LEARNER_WORKER_TEAM_H_
