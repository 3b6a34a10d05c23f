#include "metronome/train/tensorboard.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/hash.h"
#include "metronome/core/text.h"
#include "train/event_record.h"

namespace metronome {
namespace {

constexpr std::string_view kNamePrefix = "events.out.tfevents.";
constexpr std::string_view kFileVersion = "brain.Event:2";

// Values of the messages' enumerations.
constexpr std::uint64_t kFloat = 1;        // tensor.dtype
constexpr std::uint64_t kText = 7;         // tensor.dtype
constexpr std::uint64_t kTensorClass = 2;  // metadata.data_class
constexpr std::uint64_t kStart = 1;        // session_log.status
constexpr std::uint64_t kSuccess = 1;      // session_end_info.status

std::filesystem::path FreeName(const std::filesystem::path& folder, double seconds) {
  char host[65] = {};
  if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0') std::strcpy(host, "localhost");
  const std::string start = std::string(kNamePrefix) + std::to_string(static_cast<std::int64_t>(seconds)) +
                            "." + host + "." + std::to_string(getpid()) + ".";
  for (int n = 0;; ++n) {
    std::filesystem::path path = folder / (start + std::to_string(n));
    std::error_code ignored;  // AppendFile tells what is wrong with the folder
    if (!std::filesystem::exists(path, ignored)) return path;
  }
}

void CheckTag(std::string_view tag) {
  METRONOME_CHECK_GT(tag.size(), 0U);
  METRONOME_CHECK_LE(tag.size(), TensorboardWriter::kMaxTagBytes);
}

/// Adds to a tensor that has its elements its type and its shape, of one dimension.
void DescribeTensor(EventRecord& record, std::uint64_t type, std::uint64_t elements) {
  const std::size_t before = record.size();
  record.Integer(1, elements);
  record.MakePart(2, before);  // dim
  record.MakePart(2, before);  // tensor_shape
  record.Integer(1, type);
}

/// Adds to a message the metadata of a value that a plugin of TensorBoard shows.
void AddMetadata(EventRecord& record, std::string_view plugin, std::string_view content) {
  const std::size_t before = record.size();
  record.Integer(4, kTensorClass);
  const std::size_t data = record.size();
  if (!content.empty()) record.String(2, content);
  record.String(1, plugin);
  record.MakePart(1, data);  // plugin_data
  record.MakePart(9, before);
}

/// The message's field for a setting's value, in SessionStartInfo and in an hparam_info.
void AddSettingValue(EventRecord& record, const Hyperparameter& setting) {
  if (const auto* const flag = std::get_if<bool>(&setting.value)) {
    record.Integer(4, *flag ? 1 : 0);
  } else if (const auto* const number = std::get_if<double>(&setting.value)) {
    record.Double(2, *number);
  } else {
    record.String(3, std::get<std::string>(setting.value));
  }
}

/// The settings as one text, equal for equal settings.
std::string NameOfGroup(std::span<const Hyperparameter> settings) {
  std::string all;
  for (const Hyperparameter& setting : settings) {
    EventRecord value;
    AddSettingValue(value, setting);
    all += setting.name;
    all += value.message();
  }
  return FormatHexadecimal(Checksum(all));
}

}  // namespace

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TensorboardWriter::TensorboardWriter(const std::filesystem::path& folder, double (*clock)())
    : file_(FreeName(folder, clock())), clock_(clock), record_(std::make_unique<EventRecord>()) {
  record_->String(3, kFileVersion);
  record_->Double(1, clock_());
  file_.Append(record_->Finish());
  Flush();
}

TensorboardWriter::~TensorboardWriter() = default;

/// Completes and writes what record_ holds, which is the last field of an Event.
void TensorboardWriter::AddEvent(std::int64_t step) {
  record_->Integer(2, static_cast<std::uint64_t>(step));
  record_->Double(1, clock_());
  file_.Append(record_->Finish());
}

/// The same for what is a Value but for its tag.
void TensorboardWriter::AddValue(std::string_view tag, std::int64_t step) {
  CheckTag(tag);
  record_->String(1, tag);
  record_->MakePart(1);  // the only value of Summary
  record_->MakePart(5);  // Event's summary
  AddEvent(step);
}

void TensorboardWriter::CheckFinite(std::string_view tag, std::int64_t step, double value) const {
  // Also what a float32 can't hold, before the conversion.
  if (std::abs(value) <= std::numeric_limits<float>::max()) return;
  throw Error(ExitCode::kNonFinite, file_.path().string() + ": " + std::string(tag) + " at step " +
                                        std::to_string(step) + " is " + FormatDouble(value) +
                                        ", not a finite float32");
}

void TensorboardWriter::AddScalars(std::int64_t step, std::span<const ScalarPoint> points) {
  METRONOME_CHECK_GT(points.size(), 0U);
  METRONOME_CHECK_LE(points.size(), kMaxScalars);
  for (const ScalarPoint& point : points) {
    CheckTag(point.tag);
    CheckFinite(point.tag, step, point.value);
  }
  record_->Begin();
  for (std::size_t i = points.size(); i-- > 0;) {
    const std::size_t before = record_->size();
    record_->Float(2, static_cast<float>(points[i].value));
    record_->String(1, points[i].tag);
    record_->MakePart(1, before);
  }
  record_->MakePart(5);
  AddEvent(step);
}

void TensorboardWriter::AddHistogram(std::string_view tag, std::int64_t step, std::span<const float> values) {
  METRONOME_CHECK_GT(values.size(), 0U);
  double sum = 0.0;
  double sum_squares = 0.0;
  for (const float element : values) {
    const auto value = static_cast<double>(element);
    CheckFinite(tag, step, value);
    sum += value;
    sum_squares += value * value;
  }
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  const auto low = static_cast<double>(*least);
  const auto high = static_cast<double>(*greatest);
  const std::size_t buckets = low < high ? kHistogramBuckets : 1;
  std::array<double, kHistogramBuckets> limits;
  std::array<double, kHistogramBuckets> counts{};
  for (std::size_t i = 0; i < buckets; ++i) {
    limits[i] = low + static_cast<double>(i + 1) * (high - low) / static_cast<double>(buckets);
  }
  limits[buckets - 1] = high;  // which rounding must not leave out
  const auto end = limits.begin() + static_cast<std::ptrdiff_t>(buckets);
  for (const float value : values) {
    // Bucket i is (limit i - 1, limit i]; the first one has the least value as well.
    const auto bucket = std::lower_bound(limits.begin(), end, static_cast<double>(value));
    counts[static_cast<std::size_t>(bucket - limits.begin())] += 1.0;
  }
  record_->Begin();
  record_->Doubles(7, {counts.data(), buckets});
  record_->Doubles(6, {limits.data(), buckets});
  record_->Double(5, sum_squares);
  record_->Double(4, sum);
  record_->Double(3, static_cast<double>(values.size()));
  record_->Double(2, high);
  record_->Double(1, low);
  record_->MakePart(5);  // histo
  AddValue(tag, step);
}

void TensorboardWriter::AddText(std::string_view tag, std::int64_t step, std::string_view text) {
  record_->Begin();
  AddMetadata(*record_, "text", "");
  const std::size_t before = record_->size();
  record_->String(8, text);  // string_val
  DescribeTensor(*record_, kText, 1);
  record_->MakePart(8, before);
  AddValue(tag, step);
}

/// `content` is HParamsPluginData; its version is 0, which need not be said.
void TensorboardWriter::AddHparamsValue(std::string_view tag, std::string_view content) {
  record_->Begin();
  AddMetadata(*record_, "hparams", content);
  const std::size_t before = record_->size();
  DescribeTensor(*record_, kFloat, 0);  // a value has a tensor, and this one has nothing to say by it
  record_->MakePart(8, before);
  AddValue(tag, 0);
}

void TensorboardWriter::AddHyperparameters(std::span<const Hyperparameter> settings,
                                           std::span<const std::string_view> metrics) {
  constexpr std::array<std::uint64_t, 3> kTypes = {2, 3, 1};  // of bool, double, string
  EventRecord content;
  for (std::size_t i = metrics.size(); i-- > 0;) {
    const std::size_t before = content.size();
    content.String(2, metrics[i]);  // tag
    content.MakePart(1, before);    // name
    content.MakePart(5, before);    // metric_infos
  }
  for (std::size_t i = settings.size(); i-- > 0;) {
    const std::size_t before = content.size();
    content.Integer(4, kTypes[settings[i].value.index()]);
    content.String(1, settings[i].name);
    content.MakePart(4, before);  // hparam_infos
  }
  content.MakePart(2);  // experiment
  AddHparamsValue("_hparams_/experiment", content.message());

  content.Begin();
  content.Double(5, clock_());
  content.String(4, NameOfGroup(settings));
  for (std::size_t i = settings.size(); i-- > 0;) {
    const std::size_t before = content.size();
    AddSettingValue(content, settings[i]);
    content.MakePart(2, before);  // the entry's value
    content.String(1, settings[i].name);
    content.MakePart(1, before);  // an entry of hparams
  }
  content.MakePart(3);  // session_start_info
  AddHparamsValue("_hparams_/session_start_info", content.message());
}

void TensorboardWriter::AddEnd() {
  EventRecord content;
  content.Double(2, clock_());
  content.Integer(1, kSuccess);
  content.MakePart(4);  // session_end_info
  AddHparamsValue("_hparams_/session_end_info", content.message());
}

void TensorboardWriter::AddRestart(std::int64_t step) {
  record_->Begin();
  record_->Integer(1, kStart);
  record_->MakePart(7);
  AddEvent(step + 1);  // the first that is to be forgotten
}

void DropEventsAfter(const std::filesystem::path& folder, std::int64_t step) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with(kNamePrefix)) paths.push_back(entry.path());
  }
  for (const std::filesystem::path& path : paths) {
    const std::string bytes = ReadFile(path);
    std::string_view rest = bytes;
    const std::optional<std::string_view> first = TakeEventRecord(rest);
    if (!first || first->find(kFileVersion) == std::string_view::npos) continue;
    const std::size_t head = bytes.size() - rest.size();
    std::size_t kept = head;
    while (const std::optional<std::string_view> event = TakeEventRecord(rest)) {
      const std::optional<std::int64_t> event_step = EventStep(*event);
      if (!event_step || *event_step > step) break;
      kept = bytes.size() - rest.size();
    }
    if (kept == head) {
      std::filesystem::remove(path, error);
    } else if (kept < bytes.size()) {
      WriteFileWhole(path, std::string_view(bytes).substr(0, kept));
    }
  }
}

}  // namespace metronome
