// Writes the golden playthrough of each game, or of those named; for scripts/update_golden.sh alone.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "games/playthrough.h"
#include "metronome/core/file.h"
#include "metronome/games/registry.h"

int main(int argc, char** argv) {
  try {
    std::vector<std::string> names(argv + 1, argv + argc);
    if (names.empty()) {
      for (const metronome::GameInfo& info : metronome::Games()) names.push_back(info.name);
    }
    for (const std::string& name : names) {
      std::string text;
      for (const std::string& line : metronome::MakePlaythrough(name)) text += line + "\n";
      metronome::WriteFileWhole(metronome::PlaythroughPath(name), text);
      std::printf("%s\n", metronome::PlaythroughPath(name).c_str());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
