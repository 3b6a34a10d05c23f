// TensorBoard's event files, which a run that goes on cuts back: the bytes as they are, and as one event.

#include <optional>
#include <string_view>

#include "fuzz/target.h"
#include "train/event_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metronome;
  const std::string_view bytes = AsText(data, size);
  std::string_view rest = bytes;
  while (true) {
    const std::string_view before = rest;
    const std::optional<std::string_view> event = TakeEventRecord(rest);
    if (!event) {
      Expect(rest.data() == before.data() && rest.size() == before.size(), "taken from without a record");
      break;
    }
    // The frame: a length of 8 bytes and its checksum, the event, its checksum.
    Expect(rest.size() + event->size() + 16 == before.size(), "another size than that of the record taken");
    Expect(event->data() == before.data() + 12, "the event lies elsewhere");
    EventStep(*event);
  }
  EventStep(bytes);
  return 0;
}
