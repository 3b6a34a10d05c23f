#ifndef METRONOME_TESTS_VIEWER_FAKE_PLAYER_H_
#define METRONOME_TESTS_VIEWER_FAKE_PLAYER_H_

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "metronome/core/rng.h"
#include "metronome/viewer/session.h"

namespace metronome {

/// Plays one action, or random ones that follow from the episode's seed; a network of any speed.
class FakePlayer : public Player {
 public:
  static constexpr int kRandom = -2;
  explicit FakePlayer(int action = 0, std::chrono::milliseconds thinking = std::chrono::milliseconds(0))
      : action_(action), thinking_(thinking) {}

  std::string name() const override { return "fake player"; }
  void BeginEpisode(std::uint64_t seed) override {
    ++episodes_begun;
    rng_ = Rng(seed, "fake");
  }
  Decision Decide(std::span<const float>, std::span<float> q_values) override {
    ++decisions;
    if (thinking_.count() > 0) std::this_thread::sleep_for(thinking_);
    for (std::size_t i = 0; i < q_values.size(); ++i) q_values[i] = static_cast<float>(i) + 0.5f;
    const auto count = static_cast<std::int64_t>(q_values.size());
    const int action = action_ == kRandom ? static_cast<int>(rng_.UniformInt(count)) : action_;
    return {.action = action, .random = action_ == kRandom, .has_q_values = true};
  }
  std::optional<std::int64_t> checkpoint_step() const override { return 41'000; }
  std::optional<double> epsilon() const override { return 0.05; }

  int episodes_begun = 0;
  int decisions = 0;

 private:
  const int action_;
  const std::chrono::milliseconds thinking_;
  Rng rng_{0};
};

/// A session of `game` with the seeds 1, 2, 3.
inline Session::Options SessionOf(const std::string& game, Player* player) {
  Session::Options options;
  options.game = MakeGameConfig(game);
  options.player = player;
  options.next_seed = [seed = std::uint64_t{0}]() mutable { return ++seed; };
  return options;
}

}  // namespace metronome

#endif  // METRONOME_TESTS_VIEWER_FAKE_PLAYER_H_
