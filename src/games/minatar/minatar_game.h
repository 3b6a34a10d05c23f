#ifndef METRONOME_GAMES_MINATAR_MINATAR_GAME_H_
#define METRONOME_GAMES_MINATAR_MINATAR_GAME_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "games/minatar/cell_set.h"
#include "games/minatar/chance.h"
#include "metronome/core/hash.h"
#include "metronome/games/game.h"
#include "metronome/games/registry.h"

namespace metronome {

/// The six actions, in their order. A game that has no use for one takes it as kNone.
enum class MinatarAction : std::uint8_t { kNone, kLeft, kUp, kRight, kDown, kFire };

/// Settings that all five games share.
struct MinatarOptions {
  double sticky_action_probability = 0.1;
  bool difficulty_ramping = true;
};

/// What one of the five games is, for the part that they share.
struct MinatarDescription {
  std::string name;
  std::vector<std::string> channels;               ///< Of the observation, each (10, 10) of 0 and 1.
  std::span<const MinatarAction> minimal_actions;  ///< Those that it has a use for.
  bool ramps = false;                              ///< It has the parameter difficulty_ramping.
  double steps_per_second = 12.0;                  ///< When shown to a person.
  std::int64_t default_max_episode_steps = 0;
};

/// What the five MinAtar games share: sticky actions, the two sets of actions, the parameters and the form of
/// the observation.
///
/// Source
///   K. Young and T. Tian 2019, "MinAtar: An Atari-Inspired Testbed for Thorough and Reproducible
///   Reinforcement Learning Experiments", arXiv:1903.03176. Written from a description of the rules, version
///   1.0.15, without the original's code; tests/golden/traces holds episodes that the original played.
///
/// Sticky actions
///   Each step draws a uniform number; below sticky_action_probability the game executes the action that it
///   executed last instead of the one asked for. Nothing was executed before an episode's first step, so that
///   counts as action 0. (The original carries its last action over into the next episode; here an episode
///   follows from its seed alone. BeginOriginal() does as the original does.)
///
/// The end
///   What ends an episode never cuts a step short: the rest of the step runs, earns and shows.
class MinatarGame : public Game {
 public:
  const GameSpec& spec() const final { return spec_; }
  void Reset(std::uint64_t seed) final;
  StepResult Step(int action) final;
  std::uint64_t StateHash() const final;

  // For comparison with the original, whose environment outlives its episodes.

  /// Borrowed outcomes in place of the random stream's; nullptr goes back.
  void set_script(ChanceScript* script) { chance_.set_script(script); }
  void set_options(const MinatarOptions& options) { options_ = options; }
  /// A new episode that leaves the last executed action alone.
  void BeginOriginal();
  /// One step; also after the end, where the draw for stickiness is still made and the rest does nothing.
  StepResult StepOriginal(MinatarAction action);
  MinatarAction last_action() const { return last_action_; }

 protected:
  MinatarGame(MinatarDescription description, const GameParameters& parameters);

  /// The game's own part of Reset(); draws what the rules say.
  virtual void Begin() = 0;
  /// The game's own part of a step, an episode being under way: the reward. Calls Terminate() at its end.
  virtual int Advance(MinatarAction action) = 0;
  /// Adds what a later step reads of the game's own.
  virtual void Hash(StateHasher& hasher) const = 0;

  void Terminate() { terminated_ = true; }
  bool terminated() const { return terminated_; }
  bool ramping() const { return options_.difficulty_ramping; }
  /// The picture's strip above the board, with a bar where `bar_name` is not empty, full at 1.
  void DrawScore(DrawList& out, std::string_view bar_name, float bar) const;
  Chance& chance() { return chance_; }

 private:
  GameSpec spec_;
  std::vector<MinatarAction> actions_;  // what each action of the spec is
  MinatarOptions options_;
  Chance chance_;
  MinatarAction last_action_ = MinatarAction::kNone;  // as executed
  bool terminated_ = true;
  // For the picture alone.
  int score_ = 0;       // sum of the episode's rewards
  bool stuck_ = false;  // the last action executed was not the one asked for
};

/// The parameters of a game: sticky_action_probability, difficulty_ramping where it ramps, minimal_actions.
std::vector<ParameterSpec> MinatarParameters(bool ramps, std::span<const MinatarAction> minimal_actions);

/// Fills in an observation of zeros and ones, (channels, 10, 10).
class CellWriter {
 public:
  /// All zeros. Checks the size of `out`.
  CellWriter(std::span<float> out, int channels);

  void Set(int channel, int row, int column) {
    data_[CellSet::kCells * channel + CellSet::kSide * row + column] = 1.0f;
  }
  void Set(int channel, CellSet cells) {
    float* const plane = data_ + CellSet::kCells * channel;
    cells.ForEach([plane](int cell) { plane[cell] = 1.0f; });
  }

 private:
  float* data_;
};

}  // namespace metronome

#endif  // METRONOME_GAMES_MINATAR_MINATAR_GAME_H_
