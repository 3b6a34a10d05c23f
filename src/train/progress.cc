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
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
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

constexpr int kWidest = 250;

/// One figure of the line.
struct Field {
  int rank = 0;  // the greatest go first where there is no room for all
  const char* before = "  ";
  Line text;
};

/// The line about a run, put together in fixed memory.
class StatusLine {
 public:
  /// All that is known about `status`, in at most `width` characters: whole figures, the most important ones.
  std::string_view Describe(const ProgressStatus& status, bool with_bar, int width) {
    Collect(status, with_bar);
    for (int rank = kLastRank; Width() > width && rank > 0; --rank) {
      for (Field& field : fields_) {
        if (field.rank == rank) field.text.Clear();
      }
    }
    line_.Clear();
    for (const Field& field : fields_) {
      if (field.text.text().empty()) continue;
      if (!line_.text().empty()) line_.Add("%s", field.before);
      line_.Add("%.*s", static_cast<int>(field.text.text().size()), field.text.text().data());
    }
    line_.Cut(static_cast<std::size_t>(width));
    return line_.text();
  }

 private:
  static constexpr int kLastRank = 10;

  Line& Begin(std::size_t place, int rank, const char* before = "  ") {
    fields_[place].rank = rank;
    fields_[place].before = before;
    return fields_[place].text;
  }

  void Collect(const ProgressStatus& status, bool with_bar) {
    for (Field& field : fields_) field.text.Clear();
    const double share =
        status.total_steps > 0
            ? std::clamp(static_cast<double>(status.step) / static_cast<double>(status.total_steps), 0.0, 1.0)
            : 0.0;
    if (with_bar) {
      const int filled = static_cast<int>(share * kBarWidth);
      Begin(0, 6).Add("[%.*s%.*s]", filled, "####################", kBarWidth - filled,
                      "--------------------");
    }
    // Rounded down: 100 % is the end and nothing else.
    Begin(1, 0, " ").Add("%3d%%", static_cast<int>(share * 100.0));
    Line& steps = Begin(2, 4, " ");
    steps.Add("step ");
    steps.AddCount(status.step);
    steps.Add("/");
    steps.AddCount(status.total_steps);
    if (status.steps_per_second > 0.0) {
      Line& rate = Begin(3, 2);
      rate.AddCount(std::llround(status.steps_per_second));
      rate.Add(" steps/s");
      Line& left = Begin(4, 3);
      left.Add("ETA ");
      AddDuration(left, static_cast<double>(status.total_steps - status.step) / status.steps_per_second);
    }
    if (status.mean_return_100) Begin(5, 1).Add("return %.2f", *status.mean_return_100);
    Begin(6, 7).Add("epsilon %.3f", status.epsilon);
    Begin(7, 8).Add("%s", FormatBytes(status.resident_bytes).c_str());
    Begin(8, 5).Add("%s", Name(status.phase));
    Line& episodes = Begin(9, 9);
    episodes.Add("episodes ");
    episodes.AddCount(status.episodes);
    if (status.updates > 0) {
      Line& updates = Begin(10, 10);
      updates.Add("updates ");
      updates.AddCount(status.updates);
    }
  }

  static const char* Name(RunPhase phase) {
    switch (phase) {
      case RunPhase::kCollecting:
        return "filling the replay";
      case RunPhase::kLearning:
        return "learning";
      case RunPhase::kEvaluating:
        return "evaluating";
      case RunPhase::kSaving:
        return "saving";
    }
    return "";
  }

  int Width() const {
    std::size_t width = 0;
    for (const Field& field : fields_) {
      if (field.text.text().empty()) continue;
      width += (width > 0 ? std::string_view(field.before).size() : 0) + field.text.text().size();
    }
    return static_cast<int>(width);
  }

  std::array<Field, 11> fields_;
  Line line_;
};

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
  FileSink(std::filesystem::path path, std::int64_t most_bytes)
      : path_(std::move(path)), most_bytes_(most_bytes) {
    set_formatter_(MakeFormatter("%Y-%m-%d %H:%M:%S.%e %l: %v"));
    Open();
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!file_) {
      Open();  // which had failed, and must not have the older ones moved once more
    } else if (bytes_ >= most_bytes_) {
      Rotate();
    }
    text_.clear();
    formatter_->format(message, text_);
    file_->Append({text_.data(), text_.size()});
    file_->Flush();
    bytes_ += static_cast<std::int64_t>(text_.size());
  }
  void flush_() override {
    if (file_) file_->Flush();
  }

 private:
  static constexpr int kKept = 3;  // beside the present one

  void Open() {
    file_.emplace(path_);
    std::error_code unknown;  // a device has no size
    const std::uintmax_t size = std::filesystem::file_size(path_, unknown);
    bytes_ = unknown ? 0 : static_cast<std::int64_t>(size);
  }

  /// "log.1.txt" of "log.txt".
  std::filesystem::path Numbered(int number) const {
    return path_.parent_path() /
           (path_.stem().string() + "." + std::to_string(number) + path_.extension().string());
  }

  void Rotate() {
    file_.reset();
    std::error_code absent;  // not every number is there yet; what can't be moved is told by Open() at last
    for (int number = kKept - 1; number >= 1; --number) {
      std::filesystem::rename(Numbered(number), Numbered(number + 1), absent);
    }
    std::filesystem::rename(path_, Numbered(1), absent);
    Open();
  }

  const std::filesystem::path path_;
  const std::int64_t most_bytes_;
  std::optional<AppendFile> file_;
  std::int64_t bytes_ = 0;
  spdlog::memory_buf_t text_;
};

/// Messages, and below them the live line.
class TerminalSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  TerminalSink(int descriptor, bool with_escapes) : descriptor_(descriptor), with_escapes_(with_escapes) {
    set_formatter_(MakeFormatter("%H:%M:%S %v"));
    out_.reserve(4096);
    live_.reserve(kWidest);
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
  int width() const { return TerminalWidth(descriptor_); }

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
    const auto columns = static_cast<std::size_t>(width());
    if (!with_escapes_) {
      out_ += '\r';
      out_.append(std::min(live_.size(), columns - 1), ' ');
      out_ += '\r';
      return;
    }
    // A terminal that has become narrower shows the line in several rows, the cursor in the last of them.
    const std::size_t rows = (live_.size() + columns - 1) / columns;
    if (rows > 1) {
      out_ += "\x1b[";
      out_ += std::to_string(rows - 1);
      out_ += 'A';
    }
    out_ += rows > 1 ? "\r\x1b[J" : "\r\x1b[K";
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

std::string DescribeProgress(const ProgressStatus& status, bool with_bar, int width) {
  StatusLine line;
  return std::string(line.Describe(status, with_bar, std::clamp(width, 1, kWidest)));
}

bool TerminalTakesEscapes(int descriptor) {
  const char* const kind = std::getenv("TERM");
  const bool dumb = kind == nullptr || std::string_view(kind) == "dumb";
  return isatty(descriptor) != 0 && !dumb && !IsSet("NO_COLOR");
}

int TerminalWidth(int descriptor) {
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUnknownTerminalWidth;
}

struct Progress::Implementation {
  spdlog::logger logger{"metronome"};
  std::shared_ptr<TerminalSink> terminal;
  bool live = false;  // whether there is a live line
  bool debug = false;
  StatusLine line;
  std::string failure;  // what a sink could not do
  bool stop_on_error = false;
  bool told = false;  // that the log file can't be written

  void DrawLive(const ProgressStatus& status) {
    // The last column stays free: a character there makes some terminals begin a new line.
    const int width = std::clamp(terminal->width() - 1, 1, kWidest);
    terminal->DrawLive(line.Describe(status, true, width));
  }

  void Log(spdlog::level::level_enum level, std::string_view message) {
    logger.log(level, spdlog::string_view_t(message.data(), message.size()));
    // spdlog catches what a sink throws; a log that can't be written is told all the same.
    if (failure.empty()) {
      return;
    }
    const std::string reason = std::exchange(failure, std::string());
    if (stop_on_error) {
      throw Error(ExitCode::kInputOutput, reason);
    }
    if (!std::exchange(told, true)) {
      const std::string told_once = reason + "; the run goes on";
      terminal->log(spdlog::details::log_msg(logger.name(), spdlog::level::warn, told_once));
    }
  }
};

Progress::Progress(const Options& options)
    : implementation_(std::make_unique<Implementation>()),
      next_show_(std::numeric_limits<std::int64_t>::min()) {
  Implementation& self = *implementation_;
  const bool is_terminal = isatty(options.descriptor) != 0;
  self.live = is_terminal && options.level <= LogLevel::kInfo;
  self.debug = options.level == LogLevel::kDebug;
  self.stop_on_error = options.stop_on_error;
  self.terminal =
      std::make_shared<TerminalSink>(options.descriptor, TerminalTakesEscapes(options.descriptor));
  constexpr std::array kLevels = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                  spdlog::level::err};
  self.terminal->set_level(kLevels[static_cast<std::size_t>(options.level)]);
  self.logger.set_level(self.debug ? spdlog::level::debug : spdlog::level::info);
  self.logger.sinks().push_back(self.terminal);
  if (!options.log_file.empty()) {
    self.logger.sinks().push_back(std::make_shared<FileSink>(options.log_file, options.most_log_bytes));
  }
  self.logger.set_error_handler([&self](const std::string& what) { self.failure = what; });
}

Progress::~Progress() = default;

void Progress::Show(const ProgressStatus& status, std::int64_t now_nanoseconds) {
  if (!Due(now_nanoseconds)) {
    return;
  }
  Implementation& self = *implementation_;
  if (self.live) {
    self.DrawLive(status);
    next_show_ = now_nanoseconds + kRedrawPeriod;
  } else {
    self.Log(spdlog::level::info, self.line.Describe(status, false, kWidest));
    next_show_ = now_nanoseconds + kLogPeriod;
  }
}

void Progress::Redraw(const ProgressStatus& status) {
  if (implementation_->live) implementation_->DrawLive(status);
}

bool Progress::debugs() const { return implementation_->debug; }

void Progress::Debug(std::string_view message) { implementation_->Log(spdlog::level::debug, message); }

void Progress::Info(std::string_view message) { implementation_->Log(spdlog::level::info, message); }

void Progress::Warn(std::string_view message) { implementation_->Log(spdlog::level::warn, message); }

void Progress::Finish() { implementation_->terminal->FinishLive(); }

}  // namespace metronome
