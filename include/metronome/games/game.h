#ifndef METRONOME_GAMES_GAME_H_
#define METRONOME_GAMES_GAME_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metronome/games/draw_list.h"

namespace metronome {

/// How one element of an observation is kept in the replay buffer.
enum class ElementType {
  kFloat32,  ///< Any float; four bytes.
  kUint8,    ///< Whole numbers 0 .. 255, one byte: board-like games.
};

/// One element of a vector observation, or one channel of a grid.
struct ObservationFeature {
  std::string name;  ///< With its unit where it has one: "speed, m/s".
  double low = 0.0;  ///< The least and greatest value that can occur; infinite where there is no bound.
  double high = 1.0;
};

/// What the network sees. A vector has the shape (N) and N features; a grid (C, H, W), row-major, and C.
struct ObservationSpec {
  ElementType type = ElementType::kFloat32;
  std::vector<std::int64_t> shape;
  std::vector<ObservationFeature> features;

  bool is_grid() const { return shape.size() == 3; }
  /// Elements in all.
  std::int64_t size() const;
};

/// One of the actions; `keys` are the SDL names of the keys a person holds down for it ("Left", "Up"), none
/// for the action that is taken when no key is held.
struct ActionSpec {
  std::string name;
  std::vector<std::string> keys;
};

/// What holds for a game, whatever the episode.
struct GameSpec {
  std::string name;
  std::vector<ActionSpec> actions;
  ObservationSpec observation;
  double tick_rate_hz = 60.0;                  ///< Simulation ticks a second when shown to a person.
  int ticks_per_step = 1;                      ///< Ticks that one action lasts.
  std::int64_t default_max_episode_steps = 0;  ///< For TimeLimit; 0 is none.
  double draw_width = 1.0;                     ///< Size of the picture that Draw() makes, in cells.
  double draw_height = 1.0;

  int num_actions() const { return static_cast<int>(actions.size()); }
};

/// What one Step() did. Time limits are not the game's business: see TimeLimit.
struct StepResult {
  float reward = 0.0f;      ///< Game points gained by this step; not clipped or scaled.
  bool terminated = false;  ///< The rules ended the episode: nothing is earned afterwards.
};

/// A part of a picture to look at from nearby.
struct CloseUp {
  DrawPoint center;    ///< In cells.
  float width = 0.0f;  ///< Of the part, in cells.
  DrawPoint subject;   ///< What is followed, for a mark on the map; in cells.
};

/// A 2D game advanced in fixed ticks. Reads no clock and no global state and never draws to a screen: a pure
/// function of (parameters, seed, actions), so equal seeds and actions give bit-identical states. One thread
/// per instance. Reset(), Step(), WriteObservation() and StateHash() allocate nothing.
class Game {
 public:
  virtual ~Game() = default;

  virtual const GameSpec& spec() const = 0;

  /// Begins an episode. `seed` fixes all its randomness; nothing of an earlier episode remains.
  virtual void Reset(std::uint64_t seed) = 0;

  /// REQUIRES (checked, aborts): 0 <= action < spec().num_actions(), Reset() was called, and no termination
  /// since.
  virtual StepResult Step(int action) = 0;

  /// Fills `out`, which has spec().observation.size() elements, each within its feature's range.
  virtual void WriteObservation(std::span<float> out) const = 0;

  /// Covers every field that a later Step() reads.
  virtual std::uint64_t StateHash() const = 0;

  /// Appends the present picture to `out`, in cells, origin top left.
  virtual void Draw(DrawList& out) const = 0;

  /// Appends what lies over the picture but not in its world, such as a lap counter: in the same cells, and
  /// in place where a close-up moves.
  virtual void DrawOverlay(DrawList& out) const { static_cast<void>(out); }

  /// Appends what the player senses of the world, such as rays; shown when a person asks for it.
  virtual void DrawSenses(DrawList& out) const { static_cast<void>(out); }

  /// What a close-up shows at present; empty for a game that is looked at as a whole.
  virtual std::optional<CloseUp> close_up() const { return std::nullopt; }
};

/// A readable hand-written player, the yardstick for trained agents. It sees the observation and nothing
/// else.
class ScriptedPolicy {
 public:
  virtual ~ScriptedPolicy() = default;
  /// Called at the start of each episode.
  virtual void Reset() {}
  /// The action for this observation; allocates nothing.
  virtual int Act(std::span<const float> observation) = 0;
};

}  // namespace metronome

#endif  // METRONOME_GAMES_GAME_H_
