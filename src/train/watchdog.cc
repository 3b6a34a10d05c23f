#include "train/watchdog.h"

#include <cstdio>

#include "metronome/core/memory.h"

namespace metronome {
namespace {

constexpr double kSlowRatio = 2.0;
constexpr double kShareOfStepThatMatters = 0.1;
constexpr double kNanosecondsPerSecond = 1e9;
constexpr double kNanosecondsPerMicrosecond = 1e3;

}  // namespace

const char* PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kGame:
      return "game";
    case Phase::kAct:
      return "act";
    case Phase::kReplay:
      return "replay";
    case Phase::kUpdate:
      return "update";
  }
  return "";
}

Watchdog::Watchdog(const Options& options) : options_(options) {}

std::optional<std::string> Watchdog::Add(Phase phase, std::int64_t nanoseconds, std::int64_t step,
                                         std::int64_t now) {
  Watched& watched = watched_[static_cast<std::size_t>(phase)];
  if (watched.told) return std::nullopt;
  if (watched.window.count() == 0) watched.window_start = now - nanoseconds;
  watched.window.Add(nanoseconds);
  const auto lasted = static_cast<double>(now - watched.window_start);
  if (watched.window.count() < options_.steps_per_window ||
      lasted < options_.window_seconds * kNanosecondsPerSecond) {
    return std::nullopt;
  }
  std::optional<std::string> message = CloseWindow(phase, watched, step, now);
  watched.window.Clear();
  return message;
}

std::optional<std::string> Watchdog::CloseWindow(Phase phase, Watched& watched, std::int64_t step,
                                                 std::int64_t now) {
  const double median = watched.window.QuantileNanoseconds(0.5);
  if (watched.baseline == 0.0) {
    watched.baseline = median;
    return std::nullopt;
  }
  const bool is_slow = median >= kSlowRatio * watched.baseline &&
                       median - watched.baseline >= kShareOfStepThatMatters * StepBaseline();
  if (!is_slow) {
    watched.slow_since = 0;
    return std::nullopt;
  }
  if (watched.slow_since == 0) watched.slow_since = watched.window_start;
  const double slow_seconds = static_cast<double>(now - watched.slow_since) / kNanosecondsPerSecond;
  if (slow_seconds < options_.seconds) return std::nullopt;
  watched.told = true;
  char text[256];
  std::snprintf(
      text, sizeof(text),
      "watchdog, step %lld: the phase \"%s\" has become slow: median %.1f us at first, %.1f us over the last "
      "%.0f s; is the machine busy, or does the game take longer?",
      static_cast<long long>(step), PhaseName(phase), watched.baseline / kNanosecondsPerMicrosecond,
      median / kNanosecondsPerMicrosecond, slow_seconds);
  return text;
}

double Watchdog::StepBaseline() const {
  double sum = 0.0;
  for (const Watched& watched : watched_) sum += watched.baseline;
  return sum;
}

std::optional<std::string> Watchdog::AddMemory(std::int64_t resident_bytes, std::int64_t step) {
  if (first_resident_bytes_ == 0) first_resident_bytes_ = resident_bytes;
  if (memory_told_ || resident_bytes - first_resident_bytes_ <= options_.memory_bytes) return std::nullopt;
  memory_told_ = true;
  return "watchdog, step " + std::to_string(step) +
         ": memory has grown: " + FormatBytes(first_resident_bytes_) + " at first, " +
         FormatBytes(resident_bytes) + " now (more than the " + FormatBytes(options_.memory_bytes) +
         " that a flat run may vary by)";
}

}  // namespace metronome
