#ifndef METRONOME_LEARNER_WORKER_TEAM_H_
#define METRONOME_LEARNER_WORKER_TEAM_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace metronome {

/// A fixed number of threads that run the same job together, the caller among them. They wait by spinning for
/// a few microseconds, so that a steady loop makes no system call; after that they yield, and then sleep, so
/// that a team on busy cores gives way. Run() allocates nothing. One caller at a time.
class WorkerTeam {
 public:
  explicit WorkerTeam(int threads);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  int size() const { return size_; }

  /// Calls job(i) for i = 0 .. size() - 1, each in a thread of its own (0 is the caller), and returns when
  /// all have finished.  The job must not throw.
  template <typename Job>
  void Run(Job&& job) {
    if (size_ == 1) {
      job(0);
      return;
    }
    Start([](void* context, int index) { (*static_cast<std::remove_reference_t<Job>*>(context))(index); },
          &job);
    job(0);
    Barrier();
  }

  /// Inside a job: returns when every thread of the team has called it.
  void Barrier();

 private:
  using Function = void (*)(void* context, int index);
  void Start(Function function, void* context);
  void Work(int index);
  /// Returns when `counter` is no longer `old`.
  static void WaitWhile(const std::atomic<std::uint32_t>& counter, std::uint32_t old);

  const int size_;
  Function function_ = nullptr;
  void* context_ = nullptr;
  std::atomic<bool> ending_{false};
  // Each on a cache line of its own, since threads spin on them.
  alignas(64) std::atomic<std::uint32_t> jobs_{0};
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> barriers_{0};
  std::vector<std::thread> threads_;
};

}  // namespace metronome

#endif  // METRONOME_LEARNER_WORKER_TEAM_H_
