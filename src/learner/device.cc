#include "metronome/learner/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <torch/version.h>

// All differences between the versions of libtorch that concern devices are in this file. What a version
// lacks is unknown, or a longer way round.
#if __has_include(<torch/mps.h>)  // 2.1
#include <torch/mps.h>
#define METRONOME_TORCH_HAS_MPS_HEADER 1
#endif
#if __has_include(<ATen/detail/MPSHooksInterface.h>) && TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR >= 201
#include <ATen/detail/MPSHooksInterface.h>
#define METRONOME_TORCH_HAS_MPS_MEMORY 1
#endif

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <utility>

#include "learner/device_layer.h"
#include "metronome/core/check.h"
#include "metronome/core/clock.h"
#include "metronome/core/error.h"

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

/// A page of Apple's processors; elsewhere pages are smaller and divide it.
constexpr std::size_t kPageBytes = 16384;

/// MPS: everything in the one order in which it is given, a blocking copy waits for all of it.
class MpsLayer : public DeviceLayer {
 public:
  MpsLayer() : DeviceLayer(at::Device(at::kMPS)) {}
  std::optional<DeviceMemory> memory() const override;

 protected:
  void WaitForAll() override;
};

class CpuLayer : public DeviceLayer {
 public:
  CpuLayer() : DeviceLayer(at::Device(at::kCPU)) {}
};

std::optional<DeviceMemory> MpsLayer::memory() const {
#if defined(METRONOME_TORCH_HAS_MPS_MEMORY)
  const at::MPSHooksInterface& hooks = at::detail::getMPSHooks();
  return DeviceMemory{static_cast<std::int64_t>(hooks.getCurrentAllocatedMemory()),
                      static_cast<std::int64_t>(hooks.getDriverAllocatedMemory())};
#else
  return std::nullopt;
#endif
}

void MpsLayer::WaitForAll() {
#if defined(METRONOME_TORCH_HAS_MPS_HEADER)
  torch::mps::synchronize();
#else
  // A blocking copy waits for the whole queue.
  Zeros({1}).to(at::kCPU);
#endif
}

/// The numbers of a version, "2.12.0a0" as 2, 12; 0 for what isn't there.
std::pair<int, int> MajorMinor(const std::string& version) {
  std::pair<int, int> numbers = {0, 0};
  char* end = nullptr;
  numbers.first = static_cast<int>(std::strtol(version.c_str(), &end, 10));
  if (*end == '.') numbers.second = static_cast<int>(std::strtol(end + 1, nullptr, 10));
  return numbers;
}

#if defined(__APPLE__)
std::string SystemText(const char* name) {
  std::array<char, 256> text = {};
  std::size_t size = text.size() - 1;
  return sysctlbyname(name, text.data(), &size, nullptr, 0) == 0 ? std::string(text.data()) : std::string();
}
#endif

}  // namespace

#if defined(__APPLE__)
// Of the Objective-C runtime, whose symbols these are on every macOS; this is what @autoreleasepool compiles
// to.
extern "C" void* objc_autoreleasePoolPush(void);
extern "C" void objc_autoreleasePoolPop(void* pool);
AutoreleasePool::AutoreleasePool() : pool_(objc_autoreleasePoolPush()) {}
AutoreleasePool::~AutoreleasePool() { objc_autoreleasePoolPop(pool_); }
#else
AutoreleasePool::AutoreleasePool() {}   // NOLINT: not defaulted, so that a pool is never an unused variable
AutoreleasePool::~AutoreleasePool() {}  // NOLINT
#endif

std::unique_ptr<DeviceLayer> DeviceLayer::Make(const std::string& device) {
  if (device == "cpu") return std::make_unique<CpuLayer>();
  if (device == "mps") return std::make_unique<MpsLayer>();
#if defined(METRONOME_WITH_CUDA)
  if (device == "cuda") return MakeCudaLayer();
#endif
  throw Error(ExitCode::kNoDevice, "device.name: this build of metronome has no \"" + device + "\"");
}

at::Tensor DeviceLayer::HostFloats(std::int64_t size) {
  const std::size_t bytes = (static_cast<std::size_t>(size) * sizeof(float) / kPageBytes + 1) * kPageBytes;
  void* const memory = std::aligned_alloc(kPageBytes, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, bytes);
  return at::from_blob(
      memory, {size}, [](void* block) { std::free(block); }, at::TensorOptions(at::kFloat));
}

at::Tensor DeviceLayer::Zeros(at::IntArrayRef shape) const {
  return at::zeros(shape, at::TensorOptions(at::kFloat).device(device_));
}

void DeviceLayer::Upload(const at::Tensor& host, at::Tensor& device) {
  METRONOME_DCHECK(host.sizes() == device.sizes());
  ++transfers_.uploads;
  device.copy_(host, /*non_blocking=*/true);
}

void DeviceLayer::ReadBack(const at::Tensor& device, at::Tensor& host) {
  METRONOME_DCHECK(host.sizes() == device.sizes());
  ++transfers_.read_backs;
  ++transfers_.waits;
  CopyBack(device, host);
}

void DeviceLayer::CopyBack(const at::Tensor& device, at::Tensor& host) { host.copy_(device); }

void DeviceLayer::Wait() {
  ++transfers_.waits;
  WaitForAll();
}

void DeviceLayer::Run(int, const std::function<void()>& ops) { ops(); }

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
#if defined(METRONOME_WITH_CUDA)
  if (at::hasCUDA()) devices.emplace_back("cuda");
#endif
  return devices;
}

std::string DeviceDescription(const std::string& device) {
#if defined(__APPLE__)
  if (device == "mps")
    return "mps (" + SystemText("machdep.cpu.brand_string") + ", macOS " + MacosVersion() + ")";
#endif
#if defined(METRONOME_WITH_CUDA)
  if (device == "cuda") return "cuda (" + CudaDeviceName() + ")";
#endif
  return device;
}

std::string MacosVersion() {
#if defined(__APPLE__)
  return SystemText("kern.osproductversion");
#else
  return "";
#endif
}

std::vector<std::string> DeviceWarnings(const std::string& device) {
  if (device == "mps") return MpsWarnings(TorchVersion(), MacosVersion());
  return {};
}

std::vector<std::string> MpsWarnings(const std::string& torch_version, const std::string& macos_version) {
  std::vector<std::string> warnings;
  if (MajorMinor(torch_version) < std::pair(2, 8)) {
    warnings.push_back(
        "mps: libtorch " + torch_version +
        " leaks memory and computes some products wrongly there; 2.8 is the oldest that is known "
        "to be good, 2.14 or newer is better (docs/devices.md)");
  }
  if (MajorMinor(macos_version) < std::pair(14, 0)) {
    warnings.push_back("mps: macOS " + macos_version +
                       " computes some products wrongly; 14 is the oldest that is known to be good "
                       "(docs/devices.md)");
  }
  return warnings;
}

bool MpsTakesTransposed(const std::string& torch_version) {
  return MajorMinor(torch_version) >= std::pair(2, 12);
}

void SeedTorch(std::uint64_t seed) {
  at::manual_seed(seed);
#if defined(METRONOME_TORCH_HAS_MPS_HEADER)
  // Some versions leave MPS out of the above.
  if (at::hasMPS()) torch::mps::manual_seed(seed);
#endif
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
