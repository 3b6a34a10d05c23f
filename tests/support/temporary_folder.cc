#include "support/temporary_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>

#include "metronome/core/check.h"

namespace metronome {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "metronome-test-XXXXXX").string();
  METRONOME_CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  // A test may have closed a folder to writing.
  for (std::filesystem::recursive_directory_iterator entry(path_, ignored), end; entry != end;
       entry.increment(ignored)) {
    if (entry->is_directory(ignored)) {
      std::filesystem::permissions(entry->path(), std::filesystem::perms::owner_all, ignored);
    }
  }
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace metronome
