#ifndef METRONOME_TRAIN_TRAINER_H_
#define METRONOME_TRAIN_TRAINER_H_

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "metronome/core/rng.h"
#include "metronome/games/recording.h"
#include "metronome/games/time_limit.h"
#include "metronome/learner/learner.h"
#include "metronome/replay/replay_buffer.h"
#include "metronome/train/config.h"
#include "metronome/train/trainer_state.h"

namespace metronome {

/// Nanoseconds that one step spent in each of its parts.
struct PhaseTimes {
  std::int64_t game = 0;    ///< Reset, step and observation.
  std::int64_t act = 0;     ///< Epsilon-greedy choice.
  std::int64_t replay = 0;  ///< Adding and sampling.
  std::int64_t update = 0;  ///< Gradient steps.
  std::int64_t total = 0;   ///< The whole step.
};

/// An episode that has ended.
struct FinishedEpisode {
  std::int64_t number = 0;  ///< From 1.
  double episode_return = 0.0;
  std::int64_t length = 0;
  bool terminated = false;       ///< Else truncated.
  double epsilon = 0.0;          ///< As used at its last step.
  std::optional<double> loss;    ///< Mean over the updates made during the episode; empty without any.
  std::optional<double> q_mean;  ///< Likewise.
  std::optional<double> gradient_norm;
};

/// The training loop, one environment step at a time: choose an action, step the game, keep the transition,
/// and when they are due, sample and update. Has its own streams of randomness, "game", "exploration",
/// "sampling" and "weights", all of the config's one seed. After construction Step() allocates nothing with
/// the static engine.
class Trainer {
 public:
  /// Throws Error: kUsage when the replay doesn't fit in memory, kNoDevice when the device is not there.
  explicit Trainer(const RunConfig& config);
  /// On a game that is not in the registry; `config.game` then gives the step limit alone.
  Trainer(const RunConfig& config, std::unique_ptr<Game> game);

  struct StepReport {
    PhaseTimes times;
    bool updated = false;   ///< An update was due.
    bool explored = false;  ///< The action was random.
    const FinishedEpisode* finished =
        nullptr;  ///< The episode that this step ended; valid until the next Step().
  };
  /// Throws Error (kNonFinite) that names episode and step when an observation, a reward, the loss, the
  /// gradient or a weight is not finite; the run is then over, and episode_recording() leads to that place:
  /// up to the step before it where the reward is at fault, else with that step.
  StepReport Step();

  /// The checks that Step() makes of its numbers, those of one update included, for whoever measures them.
  void CheckNumbers(float reward, const UpdateResult& result);

  std::int64_t steps() const { return steps_; }        ///< Environment steps done.
  std::int64_t episodes() const { return episodes_; }  ///< Episodes ended.
  double epsilon() const { return epsilon_; }          ///< As used at the last step.
  std::int64_t max_episode_steps() const { return environment_.max_steps(); }
  const GameSpec& game_spec() const { return environment_.game().spec(); }
  const NetworkSpec& network_spec() const { return network_spec_; }
  const ReplayBuffer& replay() const { return replay_; }
  Learner& learner() { return *learner_; }
  const Learner& learner() const { return *learner_; }

  /// The episode that the last step belongs to; valid until the next Step().
  const Recording& episode_recording() { return recorder_.recording(environment_.game()); }

  /// Between two steps.
  TrainerState SaveState();
  /// Puts a fresh trainer where the saved one was. Replay and learner are restored apart, before. Throws
  /// Error (kBadCheckpoint) that begins with `name` when the state doesn't fit.
  void RestoreState(const TrainerState& state, const std::string& name);
  ReplayBuffer& mutable_replay() { return replay_; }

 private:
  void BeginEpisode();
  int ChooseAction(bool& explored);
  /// One update; with `act_too`, the Q-values of the latest observation in the same trip to the device.
  void UpdateOnce(bool act_too, PhaseTimes& times, std::int64_t& clock);
  void CheckFinite(double value, const char* what) const;
  void CheckObservation() const;
  void CheckUpdate(const UpdateResult& result);
  void CheckWeights(double gradient_norm);
  std::array<std::pair<const char*, Rng*>, 4> Streams();

  const RunConfig config_;
  TimeLimit environment_;
  const NetworkSpec network_spec_;
  Rng game_stream_;
  Rng exploration_stream_;
  Rng sampling_stream_;
  Rng weights_stream_;
  ReplayBuffer replay_;
  std::unique_ptr<Learner> learner_;

  Recorder recorder_;               // of the episode in progress
  std::vector<float> observation_;  // the latest
  std::vector<float> q_values_;
  bool has_q_values_ = false;  // of the latest observation, by the latest weights
  std::int64_t steps_ = 0;
  std::int64_t episodes_ = 0;
  double epsilon_ = 0.0;

  // What no weight and no mean of a gradient in Adam can exceed; see CheckWeights().
  double most_weight_ = std::numeric_limits<double>::infinity();
  double most_moment_ = 0.0;

  // The episode in progress.
  bool in_episode_ = false;
  double episode_return_ = 0.0;
  std::int64_t episode_updates_ = 0;
  double loss_sum_ = 0.0;
  double q_sum_ = 0.0;
  double gradient_norm_sum_ = 0.0;
  FinishedEpisode finished_;
};

/// What the learner sees of a game with these settings.
NetworkSpec NetworkSpecFor(const GameSpec& game, const NetworkConfig& network);

/// The replay buffer that a run with these settings needs.
ReplayBuffer::Options ReplayOptionsFor(const RunConfig& config, const ObservationSpec& observation);

}  // namespace metronome

#endif  // METRONOME_TRAIN_TRAINER_H_
