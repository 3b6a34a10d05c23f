#include "metronome/train/run.h"

#include "metronome/core/stop_signal.h"
#include "train/run_loop.h"

namespace metronome {

namespace {

int RunToTheEnd(RunLoop& loop) {
  // Again, since libraries that start threads or devices may have put in handlers of their own.
  StopSignal::Install();
  while (loop.Step()) {
  }
  return loop.Finish();
}

}  // namespace

int RunTraining(const RunRequest& request) {
  StopSignal::Install();
  RunLoop loop(request);
  return RunToTheEnd(loop);
}

int ResumeTraining(const RunRequest& request, const Checkpoint& checkpoint,
                   const std::vector<std::string>& notes) {
  StopSignal::Install();
  RunLoop loop(request, checkpoint, notes);
  return RunToTheEnd(loop);
}

}  // namespace metronome
