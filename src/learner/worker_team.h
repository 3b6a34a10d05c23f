#ifndef METRONOME_LEARNER_WORKER_TEAM_H_
#define METRONOME_LEARNER_WORKER_TEAM_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace metronome {

/// A fixed number of threads, the caller among them, that share out the parts of a job. Each begins with its
/// own range of parts, the same in every job of that size, since what it wrote the last time is still in its
/// core's cache; then it helps with the ranges of others. So a thread that the system has put aside holds
/// nobody up but for the part it is in; what the parts compute must not depend on who computes them.
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
    // A job that is const stays so: the function below gives it its type back.
    Run(parts, const_cast<void*>(static_cast<const void*>(&job)), [](void* context, std::int64_t part) {
      (*static_cast<std::remove_reference_t<Job>*>(context))(part);
    });
  }

 private:
  using Function = void (*)(void* context, std::int64_t part);
  void Run(std::int64_t parts, void* context, Function function);
  /// Does parts of job number `round`, those of thread `self` first, until none is left to begin.
  void DoParts(std::uint64_t round, std::size_t self);
  void Work(std::size_t self);

  // A ticket is the number of the job, above kPartBits bits that count the parts begun of one thread's range.
  // Taking a part is one compare-and-swap of the whole, so a thread that wakes up late can't take a part of a
  // job that it didn't read. While a job is put together, its tickets are closed: the count says kClosed.
  static constexpr int kPartBits = 24;
  static constexpr std::uint64_t kClosed = (std::uint64_t{1} << kPartBits) - 1;
  // On a cache line of its own, since all threads look at it all the time.
  struct alignas(64) Ticket {
    std::atomic<std::uint64_t> value{0};
  };

  std::vector<Ticket> tickets_;  // by thread; 0 is the caller
  std::vector<std::thread> threads_;
  std::atomic<bool> ending_{false};
  std::atomic<int> caller_core_{-1};  // where the caller was last seen; -1 where the system doesn't say
  alignas(64) std::atomic<std::int64_t> finished_{0};  // parts of the present job
  alignas(64) std::atomic<std::uint32_t> alarm_{0};    // changes with each job; what sleepers wait on
  // The present job. Written while the tickets are closed, so whoever reads a new value finds his ticket
  // changed too.
  alignas(64) std::atomic<std::int64_t> parts_{0};
  std::atomic<void*> context_{nullptr};
  std::atomic<Function> function_{nullptr};
};

}  // namespace metronome

#endif  // METRONOME_LEARNER_WORKER_TEAM_H_
