#include "metronome/learner/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <filesystem>
#include <string>

namespace metronome {
namespace {

/// The function `name` of whatever library this process has loaded, or nullptr.
template <typename Function>
Function* FindFunction(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// The file that sgemm_ comes from, links followed; empty when libtorch brings a BLAS without that symbol.
std::string BlasFile() {
  void* const sgemm = dlsym(RTLD_DEFAULT, "sgemm_");
  Dl_info info = {};
  if (sgemm == nullptr || dladdr(sgemm, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : file.string();
}

bool Contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

std::string TorchVersion() { return TORCH_VERSION; }

std::string BlasDescription() {
  const std::string file = BlasFile();
  if (Contains(file, "Accelerate") || Contains(file, "vecLib")) return "Accelerate";
  if (const auto get_config = FindFunction<char*()>("openblas_get_config")) {
    std::string text = get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ... MAX_THREADS=128"
    const std::size_t second_space = text.find(' ', text.find(' ') + 1);
    text = text.substr(0, second_space);
    if (const auto get_core = FindFunction<char*()>("openblas_get_corename")) {
      text += std::string(", ") + get_core() + " kernels";
    }
    return text;
  }
  if (Contains(file, "openblas")) return "OpenBLAS";
  if (BlasIsReference()) return "reference BLAS";
  if (at::globalContext().hasMKL()) return "MKL";
  return file.empty() ? "built into libtorch" : std::filesystem::path(file).filename().string();
}

bool BlasIsReference() {
  const std::string file = BlasFile();
  // Debian keeps the reference BLAS in .../blas/libblas.so.3, others beside it in folders of their own name.
  return Contains(file, "/blas/libblas.so") || Contains(file, "refblas");
}

std::vector<std::string> DevicesFound() {
  std::vector<std::string> devices = {"cpu"};
  if (at::hasMPS()) devices.emplace_back("mps");
  if (at::hasCUDA()) devices.emplace_back("cuda");
  return devices;
}

void SetTorchThreads(int threads) {
  at::set_num_threads(threads);
  // libtorch's own setting does not reach a BLAS with threads of its own.
  if (const auto set_threads = FindFunction<void(int)>("openblas_set_num_threads")) set_threads(threads);
}

}  // namespace metronome
