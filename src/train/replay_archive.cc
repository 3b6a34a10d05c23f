#include "train/replay_archive.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>

#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/hash.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "segments are written as they lie in memory");

constexpr std::string_view kNamePrefix = "replay-";
constexpr std::string_view kNameSuffix = ".segment";
constexpr std::string_view kFormat("metronome-replay 1\n\0\0\0\0\0", 24);

struct Header {
  std::int64_t first;
  std::int64_t transitions;
  std::int64_t observation_size;
  std::int64_t element_bytes;
};
static_assert(sizeof(Header) == 32);

struct Record {
  std::int32_t action;
  float reward;
  std::uint8_t ending;
  std::uint8_t follows;
  std::uint8_t has_next;
  std::uint8_t zero;
};
static_assert(sizeof(Record) == 12);

std::int64_t ElementBytes(const ReplayBuffer& replay) {
  return replay.options().byte_observations ? std::int64_t{1} : std::int64_t{sizeof(float)};
}

std::string SegmentName(std::int64_t first) {
  return std::string(kNamePrefix) + std::to_string(first) + std::string(kNameSuffix);
}

/// The number in a segment's name, -1 for any other name.
std::int64_t FirstOf(std::string_view name) {
  if (!name.starts_with(kNamePrefix) || !name.ends_with(kNameSuffix)) return -1;
  const std::string_view digits =
      name.substr(kNamePrefix.size(), name.size() - kNamePrefix.size() - kNameSuffix.size());
  std::int64_t first = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), first);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && first >= 0 && SegmentName(first) == name ? first : -1;
}

void AppendBytes(std::string& out, const void* data, std::size_t size) {
  out.append(static_cast<const char*>(data), size);
}

/// The file with the transitions numbered [first, last), which the ring holds.
std::string SerializeSegment(const ReplayBuffer& replay, std::int64_t first, std::int64_t last) {
  const std::int64_t oldest = replay.added() - replay.size();
  const Header header = {first, last - first, replay.options().observation_size, ElementBytes(replay)};
  std::string bytes(kFormat);
  AppendBytes(bytes, &header, sizeof(header));
  const auto has_next = [&](std::int64_t number) {
    return number + 1 == last || !replay.Transition(number + 1 - oldest).follows_previous;
  };
  for (std::int64_t number = first; number < last; ++number) {
    const TransitionView view = replay.Transition(number - oldest);
    const Record record = {view.action,
                           view.reward,
                           static_cast<std::uint8_t>(view.ending),
                           static_cast<std::uint8_t>(view.follows_previous ? 1 : 0),
                           static_cast<std::uint8_t>(has_next(number) ? 1 : 0),
                           0};
    AppendBytes(bytes, &record, sizeof(record));
  }
  for (std::int64_t number = first; number < last; ++number) {
    const TransitionView view = replay.Transition(number - oldest);
    AppendBytes(bytes, view.observation.data(), view.observation.size());
    if (has_next(number)) AppendBytes(bytes, view.next_observation.data(), view.next_observation.size());
  }
  return bytes;
}

[[noreturn]] void Bad(const fs::path& path, const std::string& what) {
  throw Error(ExitCode::kBadCheckpoint, path.string() + ": " + what);
}

/// A segment file, its sizes checked: every record and observation lies within it.
class SegmentReader {
 public:
  SegmentReader(fs::path path, std::string bytes, const ReplayBuffer& replay)
      : path_(std::move(path)), bytes_(std::move(bytes)) {
    if (bytes_.size() < kFormat.size() + sizeof(Header) || !std::string_view(bytes_).starts_with(kFormat)) {
      Bad(path_, "is not a replay segment of format version 1");
    }
    std::memcpy(&header_, bytes_.data() + kFormat.size(), sizeof(header_));
    if (header_.observation_size != replay.options().observation_size ||
        header_.element_bytes != ElementBytes(replay)) {
      Bad(path_, "holds observations of " + std::to_string(header_.observation_size) + " elements of " +
                     std::to_string(header_.element_bytes) + " bytes, but the game's have " +
                     std::to_string(replay.options().observation_size) + " of " +
                     std::to_string(ElementBytes(replay)));
    }
    row_bytes_ = static_cast<std::size_t>(header_.observation_size * header_.element_bytes);
    const auto left = static_cast<std::int64_t>(bytes_.size() - records_start());
    if (header_.first < 0 || header_.transitions <= 0 ||
        header_.transitions > left / static_cast<std::int64_t>(sizeof(Record)) ||
        header_.first > INT64_MAX - header_.transitions) {
      Bad(path_, "says that it holds " + std::to_string(header_.transitions) + " transitions, which its " +
                     std::to_string(bytes_.size()) + " bytes can't");
    }
    std::size_t rows = 0;
    for (std::int64_t i = 0; i < header_.transitions; ++i) {
      const bool has_next = record(i).has_next != 0;
      const bool is_followed = i + 1 < header_.transitions && record(i + 1).follows != 0;
      if (has_next == is_followed) {
        Bad(path_, "transition " + std::to_string(header_.first + i) + " has no next observation, or two");
      }
      rows += has_next ? 2U : 1U;
    }
    const std::size_t records_end =
        records_start() + static_cast<std::size_t>(header_.transitions) * sizeof(Record);
    if ((bytes_.size() - records_end) / row_bytes_ != rows ||
        (bytes_.size() - records_end) % row_bytes_ != 0) {
      Bad(path_, "has " + std::to_string(bytes_.size()) + " bytes, which its records don't add up to");
    }
    at_ = records_end;
  }

  std::int64_t first() const { return header_.first; }
  std::int64_t last() const { return header_.first + header_.transitions; }

  Record record(std::int64_t index) const {
    Record record;
    std::memcpy(&record, bytes_.data() + records_start() + static_cast<std::size_t>(index) * sizeof(Record),
                sizeof(record));
    return record;
  }

  /// The next observation in the file, as floats.
  void ReadRow(std::span<float> out) {
    const char* const row = PeekRow();
    at_ += row_bytes_;
    Convert(row, out);
  }
  /// The same, but it stays the next one.
  void PeekRow(std::span<float> out) const { Convert(PeekRow(), out); }

  const fs::path& path() const { return path_; }

 private:
  static std::size_t records_start() { return kFormat.size() + sizeof(Header); }
  const char* PeekRow() const {
    METRONOME_CHECK_LE(at_ + row_bytes_, bytes_.size());
    return bytes_.data() + at_;
  }
  void Convert(const char* row, std::span<float> out) const {
    if (header_.element_bytes == 1) {
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<float>(static_cast<unsigned char>(row[i]));
      return;
    }
    std::memcpy(out.data(), row, row_bytes_);
    if (!std::all_of(out.begin(), out.end(), [](float value) { return std::isfinite(value); })) {
      Bad(path_, "holds an observation that is not finite");
    }
  }

  const fs::path path_;
  const std::string bytes_;
  Header header_;
  std::size_t row_bytes_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

ReplayArchive::ReplayArchive(const ReplayBuffer& replay)
    : replay_(replay),
      transitions_per_segment_(
          TransitionsPerSegment(replay.options().observation_size * ElementBytes(replay))) {}

std::int64_t ReplayArchive::TransitionsPerSegment(std::int64_t observation_bytes) {
  return std::max<std::int64_t>(1, kSegmentBytes / observation_bytes);
}

bool ReplayArchive::IsSegmentName(std::string_view name) { return FirstOf(name) >= 0; }

std::vector<CheckpointPart> ReplayArchive::Write(const fs::path& folder, const fs::path& final_folder) {
  const std::int64_t added = replay_.added();
  const std::int64_t oldest = added - replay_.size();
  std::vector<CheckpointPart> parts;
  std::map<std::string, CheckpointPart> full;
  for (std::int64_t start = oldest / transitions_per_segment_ * transitions_per_segment_; start < added;
       start += transitions_per_segment_) {
    const std::int64_t end = start + transitions_per_segment_;
    // A full segment may have been written when more of it was left, so its name can begin earlier than the
    // ring does.
    const auto known = std::find_if(full_segments_.begin(), full_segments_.end(), [&](const auto& entry) {
      const std::int64_t first = FirstOf(entry.first);
      return first >= start && first < end;
    });
    CheckpointPart part;
    if (known != full_segments_.end()) {
      part = known->second;
      LinkOrCopyFile(last_folder_ / part.name, folder / part.name);
    } else {
      const std::string bytes = SerializeSegment(replay_, std::max(start, oldest), std::min(end, added));
      part = {SegmentName(std::max(start, oldest)), static_cast<std::int64_t>(bytes.size()), Checksum(bytes)};
      WriteFile(folder / part.name, bytes);
    }
    if (end <= added) full[part.name] = part;
    parts.push_back(part);
  }
  full_segments_ = std::move(full);
  last_folder_ = final_folder;
  return parts;
}

void ReplayArchive::Adopt(const fs::path& folder, std::span<const CheckpointPart> parts) {
  last_folder_ = folder;
  full_segments_.clear();
  for (const CheckpointPart& part : parts) {
    const std::int64_t first = FirstOf(part.name);
    const std::int64_t end = (first / transitions_per_segment_ + 1) * transitions_per_segment_;
    if (first >= 0 && end <= replay_.added()) full_segments_[part.name] = part;
  }
}

void RestoreReplay(const fs::path& folder, std::span<const CheckpointPart> parts, std::int64_t added,
                   std::int64_t size, std::int64_t num_actions, ReplayBuffer& replay) {
  METRONOME_CHECK_EQ(replay.size(), 0);
  if (size < 0 || size > replay.capacity() || added < size) {
    Bad(folder, "says that its replay holds " + std::to_string(size) + " of " + std::to_string(added) +
                    " transitions, with a capacity of " + std::to_string(replay.capacity()));
  }
  std::vector<std::pair<std::int64_t, std::string>> names;
  for (const CheckpointPart& part : parts) {
    if (FirstOf(part.name) >= 0) names.emplace_back(FirstOf(part.name), part.name);
  }
  std::sort(names.begin(), names.end());
  const std::int64_t oldest = added - size;
  std::int64_t next = oldest;  // the transition that comes next
  replay.StartAt(oldest);
  std::vector<float> observation(static_cast<std::size_t>(replay.options().observation_size));
  for (const auto& [unused, name] : names) {
    SegmentReader segment(folder / name, ReadFile(folder / name), replay);
    if (segment.first() > next || segment.last() <= next || segment.last() > added) {
      Bad(segment.path(), "holds the transitions " + std::to_string(segment.first()) + " to " +
                              std::to_string(segment.last() - 1) + ", but " + std::to_string(next) +
                              " comes next");
    }
    for (std::int64_t number = segment.first(); number < segment.last(); ++number) {
      const Record record = segment.record(number - segment.first());
      segment.ReadRow(observation);
      if (number >= oldest && (record.follows == 0 || number == oldest)) {
        replay.BeginEpisode(observation);
      }
      if (record.has_next != 0) {
        segment.ReadRow(observation);
      } else {
        segment.PeekRow(observation);  // that of the transition after, which follows
      }
      if (number < oldest) continue;
      if (record.ending > static_cast<std::uint8_t>(Ending::kTruncated) || !std::isfinite(record.reward) ||
          record.action < 0 || record.action >= num_actions || !replay.in_episode()) {
        Bad(segment.path(),
            "transition " + std::to_string(number) + " has an impossible ending, reward or action");
      }
      replay.Add(record.action, record.reward, static_cast<Ending>(record.ending), observation);
    }
    next = segment.last();
  }
  if (next != added) {
    Bad(folder, "its replay segments end before transition " + std::to_string(added - 1));
  }
}

}  // namespace metronome
