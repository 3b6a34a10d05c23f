#include "metronome/train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/memory.h"

namespace metronome {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kRedrawPeriod = kSecond / 10;
constexpr std::int64_t kLogPeriod = 5 * kSecond;
constexpr int kBarWidth = 20;
constexpr int kUnknownTerminalWidth = 80;

/// A line of text of bounded length, in memory of its own.
class Line {
 public:
  void Clear() { size_ = 0; }

  [[gnu::format(printf, 2, 3)]] void Add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int written = std::vsnprintf(text_.data() + size_, text_.size() - size_, format, arguments);
    va_end(arguments);
    if (written > 0) {
      size_ = std::min(size_ + static_cast<std::size_t>(written), text_.size() - 1);
    }
  }

  /// 1234567 as 1,234,567.
  void AddCount(std::int64_t count) {
    if (count >= 1000) {
      AddCount(count / 1000);
      Add(",%03" PRId64, count % 1000);
    } else {
      Add("%" PRId64, count);
    }
  }

  void Cut(std::size_t size) { size_ = std::min(size_, size); }
  std::string_view text() const { return {text_.data(), size_}; }

 private:
  std::array<char, 256> text_{};
  std::size_t size_ = 0;
};

void AddDuration(Line& line, double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::min(seconds, 3.6e9)));
  if (whole >= 3600) {
    line.Add("%" PRId64 ":%02" PRId64 ":%02" PRId64, whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    line.Add("%" PRId64 ":%02" PRId64, whole / 60, whole % 60);
  }
}

/// Everything about `status` that is known, on one line.
void Describe(const ProgressStatus& status, bool with_bar, Line& line) {
  const double share =
      status.total_steps > 0
          ? std::clamp(static_cast<double>(status.step) / static_cast<double>(status.total_steps), 0.0, 1.0)
          : 0.0;
  line.Clear();
  if (with_bar) {
    const int filled = static_cast<int>(share * kBarWidth);
    line.Add("[%.*s%.*s] ", filled, "####################", kBarWidth - filled, "--------------------");
  }
  // Rounded down: 100 % is the end and nothing else.
  line.Add("%3d%% step ", static_cast<int>(share * 100.0));
  line.AddCount(status.step);
  line.Add("/");
  line.AddCount(status.total_steps);
  if (status.steps_per_second > 0.0) {
    line.Add("  ");
    line.AddCount(std::llround(status.steps_per_second));
    line.Add(" steps/s  ETA ");
    AddDuration(line, static_cast<double>(status.total_steps - status.step) / status.steps_per_second);
  }
  if (status.mean_return_100) {
    line.Add("  return %.2f", *status.mean_return_100);
  }
  line.Add("  epsilon %.3f  %s", status.epsilon, FormatBytes(status.resident_bytes).c_str());
  line.Add("  episodes ");
  line.AddCount(status.episodes);
  if (status.learning) {
    line.Add("  updates ");
    line.AddCount(status.updates);
  } else {
    line.Add("  filling the replay");
  }
}

/// A terminal that is gone is no reason to stop a run: failures end the writing and nothing else.
void WriteToTerminal(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      return;
    }
    text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

std::unique_ptr<spdlog::formatter> MakeFormatter(const char* pattern) {
  return std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::local, "\n");
}

class FileSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FileSink(const std::filesystem::path& path) : file_(path) {
    set_formatter_(MakeFormatter("%Y-%m-%d %H:%M:%S.%e %l: %v"));
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    text_.clear();
    formatter_->format(message, text_);
    file_.Append({text_.data(), text_.size()});
    file_.Flush();
  }
  void flush_() override { file_.Flush(); }

 private:
  AppendFile file_;
  spdlog::memory_buf_t text_;
};

/// Messages, and below them the live line.
class TerminalSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  TerminalSink(int descriptor, bool with_escapes) : descriptor_(descriptor), with_escapes_(with_escapes) {
    set_formatter_(MakeFormatter("%H:%M:%S %v"));
    out_.reserve(4096);
  }

  /// Draws `line` where the last one stood.
  void DrawLive(std::string_view line) {
    out_.clear();
    EraseLive();
    out_ += line;
    live_.assign(line);
    WriteToTerminal(descriptor_, out_);
  }

  void FinishLive() {
    if (!live_.empty()) {
      WriteToTerminal(descriptor_, "\n");
      live_.clear();
    }
  }

  /// In characters.
  int width() const {
    winsize size{};
    const bool known = ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : kUnknownTerminalWidth;
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    text_.clear();
    formatter_->format(message, text_);
    out_.clear();
    EraseLive();
    const bool is_warning = message.level >= spdlog::level::warn;
    if (is_warning) {
      out_ += with_escapes_ ? "\x1b[33mwarning:\x1b[0m " : "warning: ";
    }
    out_.append(text_.data(), text_.size());
    out_ += live_;
    WriteToTerminal(descriptor_, out_);
  }
  void flush_() override {}

 private:
  void EraseLive() {
    if (live_.empty()) {
      return;
    }
    out_ += '\r';
    if (with_escapes_) {
      out_ += "\x1b[K";
    } else {
      out_.append(live_.size(), ' ');
      out_ += '\r';
    }
  }

  int descriptor_;
  bool with_escapes_;
  std::string live_;  // the live line on the screen, empty for none
  std::string out_;
  spdlog::memory_buf_t text_;
};

bool IsSet(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

struct Progress::Implementation {
  spdlog::logger logger{"metronome"};
  std::shared_ptr<TerminalSink> terminal;
  bool live = false;  // whether there is a live line
  Line line;
  std::string failure;  // what a sink could not do

  void Log(spdlog::level::level_enum level, std::string_view message) {
    logger.log(level, spdlog::string_view_t(message.data(), message.size()));
    // spdlog catches what a sink throws; a log that can't be written is told all the same.
    if (!failure.empty()) {
      throw Error(ExitCode::kInputOutput, std::exchange(failure, std::string()));
    }
  }
};

Progress::Progress(const Options& options)
    : implementation_(std::make_unique<Implementation>()),
      next_show_(std::numeric_limits<std::int64_t>::min()) {
  Implementation& self = *implementation_;
  const char* const kind = std::getenv("TERM");
  const bool dumb = kind == nullptr || std::string_view(kind) == "dumb";
  const bool is_terminal = isatty(options.descriptor) != 0;
  self.live = is_terminal && !options.quiet;
  self.terminal =
      std::make_shared<TerminalSink>(options.descriptor, is_terminal && !dumb && !IsSet("NO_COLOR"));
  if (options.quiet) {
    self.terminal->set_level(spdlog::level::warn);
  }
  self.logger.sinks().push_back(self.terminal);
  if (!options.log_file.empty()) {
    self.logger.sinks().push_back(std::make_shared<FileSink>(options.log_file));
  }
  self.logger.set_error_handler([&self](const std::string& what) { self.failure = what; });
}

Progress::~Progress() = default;

void Progress::Show(const ProgressStatus& status, std::int64_t now_nanoseconds) {
  if (!Due(now_nanoseconds)) {
    return;
  }
  Implementation& self = *implementation_;
  Describe(status, self.live, self.line);
  if (self.live) {
    // The last column stays free: a character there makes some terminals begin a new line.
    self.line.Cut(static_cast<std::size_t>(std::max(self.terminal->width() - 1, 1)));
    self.terminal->DrawLive(self.line.text());
    next_show_ = now_nanoseconds + kRedrawPeriod;
  } else {
    self.Log(spdlog::level::info, self.line.text());
    next_show_ = now_nanoseconds + kLogPeriod;
  }
}

void Progress::Info(std::string_view message) { implementation_->Log(spdlog::level::info, message); }

void Progress::Warn(std::string_view message) { implementation_->Log(spdlog::level::warn, message); }

void Progress::Finish() { implementation_->terminal->FinishLive(); }

}  // namespace metronome
