#ifndef METRONOME_CORE_STOP_SIGNAL_H_
#define METRONOME_CORE_STOP_SIGNAL_H_

namespace metronome {

/// Turns SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under nohup) into a request that the training
/// loop reads at each step boundary. Installed by train before libtorch and other libraries start, and again
/// after, since some install handlers of their own. Further signals while the run saves change nothing:
/// saving takes seconds.
class StopSignal {
 public:
  /// Takes over the signals, for the life of the process.
  static void Install();

  /// The number of the first signal received since Install(), 0 while there was none. Async-signal-safe,
  /// one relaxed atomic load.
  static int received();

  /// Forgets what was received; for tests.
  static void Clear();
};

}  // namespace metronome

#endif  // METRONOME_CORE_STOP_SIGNAL_H_
