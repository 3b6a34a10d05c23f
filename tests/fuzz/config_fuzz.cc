// The configuration: a file, and its first line as a --set.

#include "app/effective_config.h"
#include "fuzz/target.h"

namespace metronome {
namespace {

void ReadAsFile(const std::string& text) {
  const EffectiveConfig effective = MakeEffectiveConfig(ParseConfigText(text, "fuzz.toml"), {});
  // What is taken can be written, and says the same when it is read back.
  const std::string written = FormatConfig(effective, false);
  const EffectiveConfig again = MakeEffectiveConfig(ParseConfigText(written, "written.toml"), {});
  Expect(FormatConfig(again, false) == written, "a configuration changed by being written and read");
}

}  // namespace
}  // namespace metronome

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metronome;
  const std::string text(AsText(data, size));
  ExpectReadOrRefused(ExitCode::kUsage, [&] { ReadAsFile(text); });
  const std::string line = text.substr(0, text.find('\n'));
  ExpectReadOrRefused(ExitCode::kUsage, [&] { MakeEffectiveConfig({}, {ParseSetOption(line)}); });
  return 0;
}
