#include <ATen/Version.h>
#include <c10/core/Device.h>
#include <torch/version.h>

#include <string>

// Takes a std::string from the library and gives it one: with another string ABI the symbol is not there. And
// the library must be that of the headers, as it isn't where two are mixed.
int main(int argc, char** argv) {
  const c10::Device device(std::string(argc > 1 ? argv[1] : "cpu"));
  const std::string version = "TORCH_VERSION=" + std::to_string(TORCH_VERSION_MAJOR) + "." +
                              std::to_string(TORCH_VERSION_MINOR) + ".";
  const bool same = at::show_config().find(version) != std::string::npos;
  return device.is_cpu() && same ? 0 : 1;
}
