#ifndef METRONOME_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
#define METRONOME_TESTS_SUPPORT_TEMPORARY_FOLDER_H_

#include <filesystem>

namespace metronome {

/// An empty folder of its own for one test, removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace metronome

#endif  // METRONOME_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
