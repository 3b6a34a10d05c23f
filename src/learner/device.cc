#include "metronome/learner/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

#include "metronome/core/clock.h"

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

double MeasurePeakFlops(int threads) {
  constexpr std::int64_t kSize = 1024;
  constexpr double kOperations = 2.0 * kSize * kSize * kSize;
  constexpr std::int64_t kMeasureNanoseconds = 400'000'000;
  const c10::InferenceMode no_autograd;
  SetTorchThreads(threads);
  const at::Tensor left = at::ones({kSize, kSize});
  const at::Tensor right = at::ones({kSize, kSize});
  at::Tensor product = at::empty({kSize, kSize});
  double best = 0.0;
  const std::int64_t start = MonotonicNanoseconds();
  for (std::int64_t now = start; now - start < kMeasureNanoseconds;) {
    at::mm_out(product, left, right);
    const std::int64_t end = MonotonicNanoseconds();
    best = std::max(best, kOperations * 1e9 / static_cast<double>(end - now));
    now = end;
  }
  SetTorchThreads(1);
  return best;
}

void SetTorchThreads(int threads) {
  at::set_num_threads(threads);
  // libtorch's own setting does not reach a BLAS with threads of its own.
  if (const auto set_threads = FindFunction<void(int)>("openblas_set_num_threads")) set_threads(threads);
}

}  // namespace metronome
