#include "metronome/train/run.h"

#include "metronome/core/stop_signal.h"
#include "train/run_loop.h"

namespace metronome {

int RunTraining(const RunRequest& request) {
  StopSignal::Install();
  RunLoop loop(request);
  // Again, since libraries that start threads or devices may have put in handlers of their own.
  StopSignal::Install();
  while (loop.Step()) {
  }
  return loop.Finish();
}

}  // namespace metronome
