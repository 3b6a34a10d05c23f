// The window on SDL's dummy driver, driven by synthetic events, and on a virtual X server.

#include "metronome/viewer/window.h"

#define SDL_MAIN_HANDLED
#include <SDL.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "metronome/core/clock.h"
#include "metronome/core/error.h"
#include "metronome/core/memory.h"
#include "metronome/core/stop_signal.h"
#include "support/temporary_folder.h"
#include "viewer/fake_player.h"
#include "viewer/frame.h"

// Graphics drivers that SDL loads and unloads keep a few blocks, in modules that are gone by the time a
// sanitizer looks for leaks. The tests that load them are not checked for leaks; each test has a process of
// its own.
static bool graphics_drivers_were_loaded = false;
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return graphics_drivers_were_loaded ? 1 : 0; }

namespace metronome {
namespace {

constexpr int kCoast = 0;
constexpr int kGas = 3;

void PushKey(SDL_Keycode key, bool down = true, Uint16 modifiers = 0) {
  SDL_Event event;
  SDL_zero(event);
  event.type = down ? SDL_KEYDOWN : SDL_KEYUP;
  event.key.keysym.sym = key;
  event.key.keysym.mod = modifiers;
  ASSERT_EQ(SDL_PushEvent(&event), 1);
}

void PushWindowEvent(Uint8 what) {
  SDL_Event event;
  SDL_zero(event);
  event.type = SDL_WINDOWEVENT;
  event.window.event = what;
  ASSERT_EQ(SDL_PushEvent(&event), 1);
}

void PushQuit() {
  SDL_Event event;
  SDL_zero(event);
  event.type = SDL_QUIT;
  ASSERT_EQ(SDL_PushEvent(&event), 1);
}

int EventsWaiting() {
  std::array<SDL_Event, 64> events;
  return SDL_PeepEvents(events.data(), static_cast<int>(events.size()), SDL_PEEKEVENT, SDL_FIRSTEVENT,
                        SDL_LASTEVENT);
}

/// Frames for two and a half seconds. Returns how many seconds the session was shown: a frame that takes
/// longer than 250 ms, on a busy machine, counts as that.
double ShowForAWhile(Window& window) {
  constexpr double kLongestFrame = 0.25;
  const std::int64_t start = MonotonicNanoseconds();
  std::int64_t last = start;
  double shown = 0.0;
  while (last - start < 2'500'000'000) {
    EXPECT_TRUE(window.Frame());
    const std::int64_t now = MonotonicNanoseconds();
    shown += std::min(static_cast<double>(now - last) * 1e-9, kLongestFrame);
    last = now;
  }
  return shown;
}

double Seconds(std::int64_t since) { return static_cast<double>(MonotonicNanoseconds() - since) * 1e-9; }

class WindowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("SDL_VIDEODRIVER", "dummy", 1);
    unsetenv("DISPLAY");
    StopSignal::Clear();
  }

  Window::Options Options(bool vsync = true) {
    Window::Options options;
    options.title = "test";
    options.width = 320;
    options.height = 240;
    options.vsync = vsync;
    options.on_message = [this](const std::string& message) { messages_.push_back(message); };
    return options;
  }

  std::vector<std::string> messages_;
};

TEST_F(WindowTest, TicksFollowTheClockWithAndWithoutVsync) {
  for (const bool vsync : {true, false}) {
    for (const double speed : {1.0, 2.0}) {
      FakePlayer player(kCoast);
      Session::Options options = SessionOf("racer", &player);
      options.speed = speed;
      Session session(options);
      Window window(session, Options(vsync));
      ASSERT_TRUE(window.Frame());
      const std::int64_t ticks = session.ticks();
      const double expected = 60.0 * speed * ShowForAWhile(window);
      EXPECT_NEAR(static_cast<double>(session.ticks() - ticks), expected, 0.02 * expected + 3)
          << "vsync " << vsync << ", speed " << speed;
    }
  }
}

TEST_F(WindowTest, SaysOnceWhatItFellBackTo) {
  FakePlayer player;
  Session session(SessionOf("cartpole", &player));
  Window window(session, Options());
  for (int i = 0; i < 5; ++i) window.Frame();
  EXPECT_THAT(messages_, ::testing::Contains("video driver dummy: nothing will be seen"));
  EXPECT_LE(messages_.size(), 3u);
}

TEST_F(WindowTest, KeysDoWhatTheHelpSays) {
  FakePlayer player(kCoast);
  Session session(SessionOf("racer", &player));
  Window window(session, Options());
  const auto press = [&](SDL_Keycode key, Uint16 modifiers = 0) {
    PushKey(key, true, modifiers);
    PushKey(key, false, modifiers);
    return window.Frame();
  };
  ASSERT_TRUE(window.Frame());
  ASSERT_TRUE(press(SDLK_SPACE));
  EXPECT_TRUE(session.paused());
  const std::int64_t steps = session.steps();
  ASSERT_TRUE(press(SDLK_PERIOD));
  ASSERT_TRUE(press(SDLK_PERIOD));
  EXPECT_GE(session.steps(), steps + 1);
  EXPECT_TRUE(session.paused());
  ASSERT_TRUE(press(SDLK_SPACE));
  EXPECT_FALSE(session.paused());
  ASSERT_TRUE(press(SDLK_PLUS));
  EXPECT_EQ(session.speed(), 2.0);
  ASSERT_TRUE(press(SDLK_EQUALS));
  EXPECT_EQ(session.speed(), 4.0);
  ASSERT_TRUE(press(SDLK_MINUS));
  ASSERT_TRUE(press(SDLK_MINUS));
  ASSERT_TRUE(press(SDLK_MINUS));
  EXPECT_EQ(session.speed(), 0.5);
  ASSERT_TRUE(press(SDLK_n));
  EXPECT_EQ(session.episode(), 2);
  ASSERT_TRUE(press(SDLK_RETURN));
  EXPECT_EQ(session.episode(), 3);
  ASSERT_TRUE(press(SDLK_r));
  EXPECT_EQ(session.episode(), 3);
  EXPECT_LE(session.steps(), 1);
  ASSERT_TRUE(press(SDLK_t));
  EXPECT_TRUE(session.by_hand());
  ASSERT_TRUE(press(SDLK_t));
  EXPECT_FALSE(session.by_hand());
  for (const SDL_Keycode key : {SDLK_p, SDLK_c, SDLK_v, SDLK_h, SDLK_QUESTION, SDLK_f, SDLK_F5}) {
    ASSERT_TRUE(press(key));
  }
  ASSERT_TRUE(press(SDLK_q, KMOD_LCTRL)) << "another program's shortcut";
  EXPECT_FALSE(press(SDLK_q));
}

TEST_F(WindowTest, EscapeEndsIt) {
  FakePlayer player;
  Session session(SessionOf("cartpole", &player));
  Window window(session, Options());
  PushKey(SDLK_ESCAPE);
  EXPECT_EQ(window.Run(), 0);
}

TEST_F(WindowTest, AHeldKeyIsLetGoWhenTheWindowLosesFocus) {
  Session session(SessionOf("racer", nullptr));
  Window window(session, Options());
  const auto next = [&] {
    const std::int64_t steps = session.steps();
    while (session.steps() == steps) window.Frame();
    return session.decision().action;
  };
  PushKey(SDLK_UP);
  EXPECT_EQ(next(), kGas);
  EXPECT_EQ(next(), kGas);
  PushWindowEvent(SDL_WINDOWEVENT_FOCUS_LOST);
  window.Frame();
  EXPECT_EQ(next(), kCoast);
}

TEST_F(WindowTest, AScreenshotIsWrittenAndNoneIsOverwritten) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  FakePlayer player;
  Session session(SessionOf("cartpole", &player));
  session.TogglePause();
  Window window(session, Options());
  window.Frame();
  for (int i = 0; i < 2; ++i) {
    PushKey(SDLK_s);
    window.Frame();
  }
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "metronome-cartpole-1-0.png"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "metronome-cartpole-1-0-2.png"));
}

TEST_F(WindowTest, EventsAreReadInEveryFrameWhileTheNetworkIsSlow) {
  FakePlayer player(kCoast, std::chrono::milliseconds(200));
  Session session(SessionOf("racer", &player));
  Window window(session, Options());
  for (int i = 0; i < 4; ++i) {
    PushKey(SDLK_F5);
    ASSERT_TRUE(window.Frame());
    EXPECT_EQ(EventsWaiting(), 0);
  }
  PushQuit();
  const std::int64_t start = MonotonicNanoseconds();
  EXPECT_EQ(window.Run(), 0);
  EXPECT_LT(Seconds(start), 1.0);
}

TEST_F(WindowTest, EventsAreReadWhilePaused) {
  FakePlayer player(kCoast);
  Session session(SessionOf("racer", &player));
  Window window(session, Options());
  session.TogglePause();
  for (int i = 0; i < 4; ++i) {
    PushKey(SDLK_F5);
    ASSERT_TRUE(window.Frame());
    EXPECT_EQ(EventsWaiting(), 0);
  }
  PushQuit();
  const std::int64_t start = MonotonicNanoseconds();
  EXPECT_EQ(window.Run(), 0);
  EXPECT_LT(Seconds(start), 1.0);
}

TEST_F(WindowTest, AMinimisedWindowStandsStillAndUsesAlmostNoProcessor) {
  FakePlayer player(kCoast);
  Session::Options options = SessionOf("racer", &player);
  options.speed = Session::kFastest;
  Session session(options);
  Window window(session, Options());
  window.Frame();
  PushWindowEvent(SDL_WINDOWEVENT_MINIMIZED);
  window.Frame();
  const std::int64_t ticks = session.ticks();
  const std::clock_t processor = std::clock();
  const std::int64_t start = MonotonicNanoseconds();
  while (Seconds(start) < 1.0) ASSERT_TRUE(window.Frame());
  EXPECT_EQ(session.ticks(), ticks);
  EXPECT_LT(static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC, 0.2 * Seconds(start));
  PushWindowEvent(SDL_WINDOWEVENT_RESTORED);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(window.Frame());
  EXPECT_GT(session.ticks(), ticks);
}

TEST_F(WindowTest, ClosesWhileMinimised) {
  FakePlayer player(kCoast);
  Session session(SessionOf("racer", &player));
  Window window(session, Options());
  PushWindowEvent(SDL_WINDOWEVENT_MINIMIZED);
  window.Frame();
  PushWindowEvent(SDL_WINDOWEVENT_CLOSE);
  EXPECT_EQ(window.Run(), 0);
}

TEST_F(WindowTest, ASignalEndsItWithItsCode) {
  for (const int number : {SIGINT, SIGTERM}) {
    StopSignal::Install();
    StopSignal::Clear();
    FakePlayer player(kCoast);
    Session session(SessionOf("racer", &player));
    Window window(session, Options());
    window.Frame();
    raise(number);
    EXPECT_EQ(window.Run(), 128 + number) << "the handler is ours, not SDL's";
    StopSignal::Clear();
  }
}

TEST_F(WindowTest, EndsWithItsSession) {
  FakePlayer player(FakePlayer::kRandom);
  Session::Options options = SessionOf("cartpole", &player);
  options.episodes = 2;
  options.speed = Session::kFastest;
  Session session(options);
  EXPECT_EQ(Window(session, Options()).Run(), 0);
  EXPECT_TRUE(session.over());
}

TEST_F(WindowTest, TenThousandFramesTakeNoMoreMemory) {
  FakePlayer player(kGas);
  Session session(SessionOf("racer", &player));
  Window::Options options = Options(/*vsync=*/false);
  options.paced = false;
  Window window(session, options);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(window.Frame());
  const std::int64_t before = ResidentBytes();
  for (int i = 0; i < 10'000; ++i) {
    if (i % 1000 == 0) session.NextEpisode();
    ASSERT_TRUE(window.Frame());
  }
  EXPECT_LE(ResidentBytes() - before, std::int64_t{2} << 20);
}

TEST_F(WindowTest, WithoutAScreenItSaysSo) {
  FakePlayer player;
  Session session(SessionOf("cartpole", &player));
  setenv("SDL_VIDEODRIVER", "nonsense", 1);
  try {
    const Window window(session, Options());
    FAIL() << "opened a window on nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kInputOutput);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("no screen to open a window on"));
  }
}

TEST_F(WindowTest, TheOffscreenDriverWorks) {
  graphics_drivers_were_loaded = true;
  setenv("SDL_VIDEODRIVER", "offscreen", 1);
  FakePlayer player;
  Session session(SessionOf("cartpole", &player));
  std::optional<Window> window;
  try {
    window.emplace(session, Options());
  } catch (const Error& error) {
    GTEST_SKIP() << "this SDL has no offscreen driver: " << error.what();
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(window->Frame());
}

/// A virtual X server for as long as it lives.
class VirtualScreen {
 public:
  VirtualScreen() {
    std::array<int, 2> ends;
    if (pipe(ends.data()) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      const int quiet = open("/dev/null", O_RDWR);
      dup2(quiet, 1);
      dup2(quiet, 2);
      const std::string descriptor = std::to_string(ends[1]);
      execlp("Xvfb", "Xvfb", "-displayfd", descriptor.c_str(), "-screen", "0", "1024x768x24", "-nolisten",
             "tcp", static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
    char digit = 0;
    while (read(ends[0], &digit, 1) == 1 && digit != '\n') number_ += digit;
    close(ends[0]);
  }
  ~VirtualScreen() {
    if (child_ <= 0) return;
    kill(child_, SIGTERM);
    waitpid(child_, nullptr, 0);
  }
  VirtualScreen(const VirtualScreen&) = delete;
  VirtualScreen& operator=(const VirtualScreen&) = delete;

  bool ready() const { return !number_.empty(); }
  std::string display() const { return ":" + number_; }

 private:
  pid_t child_ = -1;
  std::string number_;
};

TEST_F(WindowTest, AnXServerShowsWhatThePainterPainted) {
  const VirtualScreen screen;
  if (!screen.ready()) GTEST_SKIP() << "no Xvfb program here";
  setenv("DISPLAY", screen.display().c_str(), 1);
  graphics_drivers_were_loaded = true;
  setenv("SDL_VIDEODRIVER", "x11", 1);
  FakePlayer player(kGas);
  Session session(SessionOf("racer", &player));
  session.StepOnce();
  Window window(session, Options());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(window.Frame());
  EXPECT_TRUE(session.paused());

  SDL_Renderer* renderer = nullptr;
  for (Uint32 id = 1; id < 200 && renderer == nullptr; ++id) {
    SDL_Window* const candidate = SDL_GetWindowFromID(id);
    if (candidate != nullptr) renderer = SDL_GetRenderer(candidate);
  }
  ASSERT_NE(renderer, nullptr);
  int width = 0;
  int height = 0;
  ASSERT_EQ(SDL_GetRendererOutputSize(renderer, &width, &height), 0);
  std::vector<std::uint32_t> pixels(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  ASSERT_EQ(SDL_RenderReadPixels(renderer, nullptr, SDL_PIXELFORMAT_ARGB8888, pixels.data(), 4 * width), 0);
  Canvas expected(width, height);
  FramePainter().Paint(session, ViewOptions(), expected);
  std::size_t differing = 0;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if ((pixels[i] & 0xffffffu) != (expected.pixels()[i] & 0xffffffu)) ++differing;
  }
  EXPECT_EQ(differing, 0u);

  session.TogglePause();
  ASSERT_TRUE(window.Frame());
  const std::int64_t ticks = session.ticks();
  const double expected_ticks = 60.0 * ShowForAWhile(window);
  EXPECT_NEAR(static_cast<double>(session.ticks() - ticks), expected_ticks, 0.02 * expected_ticks + 3);
}

}  // namespace
}  // namespace metronome
