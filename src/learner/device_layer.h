#ifndef METRONOME_LEARNER_DEVICE_LAYER_H_
#define METRONOME_LEARNER_DEVICE_LAYER_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/InferenceMode.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "learner/float_mode.h"
#include "metronome/learner/learner.h"

namespace metronome {

/// Objects that Apple's libraries hand out and expect to be collected, are when this is destroyed. A program
/// that is no application has nobody else who would: they would stay until the thread ends. Nothing
/// elsewhere. Pools nest, on one thread.
class AutoreleasePool {
 public:
  AutoreleasePool();
  ~AutoreleasePool();
  AutoreleasePool(const AutoreleasePool&) = delete;
  AutoreleasePool& operator=(const AutoreleasePool&) = delete;

 private:
#if defined(__APPLE__)
  void* pool_;
#endif
};

/// What the generic ops need of a device beside ops: memory that is quickly uploaded from, the transfers
/// themselves, and what must stand around every call. Every transfer and every wait of ours goes through
/// here, and is counted.
///
/// One thread at a time uses a layer; on MPS it must be the one that made it, always.
class DeviceLayer {
 public:
  /// For "cpu", "mps" or "cuda".  REQUIRES: the device was found (DevicesFound()).
  static std::unique_ptr<DeviceLayer> Make(const std::string& device);

  virtual ~DeviceLayer() = default;
  DeviceLayer(const DeviceLayer&) = delete;
  DeviceLayer& operator=(const DeviceLayer&) = delete;

  const at::Device& device() const { return device_; }
  const TransferCounts& transfers() const { return transfers_; }

  /// Zeroed float32 in the host's memory that lives as long as the tensor: page-aligned, and pinned where
  /// that is of use. Upload() may read it until the next wait, so it must stay as it is until then.
  virtual at::Tensor HostFloats(std::int64_t size);

  /// Zeros on the device, contiguous.
  at::Tensor Zeros(at::IntArrayRef shape) const;

  /// Sends `host` into `device`, of the same size, and waits for nothing where the device can go on by
  /// itself.
  void Upload(const at::Tensor& host, at::Tensor& device);

  /// Brings `device` into `host`, which was made by HostFloats(), and waits for it and for all before it.
  void ReadBack(const at::Tensor& device, at::Tensor& host);

  /// Waits until the device has done all that it was given.
  void Wait();

  /// Runs `ops`, which only enqueue work on the device and do the same each time. A device that can record
  /// them does so once they are warm, into `slot`, and from then on only replays them.
  virtual void Run(int slot, const std::function<void()>& ops);

  /// "", or how Run() does it: "CUDA graphs".
  virtual std::string run_description() const { return ""; }

  /// Bytes that tensors of this process take on the device. Empty where that is not counted.
  virtual std::optional<DeviceMemory> memory() const { return std::nullopt; }

  /// Number of slots for Run().
  static constexpr int kSlots = 4;

  /// Stands around every use of tensors of the layer: no autograd, the right stream, a pool for what Apple's
  /// libraries leave behind.
  class Scope {
   public:
    explicit Scope(DeviceLayer& layer) : layer_(layer) { layer_.Enter(); }
    ~Scope() { layer_.Leave(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const AutoreleasePool pool_;
    const c10::InferenceMode no_autograd_;
    const FlushDenormals flush_;
    DeviceLayer& layer_;
  };

 protected:
  explicit DeviceLayer(const at::Device& device) : device_(device) {}

  virtual void Enter() {}
  virtual void Leave() {}
  /// Brings `device` into `host`, and returns when all is done.
  virtual void CopyBack(const at::Tensor& device, at::Tensor& host);
  virtual void WaitForAll() {}

 private:
  const at::Device device_;
  TransferCounts transfers_;
};

#if defined(METRONOME_WITH_CUDA)
/// The layer of the first CUDA device: a stream of its own, pinned memory, graphs (cuda_layer.cc).
std::unique_ptr<DeviceLayer> MakeCudaLayer();
/// "NVIDIA H200".
std::string CudaDeviceName();
#endif

}  // namespace metronome

#endif  // METRONOME_LEARNER_DEVICE_LAYER_H_
