#include <c10/core/Device.h>

#include <string>

// A symbol that takes a std::string: with another string ABI it is not in the library.
int main(int argc, char** argv) {
  const c10::Device device(std::string(argc > 1 ? argv[1] : "cpu"));
  return device.is_cpu() ? 0 : 1;
}
