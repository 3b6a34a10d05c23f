#ifndef METRONOME_LEARNER_CONFIG_H_
#define METRONOME_LEARNER_CONFIG_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace metronome {

/// [network] in the config.
struct NetworkConfig {
  std::vector<std::int64_t> hidden = {128, 128};  ///< Widths of the hidden layers, each followed by ReLU.
  /// [filters, kernel, stride] per convolution layer, before the hidden ones; for observations with a grid.
  std::vector<std::array<std::int64_t, 3>> conv;
};

enum class Engine { kStatic, kAutograd };
/// Of the static engine: written for the processor, the same on every device, or whichever the device takes.
enum class Ops { kAuto, kFused, kGeneric };
enum class Loss { kHuber, kMse };

/// [learner] in the config.
struct LearnerConfig {
  Engine engine = Engine::kStatic;
  Ops ops = Ops::kAuto;           ///< auto is fused on the CPU and generic elsewhere.
  std::int64_t batch_size = 128;  ///< Transitions per update.
  double discount = 0.99;         ///< gamma
  double learning_rate = 5e-4;    ///< Adam (Kingma and Ba 2015, arXiv:1412.6980).
  double adam_epsilon = 1e-8;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  Loss loss = Loss::kHuber;         ///< Huber with threshold 1, or half... see Learner.
  double max_gradient_norm = 10.0;  ///< Clipping by the global norm; 0 means none.
  bool double_dqn = true;           ///< van Hasselt et al. 2016, arXiv:1509.06461. Key: learner.double
  std::int64_t target_update_period = 1000;  ///< Updates between target syncs.
  double target_update_rate = 1.0;           ///< Share of the online weights taken at each sync.
};

/// [device] in the config.
struct DeviceConfig {
  std::string name = "auto";  ///< auto, cpu, mps, cuda.
  int threads = 0;            ///< 0 is a measured choice.
};

}  // namespace metronome

#endif  // METRONOME_LEARNER_CONFIG_H_
