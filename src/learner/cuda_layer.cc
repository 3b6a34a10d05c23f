// Compiled only where libtorch was built with CUDA and the CUDA toolkit is there: METRONOME_WITH_CUDA.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "learner/device_layer.h"
#include "metronome/core/check.h"

namespace metronome {
namespace {

// Runs of a slot before its work is recorded: the first ones choose kernels, make workspaces and take memory,
// which nothing may do while a graph is captured.
constexpr int kWarmUpRuns = 3;

/// The first CUDA device, by a stream of its own: nothing can be captured on the default one, and warm-up
/// must be on the stream of the capture. Uploads come from pinned memory, so that the host doesn't wait for
/// them; the one wait of a trip is for the event behind its read-back.
class CudaLayer : public DeviceLayer {
 public:
  CudaLayer()
      : DeviceLayer(at::Device(at::kCUDA, 0)),
        stream_(at::cuda::getStreamFromPool(/*isHighPriority=*/false, /*device_index=*/0)) {}

  at::Tensor HostFloats(std::int64_t size) override {
    return at::zeros({size}, at::TensorOptions(at::kFloat).pinned_memory(true));
  }

  void Run(int slot, const std::function<void()>& ops) override {
    Recording& recording = recordings_[static_cast<std::size_t>(slot)];
    if (recording.graph != nullptr) {
      recording.graph->replay();
      return;
    }
    if (recording.runs++ < kWarmUpRuns) {
      ops();
      return;
    }
    // Only what the graph itself uses may be under way while it is captured.
    stream_.synchronize();
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    graph->capture_begin();
    ops();
    graph->capture_end();
    graph->replay();  // capturing does nothing yet
    recording.graph = std::move(graph);
  }

  std::string run_description() const override { return "CUDA graphs"; }

  std::optional<DeviceMemory> memory() const override {
    // [0] is the sum over the kinds of blocks, by whatever name a version calls it.
    const auto statistics = c10::cuda::CUDACachingAllocator::getDeviceStats(device().index());
    return DeviceMemory{statistics.allocated_bytes[0].current, statistics.reserved_bytes[0].current};
  }

 protected:
  void Enter() override { guard_.emplace(stream_); }
  void Leave() override { guard_.reset(); }

  void CopyBack(const at::Tensor& device, at::Tensor& host) override {
    host.copy_(device, /*non_blocking=*/true);
    WaitForAll();
  }

  void WaitForAll() override {
    done_.record(stream_);
    done_.synchronize();
  }

 private:
  struct Recording {
    int runs = 0;
    std::unique_ptr<at::cuda::CUDAGraph> graph;
  };

  const c10::cuda::CUDAStream stream_;
  std::optional<c10::cuda::CUDAStreamGuard> guard_;
  at::cuda::CUDAEvent done_;
  std::array<Recording, kSlots> recordings_;
};

}  // namespace

std::unique_ptr<DeviceLayer> MakeCudaLayer() { return std::make_unique<CudaLayer>(); }

std::string CudaDeviceName() { return at::cuda::getDeviceProperties(0)->name; }

}  // namespace metronome
