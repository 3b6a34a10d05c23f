#ifndef METRONOME_LEARNER_LEARNER_H_
#define METRONOME_LEARNER_LEARNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "metronome/core/rng.h"
#include "metronome/learner/config.h"
#include "metronome/replay/replay_buffer.h"

namespace metronome {

/// The shape of a Q-network: what goes in, what comes out, and between them the layers of NetworkConfig.
struct NetworkSpec {
  std::vector<std::int64_t> observation_shape;  ///< (N), or (C, H, W).
  std::int64_t num_actions = 0;
  NetworkConfig layers;
};

/// What one update did. All finite, or the run stops.
struct UpdateResult {
  float loss = 0.0f;           ///< Mean over the batch, before the update.
  float q_mean = 0.0f;         ///< Mean of Q(s, a) over the batch, before the update.
  float gradient_norm = 0.0f;  ///< Global 2-norm before clipping.
};

/// One tensor of the learner's state, in float32, row-major.
struct NamedTensor {
  std::string name;                 ///< "hidden.0.weight", "output.bias".
  std::vector<std::int64_t> shape;  ///< Outermost first: weights are (out, in), as in torch.
  std::int64_t offset = 0;          ///< Of its first element in the flat vector.
  std::int64_t size = 0;
};

/// What went between the host's memory and a device's, since the start.
struct TransferCounts {
  std::int64_t uploads = 0;     ///< Blocks sent to the device.
  std::int64_t read_backs = 0;  ///< Blocks brought back.
  std::int64_t waits = 0;       ///< Times that the host waited until the device had done all it was given.
};

/// Bytes of a device's own memory.
struct DeviceMemory {
  std::int64_t in_tensors = 0;  ///< Held by tensors.
  std::int64_t reserved = 0;    ///< Taken from the driver, those included.
};

/// A Q-network, its target network and Adam, on one device. Everything is allocated by the constructor.
///
/// Update() on a batch of B transitions (s, a, R, D, s'):
///   y = R + D * Q_target(s', argmax_a Q_online(s', a))   with learner.double (arXiv:1509.06461)
///   y = R + D * max_a Q_target(s', a)                    without (Mnih et al. 2015)
///   loss = mean of h(Q_online(s, a) - y)                 h(x) = x^2 / 2 if |x| <= 1, else |x| - 1/2 (huber)
///                                                        h(x) = x^2                                 (mse)
/// then clips the gradient to max_gradient_norm by its global norm, g * min(1, max / (norm + 1e-6)), and
/// applies Adam. After every target_update_period updates:
///   target = target + rate * (online - target)           rate = learner.target_update_rate
///
/// One thread at a time. The state is four flat vectors with one layout.
class Learner {
 public:
  virtual ~Learner() = default;

  /// Q(s, .) of one observation into `q_values` (num_actions). Allocates nothing in the static engine.
  virtual void QValues(std::span<const float> observation, std::span<float> q_values) = 0;

  /// The memory that the next Update() reads: fill every row.
  virtual const BatchView& batch() = 0;

  /// One gradient step on batch(), and the target sync when it is due.
  virtual UpdateResult Update() = 0;

  /// Update(), and then QValues() by the new weights: the same numbers, and on a device of its own one trip
  /// there and back instead of two.
  virtual UpdateResult UpdateAndQValues(std::span<const float> observation, std::span<float> q_values) {
    const UpdateResult result = Update();
    QValues(observation, q_values);
    return result;
  }
  /// Whether that saves a trip. Where it doesn't, Q-values that may not be needed are better not computed.
  virtual bool saves_a_trip() const { return false; }

  std::int64_t updates() const { return updates_; }            ///< Updates since the start of the run.
  std::int64_t target_syncs() const { return target_syncs_; }  ///< Syncs since the start of the run.

  /// Where each tensor lies in the flat vectors.
  virtual std::span<const NamedTensor> tensors() const = 0;

  /// The flat vectors in the host's memory: online and target weights, Adam's first and second moment.
  /// Padding between tensors is 0. Valid until the next call.
  virtual std::span<const float> online() = 0;
  virtual std::span<const float> target() = 0;
  virtual std::span<const float> first_moment() = 0;
  virtual std::span<const float> second_moment() = 0;

  /// Replaces the whole state.  REQUIRES (checked): vectors of the size of online().
  virtual void Restore(std::span<const float> online, std::span<const float> target,
                       std::span<const float> first_moment, std::span<const float> second_moment,
                       std::int64_t updates, std::int64_t target_syncs) = 0;

  /// "static engine, cpu, 2 threads": for the log.
  virtual std::string description() const = 0;
  virtual int threads() const = 0;
  /// "cpu", "mps" or "cuda".
  virtual std::string device() const { return "cpu"; }
  virtual TransferCounts transfers() const { return {}; }
  /// Empty where the device's memory is the host's, or not counted.
  virtual std::optional<DeviceMemory> device_memory() const { return std::nullopt; }

  /// How this device, these ops and threads came to be chosen, and what is to be known of them: lines for the
  /// log.
  const std::vector<std::string>& notes() const { return notes_; }
  void set_notes(std::vector<std::string> notes) { notes_ = std::move(notes); }

 private:
  std::vector<std::string> notes_;

 protected:
  std::int64_t updates_ = 0;
  std::int64_t target_syncs_ = 0;
};

/// Fills `spec`'s initial weights from `weights`, each layer uniform in +-1/sqrt(fan in) (PyTorch's default),
/// weights before biases, layer by layer; the target network starts equal. Throws Error (kNoDevice) when the
/// device asked for is not there.
std::unique_ptr<Learner> MakeLearner(const NetworkSpec& spec, const LearnerConfig& config,
                                     const DeviceConfig& device, Rng& weights);

/// The weights and biases of `spec`, layer by layer, as they lie in the flat vectors of Learner: weight (out,
/// in) or (filters, channels, kernel, kernel), row-major, then bias, with no gap between.
std::vector<NamedTensor> TensorsOf(const NetworkSpec& spec);

/// Floating-point operations of one update's matrix products, a multiply-add counted as two: the forward
/// passes of the online network over s, of the target network over s' and with double DQN of the online
/// network over s', the gradients of all weights, and those of all activations but the observations.
double UpdateFlops(const NetworkSpec& spec, const LearnerConfig& config);

}  // namespace metronome

#endif  // METRONOME_LEARNER_LEARNER_H_
