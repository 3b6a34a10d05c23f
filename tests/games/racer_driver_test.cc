#include "games/racer_driver.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "games/racer.h"
#include "metronome/core/rng.h"

namespace metronome {
namespace {

struct Tally {
  double progress = 0.0;  // mean, m
  double laps = 0.0;      // mean
  int survived = 0;       // tracks on which the time limit came first
};

// Drives each of the tracks for 1000 steps at most. The driver is told the grip that the car has.
Tally Drive(const GameParameters& parameters, std::uint64_t first_seed, int tracks) {
  Racer game(parameters);
  RacerDriver driver(parameters.GetDouble("grip"));
  std::array<float, Racer::kNumFeatures> observation;
  Tally tally;
  for (int track = 0; track < tracks; ++track) {
    game.Reset(first_seed + static_cast<std::uint64_t>(track));
    driver.Reset();
    bool terminated = false;
    for (std::int64_t step = 0; step < Racer::kMaxEpisodeSteps && !terminated; ++step) {
      game.WriteObservation(observation);
      terminated = game.Step(driver.Act(observation)).terminated;
    }
    tally.progress += game.progress() / tracks;
    tally.laps += static_cast<double>(game.laps()) / tracks;
    tally.survived += terminated ? 0 : 1;
  }
  return tally;
}

TEST(RacerDriverTest, StaysOnTheRoadAndFinishesLaps) {
  const Tally tally = Drive(GameParameters(RacerInfo().parameters), 900'000, 100);
  EXPECT_GE(tally.survived, 95);
  EXPECT_GE(tally.progress, 1550.0) << "m in 100 s";
  EXPECT_LE(tally.progress, 1900.0) << "m in 100 s: a yardstick, not a champion; docs quote it";
  EXPECT_GE(tally.laps, 2.8);
}

TEST(RacerDriverTest, AdaptsToOtherCarsAndRoads) {
  for (const auto& [name, value] :
       {std::pair{"grip", 6.0}, std::pair{"grip", 20.0}, std::pair{"engine", 4.0}, std::pair{"engine", 14.0},
        std::pair{"half_width", 5.0}, std::pair{"half_width", 8.0}, std::pair{"ray_range", 60.0}}) {
    GameParameters parameters(RacerInfo().parameters);
    parameters.Set(name, value);
    const Tally tally = Drive(parameters, 910'000, 50);
    EXPECT_GE(tally.survived, 45) << name << " " << value;
    EXPECT_GE(tally.laps, 1.5) << name << " " << value;
  }
}

TEST(RacerDriverTest, IsFarAboveChance) {
  Racer game{GameParameters(RacerInfo().parameters)};
  Rng rng(1);
  double progress = 0.0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    game.Reset(seed);
    for (std::int64_t step = 0; step < Racer::kMaxEpisodeSteps; ++step) {
      if (game.Step(static_cast<int>(rng.UniformInt(Racer::kNumActions))).terminated) break;
    }
    progress += game.progress() / 100;
  }
  EXPECT_LE(progress, 60.0) << "m: what chance gets";
}

}  // namespace
}  // namespace metronome
