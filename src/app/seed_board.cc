#include "app/seed_board.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <fstream>
#include <string_view>

namespace metronome {
namespace {

constexpr std::int64_t kMessagePeriod = 10'000'000'000;
constexpr std::streamoff kTailBytes = 32 * 1024;  // more than 100 rows have
constexpr std::size_t kReturns = 100;

std::string Time(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  std::array<char, 64> text;
  return {text.data(), std::strftime(text.data(), text.size(), format, &local)};
}

/// A terminal that is gone is no reason to stop: failures end the writing and nothing else.
void Write(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

/// The number in a column of a row, 0 where there is none.
double Column(std::string_view row, int column) {
  for (; column > 0; --column) row.remove_prefix(std::min(row.find(',') + 1, row.size()));
  const std::string text(row.substr(0, row.find(',')));
  return text.empty() ? 0.0 : std::strtod(text.c_str(), nullptr);
}

}  // namespace

SeedBoard::SeedBoard(const std::filesystem::path& log, LogLevel level, int descriptor)
    : log_(log),
      level_(level),
      descriptor_(descriptor),
      live_(level <= LogLevel::kInfo && TerminalTakesEscapes(descriptor)) {}

int SeedBoard::width() const { return live_ ? std::max(TerminalWidth(descriptor_) - 1, 1) : 250; }

std::string SeedBoard::Erasure() const {
  if (lines_.empty()) return "";
  // A terminal that has become narrower shows a line in several rows.
  const auto columns = static_cast<std::size_t>(std::max(TerminalWidth(descriptor_), 1));
  std::size_t rows = 0;
  for (const std::string& line : lines_)
    rows += std::max<std::size_t>((line.size() + columns - 1) / columns, 1);
  std::string text = "\x1b[";
  text += std::to_string(rows);
  return text + "A\r\x1b[J";
}

std::string SeedBoard::Drawing() const {
  std::string text;
  for (const std::string& line : lines_) text += line + "\n";
  return text;
}

void SeedBoard::Say(const std::string& message, LogLevel weight) {
  constexpr std::array kNames = {"debug", "info", "warning", "error"};
  log_.Append(Time("%Y-%m-%d %H:%M:%S ") + kNames[static_cast<std::size_t>(weight)] + ": " + message + "\n");
  log_.Flush();
  if (weight < level_) return;
  const std::string mark =
      weight == LogLevel::kInfo ? "" : std::string(kNames[static_cast<std::size_t>(weight)]) + ": ";
  Write(descriptor_, Erasure() + mark + Time("%H:%M:%S ") + message + "\n" + Drawing());
}

void SeedBoard::Show(const std::vector<std::string>& lines, std::int64_t now) {
  if (live_) {
    const std::string erasure = Erasure();
    lines_ = lines;
    Write(descriptor_, erasure + Drawing());
  } else if (now >= next_message_) {
    // For whoever watches; the log has what happened, and each run's tables have the rest.
    if (next_message_ > 0 && level_ <= LogLevel::kInfo) {
      for (const std::string& line : lines) Write(descriptor_, Time("%H:%M:%S ") + line + "\n");
    }
    next_message_ = now + kMessagePeriod;
  }
}

void SeedBoard::Clear() {
  Write(descriptor_, Erasure());
  lines_.clear();
}

ProgressStatus ReadStatus(const std::filesystem::path& folder, std::int64_t total_steps) {
  ProgressStatus status;
  status.total_steps = total_steps;
  std::ifstream file(folder / "episodes.csv", std::ios::binary | std::ios::ate);
  if (!file) return status;
  const std::streamoff size = file.tellg();
  const std::streamoff begin = std::max<std::streamoff>(size - kTailBytes, 0);
  std::string tail(static_cast<std::size_t>(size - begin), '\0');
  file.seekg(begin);
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  std::string_view rest(tail.data(), static_cast<std::size_t>(file.gcount()));
  // Whole rows alone: neither the first, which may be the header or cut, nor what is still being written.
  std::vector<std::string_view> rows;
  std::size_t end = rest.find('\n');
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  while ((end = rest.find('\n')) != std::string_view::npos) {
    rows.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  if (rows.empty()) return status;
  const std::string_view last = rows.back();
  status.step = static_cast<std::int64_t>(Column(last, 0));
  status.episodes = static_cast<std::int64_t>(Column(last, 1));
  status.epsilon = Column(last, 5);
  status.updates = static_cast<std::int64_t>(Column(last, 8));
  status.resident_bytes = static_cast<std::int64_t>(Column(last, 13)) * 1024;
  status.phase = status.updates > 0 ? RunPhase::kLearning : RunPhase::kCollecting;
  const std::size_t first = rows.size() - std::min(rows.size(), kReturns);
  double sum = 0.0;
  for (std::size_t i = first; i < rows.size(); ++i) sum += Column(rows[i], 2);
  status.mean_return_100 = sum / static_cast<double>(rows.size() - first);
  const double seconds = Column(last, 15) - Column(rows[first], 15);
  if (seconds > 0.0) status.steps_per_second = (Column(last, 0) - Column(rows[first], 0)) / seconds;
  return status;
}

}  // namespace metronome
