#include "viewer/frame.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include "metronome/core/file.h"
#include "metronome/core/memory.h"
#include "support/allocation_counter.h"
#include "viewer/fake_player.h"
#include "viewer/png_file.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int64_t>::max();

void Pass(Session& session, int frames) {
  for (int i = 0; i < frames; ++i) session.Advance(kSecond / 60, kNoDeadline);
}

/// A known state of each game: random actions from seed 1 for two and a half seconds.
class GoldenPictureTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenPictureTest, LooksAsItsStoredPicture) {
  FakePlayer player(FakePlayer::kRandom);
  Session session(SessionOf(GetParam(), &player));
  session.StepOnce();
  for (int i = 0; i < 12; ++i) {
    session.StepOnce();
    session.Advance(0, kNoDeadline);
  }
  ViewOptions view;
  view.senses = true;
  Canvas canvas(640, 400);
  FramePainter painter;
  painter.Paint(session, view, canvas);

  const fs::path golden = fs::path(METRONOME_SOURCE_DIR) / "tests/golden/pictures" / (GetParam() + ".png");
  const fs::path actual = fs::path(METRONOME_BINARY_DIR) / (GetParam() + ".png");
  WritePng(canvas, actual);
  const std::string what = "if " + actual.string() + " is as it should be, copy it over " + golden.string();
  ASSERT_TRUE(fs::exists(golden)) << what;
  const Canvas stored = DecodePng(ReadFile(golden), golden.string());
  ASSERT_EQ(stored.width(), canvas.width()) << what;
  ASSERT_EQ(stored.height(), canvas.height()) << what;
  // Another compiler may round an edge by a level or two; a shape that is missing changes hundreds of pixels.
  int differing = 0;
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) {
      const Color a = canvas.At(x, y);
      const Color b = stored.At(x, y);
      const int most =
          std::max({std::abs(a.red - b.red), std::abs(a.green - b.green), std::abs(a.blue - b.blue)});
      if (most > 12) ++differing;
    }
  }
  EXPECT_LE(differing, 25) << "pixels differ; " << what;
}

std::vector<std::string> GameNames() {
  std::vector<std::string> names;
  for (const GameInfo& info : Games()) names.push_back(info.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllGames, GoldenPictureTest, ::testing::ValuesIn(GameNames()),
                         [](const auto& parameter) { return parameter.param; });

TEST(FramePainterTest, PaintsAtAnySize) {
  FakePlayer player(FakePlayer::kRandom);
  Session session(SessionOf("racer", &player));
  Pass(session, 120);
  for (const auto& [width, height] : {std::pair{1, 1},
                                      {2, 900},
                                      {900, 3},
                                      {241, 180},
                                      {320, 200},
                                      {1000, 300},
                                      {300, 1000},
                                      {2560, 1600}}) {
    Canvas canvas(width, height);
    FramePainter painter;
    ViewOptions view;
    view.help = true;
    view.notice = "A notice that is too long for many of these windows, whatever the size of its letters is";
    for (const bool close_up : {false, true}) {
      view.close_up = close_up;
      painter.Paint(session, view, canvas);
    }
  }
}

TEST(FramePainterTest, EveryViewOptionShows) {
  FakePlayer player(FakePlayer::kRandom);
  Session session(SessionOf("racer", &player));
  Pass(session, 120);
  const auto paint = [&](const ViewOptions& view) {
    Canvas canvas(640, 400);
    FramePainter().Paint(session, view, canvas);
    return EncodePng(canvas, PngEffort::kFast);
  };
  ViewOptions plain;
  const std::string before = paint(plain);
  EXPECT_EQ(paint(plain), before);
  ViewOptions view = plain;
  view.panel = false;
  EXPECT_NE(paint(view), before);
  view = plain;
  view.help = true;
  EXPECT_NE(paint(view), before);
  view = plain;
  view.senses = true;
  EXPECT_NE(paint(view), before);
  view = plain;
  view.close_up = false;
  EXPECT_NE(paint(view), before);
  view = plain;
  view.notice = "Saved";
  EXPECT_NE(paint(view), before);
}

TEST(FramePainterTest, NothingIsAllocatedOnceAllHasBeenPainted) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  FakePlayer player(3);
  Session session(SessionOf("racer", &player));
  Canvas canvas(320, 240);
  FramePainter painter;
  ViewOptions view;
  const auto episode = [&] {
    session.Restart();
    for (int i = 0; i < 300; ++i) {
      session.Advance(kSecond / 60, kNoDeadline);
      painter.Paint(session, view, canvas);
    }
  };
  episode();
  const AllocationScope scope;
  episode();
  // A player's name is a string, but a short one.
  EXPECT_EQ(scope.count(), 0);
}

}  // namespace
}  // namespace metronome
