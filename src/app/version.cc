#include <iostream>
#include <string>
#include <vector>

#include "app/commands.h"
#include "metronome/core/text.h"
#include "metronome/learner/device.h"

namespace metronome {
namespace {

std::string Compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "unknown";
#endif
}

}  // namespace

int RunVersion() {
  std::cout << "metronome " << METRONOME_VERSION << "\n"
            << "compiler: " << Compiler() << ", " << METRONOME_BUILD_TYPE << " build\n"
            << "libtorch: " << TorchVersion() << "\n"
            << "BLAS: " << BlasDescription() << "\n";
  if (BlasIsReference()) {
    std::cout << "warning: the reference BLAS is about ten times slower than OpenBLAS; install OpenBLAS "
                 "(scripts/setup does)\n";
  }
  std::cout << "devices: " << Join(DevicesFound()) << "\n";
  return 0;
}

}  // namespace metronome
