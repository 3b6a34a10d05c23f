// Stands for watch.cc and play.cc in a build with METRONOME_BUILD_VIEWER=OFF.

#include <string>

#include "app/show.h"
#include "metronome/core/error.h"

namespace metronome {
namespace {

[[noreturn]] void Refuse(const std::string& command) {
  throw Error(ExitCode::kUsage, command + ": this build has no viewer (METRONOME_BUILD_VIEWER is OFF)");
}

}  // namespace

int RunWatch(const WatchOptions&) { Refuse("watch"); }
int RunPlay(const PlayOptions&) { Refuse("play"); }

}  // namespace metronome
