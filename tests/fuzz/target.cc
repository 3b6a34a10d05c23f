#include "fuzz/target.h"

#include <cstdio>
#include <fstream>
#include <system_error>

namespace metronome {

namespace fs = std::filesystem;

void Expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken contract: %s\n", what);
  std::abort();
}

const fs::path& FuzzFolder() {
  static const struct Folder {
    Folder() {
      std::error_code ignored;
      const fs::path memory = "/dev/shm";
      std::string name =
          ((fs::is_directory(memory, ignored) ? memory : fs::temp_directory_path()) / "metronome-fuzz-XXXXXX")
              .string();
      Expect(mkdtemp(name.data()) != nullptr, "no temporary folder");
      path = name;
    }
    ~Folder() {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
    fs::path path;
  } folder;
  return folder.path;
}

void PutFile(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string Digits(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

}  // namespace metronome
