#include "metronome/viewer/window.h"

#define SDL_MAIN_HANDLED  // main() is the program's own
#include <SDL.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "metronome/core/clock.h"
#include "metronome/core/error.h"
#include "metronome/core/stop_signal.h"
#include "viewer/canvas.h"
#include "viewer/frame.h"
#include "viewer/png_file.h"

namespace metronome {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;             // ns
constexpr std::int64_t kSecond = 1'000'000'000;              // ns
constexpr std::int64_t kLongestFrame = 250 * kMillisecond;   // more time than this was not watched
constexpr std::int64_t kSimulationTime = 12 * kMillisecond;  // of a frame, at most
constexpr std::int64_t kShortestFrame = 4 * kMillisecond;    // where the screen doesn't hold us up
constexpr std::int64_t kNoticeTime = 3 * kSecond;
constexpr std::int64_t kMeasuringTime = kSecond / 2;  // of the speed that is reached
constexpr int kIdleMilliseconds = 100;                // between looks at stop signals
constexpr int kUsualRefreshHz = 60;
constexpr int kLeastWidth = 240;
constexpr int kLeastHeight = 180;
constexpr int kMostNames = 10'000;  // screenshots of one moment

bool HasNoScreen(std::string_view driver) { return driver == "dummy" || driver == "offscreen"; }

std::string SdlError() {
  const std::string_view error = SDL_GetError();
  return error.empty() ? "SDL gives no reason" : std::string(error.substr(0, error.find('\n')));
}

/// SDL's video part for as long as it lives.
class Video {
 public:
  Video() {
    SDL_SetMainReady();
    // Signals are ours, see StopSignal.
    SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
    SDL_SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1");
#ifdef __linux__
    // Without this variable there is no Wayland, and its library would say so on standard error.
    if (SDL_getenv("XDG_RUNTIME_DIR") == nullptr && SDL_GetHint(SDL_HINT_VIDEODRIVER) == nullptr) {
      SDL_SetHint(SDL_HINT_VIDEODRIVER, "x11,kmsdrm");
    }
#endif
    if (SDL_InitSubSystem(SDL_INIT_VIDEO) != 0) {
      throw Error(ExitCode::kInputOutput,
                  "no screen to open a window on (" + SdlError() + "); watch --record FILE needs none");
    }
    const char* const driver = SDL_GetCurrentVideoDriver();
    const char* const asked = SDL_getenv("SDL_VIDEODRIVER");
    driver_ = driver != nullptr ? driver : "";
    if (HasNoScreen(driver_) && (asked == nullptr || *asked == '\0')) {
      SDL_QuitSubSystem(SDL_INIT_VIDEO);
      throw Error(ExitCode::kInputOutput,
                  "no screen to open a window on; watch --record FILE needs none, and neither does "
                  "SDL_VIDEODRIVER=" +
                      driver_);
    }
  }
  ~Video() { SDL_QuitSubSystem(SDL_INIT_VIDEO); }
  Video(const Video&) = delete;
  Video& operator=(const Video&) = delete;

  const std::string& driver() const { return driver_; }

 private:
  std::string driver_;
};

template <auto kDestroy>
struct Destroyer {
  template <typename T>
  void operator()(T* pointer) const {
    kDestroy(pointer);
  }
};
using WindowPointer = std::unique_ptr<SDL_Window, Destroyer<SDL_DestroyWindow>>;
using RendererPointer = std::unique_ptr<SDL_Renderer, Destroyer<SDL_DestroyRenderer>>;
using TexturePointer = std::unique_ptr<SDL_Texture, Destroyer<SDL_DestroyTexture>>;

}  // namespace

struct Window::Implementation {
  Implementation(Session& the_session, Options the_options)
      : session(the_session), options(std::move(the_options)) {
    view.close_up = options.close_up;
    view.senses = options.senses;
    Open();
  }

  void Say(const std::string& message) const {
    if (options.on_message) options.on_message(message);
  }

  void Open() {
    SDL_Rect bounds;
    int width = options.width;
    int height = options.height;
    if (!HasNoScreen(video.driver()) && SDL_GetDisplayUsableBounds(0, &bounds) == 0 && bounds.w > 0) {
      width = std::min(width, bounds.w);
      height = std::min(height, bounds.h);
    }
    window.reset(SDL_CreateWindow(options.title.c_str(), SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED,
                                  width, height, SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI));
    if (!window) throw Error(ExitCode::kInputOutput, "no window: " + SdlError());
    SDL_SetWindowMinimumSize(window.get(), kLeastWidth, kLeastHeight);
    OpenRenderer();
    if (HasNoScreen(video.driver())) Say("video driver " + video.driver() + ": nothing will be seen");
    SDL_DisplayMode mode;
    if (SDL_GetWindowDisplayMode(window.get(), &mode) == 0 && mode.refresh_rate >= 24 &&
        mode.refresh_rate <= 500) {
      refresh_hz = mode.refresh_rate;
    }
    last_time = measured_time = MonotonicNanoseconds();
    measured_ticks = session.passed_ticks();
  }

  // The best there is: with vsync, without, in software.
  void OpenRenderer() {
    const Uint32 wait = options.vsync ? Uint32{SDL_RENDERER_PRESENTVSYNC} : 0u;
    std::string reason;
    for (const Uint32 flags : {Uint32{SDL_RENDERER_ACCELERATED} | wait, Uint32{SDL_RENDERER_ACCELERATED},
                               Uint32{SDL_RENDERER_SOFTWARE}}) {
      renderer.reset(SDL_CreateRenderer(window.get(), -1, flags));
      if (renderer) break;
      reason = SdlError();
    }
    if (!renderer) throw Error(ExitCode::kInputOutput, "no renderer for the window: " + reason);
    SDL_RendererInfo info;
    if (SDL_GetRendererInfo(renderer.get(), &info) != 0) return;
    vsync = (info.flags & SDL_RENDERER_PRESENTVSYNC) != 0;
    if ((info.flags & SDL_RENDERER_ACCELERATED) == 0) {
      Say("no accelerated renderer" + (reason.empty() ? "" : " (" + reason + ")") + ": showing in software");
    }
    if (options.vsync && !vsync) Say("no vsync: frames are paced by the clock");
  }

  bool Frame() {
    ReadEvents();
    const std::int64_t now = MonotonicNanoseconds();
    std::int64_t elapsed = std::clamp<std::int64_t>(now - last_time, 0, kLongestFrame);
    last_time = now;
    if (closed || StopSignal::received() != 0) return false;
    if (!visible) {
      WaitForEvent(kIdleMilliseconds);
      last_time = MonotonicNanoseconds();
      return !closed && !session.over();
    }
    session.Advance(elapsed, now + kSimulationTime);
    Measure(now);
    if (!view.notice.empty() && now >= notice_until) {
      view.notice.clear();
      dirty = true;
    }
    if (session.over()) return false;
    const bool changed = dirty || session.version() != shown_version;
    if (changed) Show();
    if (session.idle() && !dirty) {
      WaitForEvent(view.notice.empty() ? kIdleMilliseconds : kIdleMilliseconds / 2);
    } else {
      Pace(now);
    }
    return !closed;
  }

  /// Until the next frame is due; an event ends the wait, so that a key is never answered late.
  void Pace(std::int64_t frame_start) {
    if (!options.paced) return;
    const std::int64_t target = vsync ? kShortestFrame : kSecond / refresh_hz;
    const std::int64_t rest = frame_start + target - MonotonicNanoseconds();
    if (rest < kMillisecond / 2) return;
    SDL_Delay(static_cast<Uint32>((rest + kMillisecond / 2) / kMillisecond));
  }

  void Measure(std::int64_t now) {
    if (session.idle()) {
      view.reached_speed = 0.0;
      measured_time = now;
      measured_ticks = session.passed_ticks();
      return;
    }
    if (now - measured_time < kMeasuringTime) return;
    const double seconds = static_cast<double>(now - measured_time) * 1e-9;
    view.reached_speed = static_cast<double>(session.passed_ticks() - measured_ticks) /
                         (seconds * session.spec().tick_rate_hz);
    measured_time = now;
    measured_ticks = session.passed_ticks();
  }

  void Show() {
    int width = 0;
    int height = 0;
    if (SDL_GetRendererOutputSize(renderer.get(), &width, &height) != 0 || width <= 0 || height <= 0) return;
    if (canvas.width() != width || canvas.height() != height || !texture) {
      canvas.Resize(width, height);
      texture.reset(SDL_CreateTexture(renderer.get(), SDL_PIXELFORMAT_ARGB8888, SDL_TEXTUREACCESS_STREAMING,
                                      width, height));
      if (!texture) throw Error(ExitCode::kInputOutput, "no picture of the window's size: " + SdlError());
      SDL_SetTextureBlendMode(texture.get(), SDL_BLENDMODE_NONE);
    }
    painter.Paint(session, view, canvas);
    shown_version = session.version();
    dirty = false;
    SDL_UpdateTexture(texture.get(), nullptr, canvas.pixels().data(),
                      width * static_cast<int>(sizeof(std::uint32_t)));
    SDL_RenderCopy(renderer.get(), texture.get(), nullptr, nullptr);
    SDL_RenderPresent(renderer.get());
  }

  void ReadEvents() {
    SDL_Event event;
    while (SDL_PollEvent(&event) != 0) HandleEvent(event);
  }

  void WaitForEvent(int milliseconds) {
    SDL_Event event;
    if (SDL_WaitEventTimeout(&event, milliseconds) != 0) HandleEvent(event);
  }

  void HandleEvent(const SDL_Event& event) {
    switch (event.type) {
      case SDL_QUIT:
        closed = true;
        break;
      case SDL_WINDOWEVENT:
        HandleWindowEvent(event.window.event);
        break;
      case SDL_RENDER_TARGETS_RESET:
      case SDL_RENDER_DEVICE_RESET:
        texture.reset();
        dirty = true;
        break;
      case SDL_KEYDOWN:
        HandleKey(event.key.keysym, event.key.repeat != 0);
        break;
      case SDL_KEYUP:
        session.KeyUp(SDL_GetKeyName(event.key.keysym.sym));
        break;
      default:
        break;
    }
  }

  void HandleWindowEvent(Uint8 event) {
    switch (event) {
      case SDL_WINDOWEVENT_CLOSE:
        closed = true;
        break;
      case SDL_WINDOWEVENT_MINIMIZED:
      case SDL_WINDOWEVENT_HIDDEN:
        visible = false;
        session.ReleaseAllKeys();
        break;
      case SDL_WINDOWEVENT_RESTORED:
      case SDL_WINDOWEVENT_SHOWN:
      case SDL_WINDOWEVENT_MAXIMIZED:
        visible = true;
        dirty = true;
        break;
      case SDL_WINDOWEVENT_FOCUS_LOST:
        // Keys let go in another window are never told to us.
        session.ReleaseAllKeys();
        break;
      default:
        dirty = true;
        break;
    }
  }

  void HandleKey(const SDL_Keysym& key, bool repeated) {
    const std::string_view name = SDL_GetKeyName(key.sym);
    if (session.by_hand() && !session.episode_ended() && session.IsGameKey(name)) {
      if (!repeated) session.KeyDown(name);
      return;
    }
    if ((key.mod & (KMOD_CTRL | KMOD_ALT | KMOD_GUI)) != 0) return;
    dirty = true;
    switch (key.sym) {
      case SDLK_PERIOD:
        session.StepOnce();
        return;
      case SDLK_PLUS:
      case SDLK_KP_PLUS:
      case SDLK_EQUALS:
        session.Faster();
        return;
      case SDLK_MINUS:
      case SDLK_KP_MINUS:
        session.Slower();
        return;
      default:
        break;
    }
    if (repeated) return;
    switch (key.sym) {
      case SDLK_SPACE:
        session.TogglePause();
        break;
      case SDLK_r:
        session.Restart();
        break;
      case SDLK_n:
      case SDLK_RETURN:
      case SDLK_KP_ENTER:
        session.NextEpisode();
        break;
      case SDLK_t:
        if (!session.ToggleHand()) {
          Notice(session.player() == nullptr ? "You play already" : "A recording can't be taken over");
        } else {
          Notice(session.by_hand() ? "You play; T gives back" : "The player is back");
        }
        break;
      case SDLK_p:
        view.panel = !view.panel;
        break;
      case SDLK_c:
        view.close_up = !view.close_up;
        if (!session.close_up()) Notice("This game has no close-up");
        break;
      case SDLK_v:
        view.senses = !view.senses;
        break;
      case SDLK_f:
        ToggleFullScreen();
        break;
      case SDLK_s:
        Screenshot();
        break;
      case SDLK_h:
      case SDLK_QUESTION:
        view.help = !view.help;
        break;
      case SDLK_SLASH:
        if ((key.mod & KMOD_SHIFT) != 0) view.help = !view.help;
        break;
      case SDLK_ESCAPE:
      case SDLK_q:
        closed = true;
        break;
      default:
        break;
    }
  }

  void ToggleFullScreen() {
    const bool full = (SDL_GetWindowFlags(window.get()) & SDL_WINDOW_FULLSCREEN_DESKTOP) != 0;
    if (SDL_SetWindowFullscreen(window.get(), full ? 0u : Uint32{SDL_WINDOW_FULLSCREEN_DESKTOP}) != 0) {
      Notice("No full screen here: " + SdlError());
    }
  }

  void Screenshot() {
    if (canvas.width() == 0) return;
    const std::string stem = "metronome-" + session.spec().name + "-" + std::to_string(session.seed()) + "-" +
                             std::to_string(session.steps());
    std::filesystem::path path = stem + ".png";
    std::error_code unused;
    for (int i = 2; std::filesystem::exists(path, unused) && i < kMostNames; ++i) {
      path = stem + "-" + std::to_string(i) + ".png";
    }
    try {
      WritePng(canvas, path);
      Notice("Saved " + path.string());
    } catch (const Error& error) {
      Notice(error.what());
    }
  }

  void Notice(const std::string& text) {
    view.notice = text;
    notice_until = MonotonicNanoseconds() + kNoticeTime;
    dirty = true;
  }

  Session& session;
  const Options options;
  const Video video;
  WindowPointer window;
  RendererPointer renderer;
  TexturePointer texture;
  Canvas canvas;
  FramePainter painter;
  ViewOptions view;
  int refresh_hz = kUsualRefreshHz;
  bool vsync = false;
  bool visible = true;
  bool closed = false;
  bool dirty = true;
  std::uint64_t shown_version = 0;
  std::int64_t last_time = 0;
  std::int64_t notice_until = 0;
  std::int64_t measured_time = 0;
  std::int64_t measured_ticks = 0;
};

Window::Window(Session& session, Options options)
    : implementation_(std::make_unique<Implementation>(session, std::move(options))) {}

Window::~Window() = default;

bool Window::Frame() { return implementation_->Frame(); }

int Window::Run() {
  while (Frame()) {
  }
  constexpr int kStoppedBySignal = 128;
  const int signal = StopSignal::received();
  return signal != 0 ? kStoppedBySignal + signal : static_cast<int>(ExitCode::kDone);
}

}  // namespace metronome
