// Recordings: the bytes as they are, and behind a first line with the right checksum, since no fuzzer finds a
// checksum.

#include "fuzz/target.h"
#include "metronome/core/hash.h"
#include "metronome/games/recording.h"

namespace metronome {
namespace {

void Read(const std::string& bytes) {
  ExpectReadOrRefused(ExitCode::kBadCheckpoint, [&] {
    const Recording recording = ParseRecording(bytes, "fuzz.recording");
    const std::string written = SerializeRecording(recording);
    Expect(SerializeRecording(ParseRecording(written, "written.recording")) == written,
           "a recording changed by being written and read");
    constexpr std::size_t kMostSteps = 2000;  // more only takes time
    if (recording.actions.size() <= kMostSteps) Replay(recording, "fuzz.recording");
  });
}

}  // namespace
}  // namespace metronome

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metronome;
  const std::string bytes(AsText(data, size));
  Read(bytes);
  Read("metronome-recording 1 " + Digits(Checksum(bytes)) + "\n" + bytes);
  return 0;
}
