#ifndef METRONOME_VIEWER_SESSION_H_
#define METRONOME_VIEWER_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metronome/games/draw_list.h"
#include "metronome/games/game.h"
#include "metronome/games/recording.h"
#include "metronome/games/registry.h"
#include "metronome/games/time_limit.h"

namespace metronome {

/// What a player does next.
struct Decision {
  static constexpr int kNone = -1;  ///< There is nothing more to play: a recording is at its end.
  int action = kNone;
  bool random = false;        ///< Drawn at random, not chosen.
  bool has_q_values = false;  ///< Whether the Q-values were filled in.
};

/// Whoever plays while one watches: a network, a scripted player, a recording.
class Player {
 public:
  virtual ~Player() = default;
  virtual std::string name() const = 0;  ///< For the panel: "agent", "recording".
  /// Before each episode; `seed` is what the game's Reset() is given. May bring in a newer network.
  virtual void BeginEpisode(std::uint64_t seed) = 0;
  /// `q_values` has one element for each action.
  virtual Decision Decide(std::span<const float> observation, std::span<float> q_values) = 0;
  /// Of the network in use; empty without one.
  virtual std::optional<std::int64_t> checkpoint_step() const { return std::nullopt; }
  /// Whether a person may take over for a while and give back.
  virtual bool can_be_taken_over() const { return true; }
  /// Share of random actions; empty where nothing is drawn.
  virtual std::optional<double> epsilon() const { return std::nullopt; }
};

/// An episode that has ended. The recording is valid during the call that brings it.
struct EpisodeReport {
  std::int64_t number = 0;  ///< From 1.
  std::uint64_t seed = 0;
  double episode_return = 0.0;
  std::int64_t length = 0;  ///< Steps.
  std::string ending;       ///< "terminated", "truncated"; "unfinished" at the end of such a recording.
  bool by_hand = false;     ///< A person decided at least one step.
  std::optional<std::int64_t> checkpoint_step;
  const Recording* recording = nullptr;
};

/// A game being played at the pace of a clock, watched or by hand, whatever the screen: what `watch`, `play`
/// and the recorder have in common. Knows neither window nor clock: time is brought to it.
///
/// A decision lasts ticks_per_step ticks. The game is stepped at the first of them, and the picture then
/// moves from the state before to the state after, so that nothing is shown later than it would be if the
/// game were advanced tick by tick.
class Session {
 public:
  static constexpr double kFastest = std::numeric_limits<double>::infinity();
  static constexpr double kLeastSpeed = 0.1;
  static constexpr double kMostSpeed = 1000.0;

  struct Options {
    GameConfig game;
    Player* player = nullptr;  ///< nullptr: a person plays. Must outlive the session.
    std::function<std::uint64_t()> next_seed;
    std::int64_t episodes = 0;   ///< The session is over after so many; 0 never.
    double speed = 1.0;          ///< kLeastSpeed .. kMostSpeed, or kFastest.
    bool waits_for_key = false;  ///< Each episode starts with the first key of the game that is held.
    bool waits_at_end = false;   ///< The next episode begins on demand alone.
    /// Called once for each episode that ends; the lines it returns are shown with the result.
    std::function<std::vector<std::string>(const EpisodeReport&)> on_episode_end;
  };

  /// Begins the first episode.
  explicit Session(Options options);

  /// Lets `nanoseconds` pass. At most until `deadline` on MonotonicNanoseconds(): ticks that are then still
  /// due are dropped, and the game is as slow as it must be.
  void Advance(std::int64_t nanoseconds, std::int64_t deadline);
  /// Exactly `ticks`, a fraction included, whatever the speed: for recording. Allowed while paused.
  void AdvanceTicks(double ticks);

  // What a person can do.
  void TogglePause();
  void StepOnce();  ///< Pauses, and plays one step.
  void Faster();
  void Slower();
  void Restart();      ///< The same episode again, from its seed.
  void NextEpisode();  ///< Starts one with the next seed, unless all have been played.
  bool ToggleHand();   ///< Takes over or gives back; false where that isn't possible.
  void KeyDown(std::string_view key);
  void KeyUp(std::string_view key);
  void ReleaseAllKeys();
  /// Whether a key with this name means something to the game while it is played by hand.
  bool IsGameKey(std::string_view key) const;

  // What there is to see.
  const GameSpec& spec() const { return environment_.game().spec(); }
  const Game& game() const { return environment_.game(); }
  /// The picture at this moment; valid until the session is used again.
  const DrawList& picture();
  /// What lies over the picture: a lap counter, a clock.
  const DrawList& overlay();
  /// What the player senses.
  const DrawList& senses();
  /// Where a close-up looks at this moment; empty where the game has none.
  std::optional<CloseUp> close_up() const;

  bool over() const { return over_; }  ///< All episodes were played and shown.
  bool paused() const { return paused_; }
  bool by_hand() const { return by_hand_; }
  bool can_be_taken_over() const;
  bool waiting_for_key() const { return waiting_for_key_; }
  bool episode_ended() const { return ended_; }
  const std::string& ending() const { return ending_; }
  const std::vector<std::string>& result_lines() const { return result_lines_; }
  double speed() const { return speed_; }
  std::int64_t episode() const { return episode_; }  ///< From 1.
  std::int64_t episodes() const { return options_.episodes; }
  std::int64_t steps() const { return environment_.steps(); }
  std::uint64_t seed() const { return seed_; }
  double episode_return() const { return return_; }
  const Decision& decision() const { return decision_; }
  bool decided_by_hand() const { return decided_by_hand_; }
  /// Of the state before the last step, one for each action; meaningful with decision().has_q_values.
  std::span<const float> q_values() const { return q_values_; }
  const Player* player() const { return options_.player; }
  std::int64_t ticks() const { return ticks_; }  ///< Simulated and shown, over all episodes.
  /// The same, and those during which a result was shown: what the clock brought.
  std::int64_t passed_ticks() const { return passed_ticks_; }
  /// Whether nothing will move until a person does something.
  bool idle() const {
    return over_ || paused_ || waiting_for_key_ || (ended_ && options_.waits_at_end && hold_ticks_ > 0.0);
  }
  /// Changes whenever something that is shown does.
  std::uint64_t version() const { return version_; }

  /// One entry a decision: the last kHistorySeconds of the episode.
  static constexpr double kHistorySeconds = 10.0;
  struct Moment {
    float value = 0.0f;  ///< Largest Q-value, or the return so far where there are none.
    float low = 0.0f;    ///< Least and greatest Q-value.
    float high = 0.0f;
  };
  std::size_t history_size() const;
  const Moment& history(std::size_t index) const;  ///< 0 is the oldest.
  std::size_t history_capacity() const { return history_.size(); }

 private:
  void BeginEpisode(std::uint64_t seed);
  void Tick();
  void Decide();
  void EndEpisode();
  int ActionByHand();
  float Share() const;
  void Touch() { ++version_; }

  const Options options_;
  TimeLimit environment_;
  Recorder recorder_;
  std::vector<float> observation_;
  std::vector<float> q_values_;
  std::vector<Moment> history_;
  std::int64_t moments_ = 0;  // of this episode

  double due_ = 0.0;  // ticks, less than one between calls
  int tick_ = 0;      // of the step in hand that were shown, 1 .. ticks_per_step
  bool has_step_ = false;
  double hold_ticks_ = 0.0;        // that the result will still be shown
  std::int64_t steps_wanted_ = 0;  // while paused
  std::int64_t ticks_ = 0;
  std::int64_t passed_ticks_ = 0;
  std::uint64_t version_ = 1;

  double speed_;
  bool over_ = false;
  bool paused_ = false;
  bool by_hand_ = false;
  bool waiting_for_key_ = false;
  bool touched_by_hand_ = false;  // this episode
  std::int64_t episode_ = 0;
  std::uint64_t seed_ = 0;
  double return_ = 0.0;
  bool ended_ = false;
  std::string ending_;
  std::vector<std::string> result_lines_;
  Decision decision_;
  bool decided_by_hand_ = false;

  struct Key {
    std::string name;
    bool held = false;
    bool pressed = false;    // since the last decision, so that a short press isn't lost
    std::int64_t order = 0;  // of its last press
  };
  std::vector<Key> keys_;  // every key of the game's actions
  std::int64_t presses_ = 0;
  int last_action_by_hand_ = 0;

  DrawList before_, after_, shown_;
  std::uint64_t shown_version_ = 0;
  std::optional<CloseUp> close_up_before_, close_up_after_;
  DrawList overlay_, senses_;
};

}  // namespace metronome

#endif  // METRONOME_VIEWER_SESSION_H_
