// Segments of the replay. The first byte says what buffer they are for, the second where the rest is cut into
// two segments; as many transitions are asked for as their headers name.

#include <algorithm>
#include <cstring>
#include <vector>

#include "fuzz/target.h"
#include "train/replay_archive.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNumbersAt = 24;  // behind the format's name: first, transitions

/// One of the four numbers of a segment's header, 0 where the file is too short for it.
std::int64_t HeaderNumber(std::string_view segment, std::size_t index) {
  std::int64_t number = 0;
  const std::size_t at = kNumbersAt + index * sizeof(number);
  if (segment.size() >= at + sizeof(number)) std::memcpy(&number, segment.data() + at, sizeof(number));
  return number;
}

}  // namespace
}  // namespace metronome

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metronome;
  if (size < 2) return 0;
  ReplayBuffer::Options options;
  options.capacity = 1 + data[0] % 64;
  options.byte_observations = (data[0] & 64) != 0;
  options.observation_size = (data[0] & 128) != 0 ? 4 : 1;
  const std::string_view rest = AsText(data + 2, size - 2);
  const std::size_t cut = data[1] == 0 ? rest.size() : rest.size() * data[1] / 256;

  std::vector<CheckpointPart> parts;
  std::int64_t added = 0;
  for (const std::string_view segment : {rest.substr(0, cut), rest.substr(cut)}) {
    if (segment.empty()) continue;
    const std::int64_t first = HeaderNumber(segment, 0);
    if (first < 0 || __builtin_add_overflow(first, HeaderNumber(segment, 1), &added)) added = 0;
    const std::string name = "replay-" + std::to_string(std::max<std::int64_t>(first, 0)) + ".segment";
    PutFile(FuzzFolder() / name, segment);
    parts.push_back({name, static_cast<std::int64_t>(segment.size()), 0});
  }
  added = std::max<std::int64_t>(added, 0);
  ExpectReadOrRefused(ExitCode::kBadCheckpoint, [&] {
    ReplayBuffer replay(options);
    const std::int64_t held = std::min(added, options.capacity);
    RestoreReplay(FuzzFolder(), parts, added, held, /*num_actions=*/3, replay);
    Expect(replay.added() == added && replay.size() == held, "not all transitions came back");
  });
  for (const CheckpointPart& part : parts) fs::remove(FuzzFolder() / part.name);
  return 0;
}
