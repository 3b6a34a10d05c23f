#include "metronome/viewer/film.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/stop_signal.h"
#include "viewer/canvas.h"
#include "viewer/frame.h"
#include "viewer/png_file.h"

extern char** environ;

namespace metronome {
namespace {

namespace fs = std::filesystem;

constexpr double kFramesPerSecond = 60.0;
constexpr double kGifFramesPerSecond = 25.0;  // a GIF counts in hundredths of a second

[[noreturn]] void Fail(const fs::path& path, const std::string& why) {
  throw Error(ExitCode::kInputOutput, "--record " + path.string() + ": " + why);
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

bool NeedsFfmpeg(const fs::path& path) {
  const std::string extension = Lower(path.extension().string());
  return extension == ".mp4" || extension == ".gif";
}

bool IsGif(const fs::path& path) { return Lower(path.extension().string()) == ".gif"; }

/// The ffmpeg program in PATH; empty where there is none.
std::optional<fs::path> FindFfmpeg() {
  const char* const variable = std::getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const fs::path candidate = fs::path(rest.substr(0, colon)) / "ffmpeg";
    std::error_code unused;
    if (fs::is_regular_file(candidate, unused) && access(candidate.c_str(), X_OK) == 0) return candidate;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

/// Where the frames of a film go.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void Add(const Canvas& canvas) = 0;
  virtual void Finish() = 0;
};

class PngFolder : public FrameSink {
 public:
  explicit PngFolder(const fs::path& path) : folder_(path) {}

  void Add(const Canvas& canvas) override {
    std::array<char, 32> name;
    std::snprintf(name.data(), name.size(), "frame-%06lld.png", static_cast<long long>(++count_));
    const fs::path path = folder_.path() / name.data();
    const std::string bytes = EncodePng(canvas, PngEffort::kFast);
    // The folder is brought to the disk as a whole, by Commit().
    AppendFile file(path);
    file.Append(bytes);
    file.Flush();
  }
  void Finish() override { folder_.Commit(); }

 private:
  WholeFolder folder_;
  std::int64_t count_ = 0;
};

/// Raw frames into the ffmpeg program, which writes under a temporary name beside the film's own.
class FfmpegPipe : public FrameSink {
 public:
  FfmpegPipe(const fs::path& path, int width, int height)
      : path_(path),
        temporary_(path.parent_path() / (std::string(WholeFolder::kTemporaryPrefix) +
                                         std::to_string(getpid()) + "-" + path.filename().string())) {
    const std::optional<fs::path> program = FindFfmpeg();
    if (!program) Fail(path, "the ffmpeg program is not in PATH");
    std::array<char, 64> size;
    std::snprintf(size.data(), size.size(), "%dx%d", width, height);
    std::array<char, 32> rate;
    std::snprintf(rate.data(), rate.size(), "%g", FramesPerSecond(path));
    const std::string output = fs::absolute(temporary_).string();
    std::vector<std::string> arguments = {
        program->string(), "-nostdin", "-loglevel", "error",      "-y",        "-f", "rawvideo", "-pix_fmt",
        "rgb24",           "-s",       size.data(), "-framerate", rate.data(), "-i", "pipe:0"};
    if (IsGif(path)) {
      // One palette made for this film, instead of a general one.
      arguments.insert(
          arguments.end(),
          {"-filter_complex", "split[a][b];[a]palettegen=stats_mode=diff[p];[b][p]paletteuse=dither=none",
           "-f", "gif"});
    } else {
      arguments.insert(arguments.end(), {"-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4"});
    }
    arguments.push_back(output);
    Start(arguments);
    row_.resize(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  }

  ~FfmpegPipe() override {
    Close(input_);
    if (child_ > 0) {
      kill(child_, SIGKILL);
      WaitForChild();
    }
    Close(messages_);
    std::error_code unused;
    fs::remove(temporary_, unused);
  }

  void Add(const Canvas& canvas) override {
    std::uint8_t* out = row_.data();
    for (const std::uint32_t pixel : canvas.pixels()) {
      out[0] = static_cast<std::uint8_t>(pixel >> 16);
      out[1] = static_cast<std::uint8_t>(pixel >> 8);
      out[2] = static_cast<std::uint8_t>(pixel);
      out += 3;
    }
    for (std::size_t done = 0; done < row_.size();) {
      const ssize_t written = write(input_, row_.data() + done, row_.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) FailWithMessages();  // it ended early
      done += static_cast<std::size_t>(written);
    }
  }

  void Finish() override {
    Close(input_);
    const int status = WaitForChild();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) FailWithMessages();
    std::error_code error;
    fs::rename(temporary_, path_, error);
    if (error) Fail(path_, "can't be given its name: " + error.message());
  }

 private:
  void Start(const std::vector<std::string>& arguments) {
    std::array<int, 2> input;
    std::array<int, 2> messages;
    if (pipe(input.data()) != 0) Fail(path_, std::string("no pipe to ffmpeg: ") + std::strerror(errno));
    input_ = input[1];
    if (pipe(messages.data()) != 0) {
      close(input[0]);
      Fail(path_, std::string("no pipe to ffmpeg: ") + std::strerror(errno));
    }
    messages_ = messages[0];
    // The child keeps neither end of ours.
    fcntl(input_, F_SETFD, FD_CLOEXEC);
    fcntl(messages_, F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, messages[1], 2);
    posix_spawn_file_actions_addclose(&actions, input[0]);
    posix_spawn_file_actions_addclose(&actions, messages[1]);
    // Ctrl-C in a terminal goes to both of us: ffmpeg in a group of its own is left to us to end.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    const int error = posix_spawn(&child_, pointers[0], &actions, &attributes, pointers.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(messages[1]);
    if (error != 0) {
      child_ = -1;
      Close(input_);
      Close(messages_);
      Fail(path_, "can't start " + arguments[0] + ": " + std::strerror(error));
    }
  }

  int WaitForChild() {
    int status = 0;
    while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    return status;
  }

  [[noreturn]] void FailWithMessages() {
    Close(input_);
    if (child_ > 0) WaitForChild();
    std::string text;
    std::array<char, 4096> bytes;
    for (ssize_t count = 0; (count = read(messages_, bytes.data(), bytes.size())) > 0;) {
      text.append(bytes.data(), static_cast<std::size_t>(count));
    }
    std::string line = text.substr(0, text.find('\n'));
    if (line.empty()) line = "it gives no reason";
    Fail(path_, "ffmpeg failed: " + line);
  }

  static void Close(int& descriptor) {
    if (descriptor >= 0) close(descriptor);
    descriptor = -1;
  }

  const fs::path path_;
  const fs::path temporary_;
  std::vector<std::uint8_t> row_;
  pid_t child_ = -1;
  int input_ = -1;
  int messages_ = -1;
};

}  // namespace

double FramesPerSecond(const fs::path& path) { return IsGif(path) ? kGifFramesPerSecond : kFramesPerSecond; }

void CheckFilmPath(const fs::path& path) {
  if (path.empty() || path.filename().empty()) {
    throw Error(ExitCode::kUsage, "--record: found \"" + path.string() +
                                      "\", must be FILE.mp4, FILE.gif or a folder for PNG pictures");
  }
  const std::string extension = Lower(path.extension().string());
  for (const std::string_view other : {".png", ".avi", ".mkv", ".mov", ".webm", ".webp", ".jpg", ".jpeg"}) {
    if (extension == other) {
      throw Error(ExitCode::kUsage, "--record: found \"" + path.string() +
                                        "\", must be FILE.mp4, FILE.gif or a folder for PNG pictures");
    }
  }
  std::error_code unused;
  if (fs::exists(fs::symlink_status(path, unused))) {
    throw Error(ExitCode::kUsage, "--record " + path.string() + ": exists already; nothing is overwritten");
  }
  const fs::path parent = path.parent_path();
  if (!parent.empty() && !fs::is_directory(parent, unused)) {
    Fail(path, "there is no folder " + parent.string());
  }
  if (NeedsFfmpeg(path) && !FindFfmpeg()) {
    Fail(path, "needs the ffmpeg program, which is not in PATH; a folder of PNG pictures needs none");
  }
}

std::int64_t Film(Session& session, const FilmOptions& options) {
  METRONOME_CHECK(options.width > 0 && options.width % 2 == 0);
  METRONOME_CHECK(options.height > 0 && options.height % 2 == 0);
  METRONOME_CHECK(options.speed > 0.0 && options.speed < Session::kFastest);
  CheckFilmPath(options.path);
  std::unique_ptr<FrameSink> sink;
  if (NeedsFfmpeg(options.path)) {
    sink = std::make_unique<FfmpegPipe>(options.path, options.width, options.height);
  } else {
    sink = std::make_unique<PngFolder>(options.path);
  }
  Canvas canvas(options.width, options.height);
  FramePainter painter;
  ViewOptions view;
  view.close_up = options.close_up;
  view.senses = options.senses;
  const double ticks = session.spec().tick_rate_hz * options.speed / FramesPerSecond(options.path);
  std::int64_t frames = 0;
  while (!session.over()) {
    if (StopSignal::received() != 0) return 0;
    painter.Paint(session, view, canvas);
    sink->Add(canvas);
    ++frames;
    session.AdvanceTicks(ticks);
  }
  sink->Finish();
  return frames;
}

}  // namespace metronome
