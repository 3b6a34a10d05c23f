#include "metronome/viewer/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "metronome/core/clock.h"
#include "metronome/games/recording.h"
#include "viewer/fake_player.h"

namespace metronome {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int64_t>::max();
constexpr int kCoast = 0;  // of racer: the car stands still, and no episode ends before 1000 steps
constexpr int kGas = 3;
constexpr int kGasLeft = 4;
constexpr int kGasRight = 5;

void Pass(Session& session, std::int64_t nanoseconds, std::int64_t frame = kSecond / 60) {
  for (; nanoseconds > 0; nanoseconds -= frame) session.Advance(std::min(frame, nanoseconds), kNoDeadline);
}

TEST(SessionTest, TheClockSetsThePaceAtAnyRefresh) {
  for (const double speed : {1.0, 2.0, 0.5, 20.0}) {
    for (const std::int64_t hz : {24, 30, 60, 75, 120, 144, 500}) {
      FakePlayer player(kCoast);
      Session::Options options = SessionOf("racer", &player);
      options.speed = speed;
      options.game.max_episode_steps = 0;
      Session session(options);
      Pass(session, 10 * kSecond, kSecond / hz);
      EXPECT_NEAR(static_cast<double>(session.ticks()), 600 * speed, 1) << hz << " Hz, speed " << speed;
      EXPECT_EQ(session.steps(), (session.ticks() + 5) / 6);
      EXPECT_EQ(player.decisions, session.steps());
    }
  }
}

TEST(SessionTest, AnIrregularScreenChangesNothing) {
  FakePlayer player(kCoast);
  Session session(SessionOf("racer", &player));
  Rng rng(1);
  std::int64_t passed = 0;
  while (passed < 10 * kSecond) {
    const std::int64_t frame = rng.UniformInt(kSecond / 10);
    session.Advance(frame, kNoDeadline);
    passed += frame;
  }
  EXPECT_NEAR(static_cast<double>(session.ticks()), static_cast<double>(passed) * 60.0 / kSecond, 1);
}

TEST(SessionTest, AnEpisodeEndsTheSameAtEverySpeed) {
  std::vector<std::string> results;
  for (const double speed : {0.1, 1.0, 7.3, 1000.0, Session::kFastest}) {
    FakePlayer player(FakePlayer::kRandom);
    Session::Options options = SessionOf("racer", &player);
    options.speed = speed;
    options.episodes = 2;
    std::string result;
    options.on_episode_end = [&](const EpisodeReport& report) {
      result += std::to_string(report.seed) + " " + std::to_string(report.episode_return) + " " +
                std::to_string(report.length) + " " + report.ending + "; ";
      return std::vector<std::string>();
    };
    Session session(options);
    while (!session.over()) session.Advance(kSecond / 50, kNoDeadline - 1);
    results.push_back(result);
  }
  for (const std::string& result : results) EXPECT_EQ(result, results[0]);
  EXPECT_NE(results[0], "");
}

TEST(SessionTest, WhatCannotBeDoneInTimeIsDropped) {
  FakePlayer player(kCoast);
  Session::Options options = SessionOf("racer", &player);
  options.speed = 1000.0;
  Session session(options);
  session.Advance(kSecond, MonotonicNanoseconds() - 1);  // too late already
  EXPECT_EQ(session.ticks(), 1);
  session.Advance(1, kNoDeadline);
  EXPECT_LE(session.ticks(), 2) << "dropped, not put off";
}

TEST(SessionTest, PausedNothingMovesButStepByStep) {
  FakePlayer player(kGas);
  Session session(SessionOf("racer", &player));
  Pass(session, kSecond);
  session.TogglePause();
  const std::int64_t ticks = session.ticks();
  const std::int64_t steps = session.steps();
  Pass(session, 5 * kSecond);
  EXPECT_EQ(session.ticks(), ticks);
  session.StepOnce();
  Pass(session, kSecond);
  session.StepOnce();
  Pass(session, kSecond);
  EXPECT_LE(session.steps(), steps + 2);
  EXPECT_GE(session.steps(), steps + 1) << "the first may finish the step in hand";
  EXPECT_EQ(session.ticks() % 6, 0);
  EXPECT_TRUE(session.paused());
  session.TogglePause();
  Pass(session, kSecond);
  EXPECT_NEAR(static_cast<double>(session.ticks()), static_cast<double>(6 * steps + 72), 13);
}

TEST(SessionTest, StepOncePausesAGameThatRuns) {
  FakePlayer player;
  Session session(SessionOf("cartpole", &player));
  session.StepOnce();
  Pass(session, kSecond);
  EXPECT_TRUE(session.paused());
  EXPECT_EQ(session.steps(), 1);
}

TEST(SessionTest, SpeedStaysWithinItsBounds) {
  FakePlayer player;
  Session session(SessionOf("cartpole", &player));
  for (int i = 0; i < 20; ++i) session.Slower();
  EXPECT_EQ(session.speed(), 0.1);
  for (int i = 0; i < 20; ++i) session.Faster();
  EXPECT_EQ(session.speed(), Session::kFastest);
  session.Slower();
  EXPECT_EQ(session.speed(), 1000.0);
}

TEST(SessionTest, RestartPlaysTheSameEpisodeAgain) {
  FakePlayer player(FakePlayer::kRandom);
  Session session(SessionOf("racer", &player));
  Pass(session, 3 * kSecond);
  const std::uint64_t hash = session.game().StateHash();
  session.Restart();
  EXPECT_EQ(session.steps(), 0);
  Pass(session, 3 * kSecond);
  EXPECT_EQ(session.game().StateHash(), hash);
  EXPECT_EQ(session.seed(), 1u);
  EXPECT_EQ(session.episode(), 1);
  session.NextEpisode();
  EXPECT_EQ(session.seed(), 2u);
  EXPECT_EQ(session.episode(), 2);
}

TEST(SessionTest, EndsAfterItsEpisodes) {
  FakePlayer player(FakePlayer::kRandom);
  Session::Options options = SessionOf("cartpole", &player);
  options.episodes = 3;
  std::vector<std::int64_t> numbers;
  options.on_episode_end = [&](const EpisodeReport& report) {
    numbers.push_back(report.number);
    EXPECT_EQ(report.seed, static_cast<std::uint64_t>(report.number));
    EXPECT_EQ(report.checkpoint_step, 41'000);
    EXPECT_FALSE(report.by_hand);
    return std::vector<std::string>();
  };
  Session session(options);
  for (int i = 0; i < 100'000 && !session.over(); ++i) session.Advance(kSecond / 60, kNoDeadline);
  EXPECT_TRUE(session.over());
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(SessionTest, TheResultStaysForAWhile) {
  FakePlayer player(0);
  Session session(SessionOf("cartpole", &player));
  while (!session.episode_ended()) session.Advance(kSecond / 100, kNoDeadline);
  Pass(session, kSecond);
  EXPECT_TRUE(session.episode_ended());
  Pass(session, 6 * kSecond / 10);
  EXPECT_FALSE(session.episode_ended());
  EXPECT_EQ(session.episode(), 2);
}

TEST(SessionTest, WhatWasPlayedIsARecordingThatReplays) {
  FakePlayer player(FakePlayer::kRandom);
  Session::Options options = SessionOf("racer", &player);
  options.speed = Session::kFastest;
  options.episodes = 1;
  std::optional<Recording> recording;
  options.on_episode_end = [&](const EpisodeReport& report) {
    recording = *report.recording;
    return std::vector<std::string>();
  };
  Session session(options);
  while (!session.over()) session.Advance(kSecond, kNoDeadline);
  ASSERT_TRUE(recording.has_value());
  EXPECT_EQ(Replay(*recording, "test").game().StateHash(), session.game().StateHash());
}

class HandTest : public ::testing::Test {
 protected:
  int Next(Session& session) {
    const std::int64_t steps = session.steps();
    while (session.steps() == steps) session.Advance(kSecond / 60, kNoDeadline);
    return session.decision().action;
  }
};

TEST_F(HandTest, TheActionIsTheOneWithTheMostKeysHeld) {
  Session session(SessionOf("racer", nullptr));
  EXPECT_EQ(Next(session), kCoast);
  session.KeyDown("Up");
  EXPECT_EQ(Next(session), kGas);
  session.KeyDown("Left");
  EXPECT_EQ(Next(session), kGasLeft);
  session.KeyDown("Right");
  EXPECT_EQ(Next(session), kGasRight) << "of two against each other the last one pressed";
  session.KeyUp("Right");
  EXPECT_EQ(Next(session), kGasLeft);
  session.ReleaseAllKeys();
  EXPECT_EQ(Next(session), kCoast);
}

TEST_F(HandTest, AShortPressIsNotLost) {
  Session session(SessionOf("racer", nullptr));
  Next(session);
  session.KeyDown("Up");
  session.KeyUp("Up");
  EXPECT_EQ(Next(session), kGas);
  EXPECT_EQ(Next(session), kCoast);
}

TEST_F(HandTest, WithoutAnActionForNoKeyTheLastOneGoesOn) {
  Session session(SessionOf("cartpole", nullptr));
  session.KeyDown("Right");
  EXPECT_EQ(Next(session), 1);
  session.KeyUp("Right");
  EXPECT_EQ(Next(session), 1);
  session.KeyDown("Left");
  EXPECT_EQ(Next(session), 0);
}

TEST_F(HandTest, TakesOverAndGivesBack) {
  FakePlayer player(kGas);
  Session::Options options = SessionOf("racer", &player);
  bool by_hand = false;
  options.on_episode_end = [&](const EpisodeReport& report) {
    by_hand = report.by_hand;
    return std::vector<std::string>();
  };
  Session session(options);
  EXPECT_EQ(Next(session), kGas);
  EXPECT_TRUE(session.ToggleHand());
  session.KeyDown("Left");
  EXPECT_EQ(Next(session), 1);
  EXPECT_TRUE(session.decided_by_hand());
  EXPECT_TRUE(session.decision().has_q_values) << "what the network thinks of it is shown all the same";
  EXPECT_TRUE(session.ToggleHand());
  EXPECT_EQ(Next(session), kGas);
  while (!session.episode_ended()) session.Advance(kSecond, kNoDeadline);
  EXPECT_TRUE(by_hand);
}

TEST_F(HandTest, AnEpisodeWaitsForTheFirstKey) {
  Session::Options options = SessionOf("racer", nullptr);
  options.waits_for_key = true;
  options.waits_at_end = true;
  Session session(options);
  Pass(session, 10 * kSecond);
  EXPECT_EQ(session.ticks(), 0);
  EXPECT_TRUE(session.idle());
  session.KeyDown("Up");
  Pass(session, kSecond);
  EXPECT_EQ(session.ticks(), 60);
  while (!session.episode_ended()) session.Advance(kSecond, kNoDeadline);
  Pass(session, 10 * kSecond);
  EXPECT_TRUE(session.episode_ended()) << "and stays at its end";
  session.NextEpisode();
  EXPECT_TRUE(session.waiting_for_key());
}

TEST(SessionTest, ThePictureMovesEvenlyBetweenDecisions) {
  FakePlayer player(kGas);
  Session session(SessionOf("racer", &player));
  Pass(session, 2 * kSecond);
  // The car's way from frame to frame, at 240 frames a second: no frame stands still or leaps.
  DrawPoint last = session.close_up()->center;
  std::vector<double> ways;
  for (int frame = 0; frame < 48; ++frame) {
    session.Advance(kSecond / 240, kNoDeadline);
    const DrawPoint now = session.close_up()->center;
    ways.push_back(std::hypot(static_cast<double>(now.x - last.x), static_cast<double>(now.y - last.y)));
    last = now;
  }
  const auto [least, most] = std::minmax_element(ways.begin(), ways.end());
  EXPECT_GT(*least, 0.5 * *most);
}

TEST(SessionTest, HistoryHoldsTheLastSeconds) {
  FakePlayer player(kCoast);
  Session session(SessionOf("racer", &player));
  EXPECT_EQ(session.history_size(), 0u);
  Pass(session, 30 * kSecond);
  EXPECT_EQ(session.history_size(), 100u) << "ten seconds of ten decisions";
  EXPECT_FLOAT_EQ(session.history(0).value, 8.5f);
  EXPECT_FLOAT_EQ(session.history(99).low, 0.5f);
}

}  // namespace
}  // namespace metronome
