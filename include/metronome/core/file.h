#ifndef METRONOME_CORE_FILE_H_
#define METRONOME_CORE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace metronome {

/// Every file of the program is read and written here, so that each failure is noticed and told the same
/// way: Error (kInputOutput) with the path, what was tried and the system's reason.

/// The whole file.  Throws also when it holds more than `max_bytes`.
std::string ReadFile(const std::filesystem::path& path, std::int64_t max_bytes = std::int64_t{1} << 40);

/// Writes a file that under `path` is always whole or absent: into a temporary name beside it, flushed to
/// the disk with its folder, then renamed. An older file of that name stays until the new one is complete.
void WriteFileWhole(const std::filesystem::path& path, std::string_view bytes);

/// Writes a new file into a WholeFolder: nobody sees it before Commit(), which brings it to the disk with the
/// rest, much faster than one by one.
void WriteFile(const std::filesystem::path& path, std::string_view bytes);

/// A folder that under its final name is always whole or absent. Fill path(), then Commit(). Without a
/// Commit() the destructor removes what was written; what a killed process left behind starts with
/// kTemporaryPrefix and is removed by RemoveTemporaries().
class WholeFolder {
 public:
  static constexpr std::string_view kTemporaryPrefix = ".tmp-";

  explicit WholeFolder(std::filesystem::path final_path);
  ~WholeFolder();
  WholeFolder(const WholeFolder&) = delete;
  WholeFolder& operator=(const WholeFolder&) = delete;

  /// Where to write the files meanwhile.
  const std::filesystem::path& path() const { return temporary_path_; }

  /// Flushes every file and the folder to the disk and gives the folder its final name. It takes the
  /// place of a folder that stands there already in one step (two where the file system can't), and then
  /// removes that one.
  void Commit();

  /// Removes what killed processes left unfinished in `parent`.
  static void RemoveTemporaries(const std::filesystem::path& parent);

 private:
  std::filesystem::path final_path_;
  std::filesystem::path temporary_path_;
  std::filesystem::path leftover_;  // what the destructor has to remove; empty for nothing
};

/// While it lives, no other process gets the lock of the same folder; ends with the process, however that
/// ends. Throws Error (kInputOutput) when another has it. A file system without locks gives it to everyone.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// A file that only grows: logs and tables. Rows are gathered in a fixed buffer and handed to the system by
/// Flush(), or when the buffer is full.  Append() and Flush() allocate nothing.
///
/// On a full disk nothing is written twice and no row in part: what the system does not take stays in the
/// buffer for the next try. Only when the buffer is full as well, rows are left out, whole ones, and counted.
class AppendFile {
 public:
  /// Creates `path`, or goes on at its end.
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();  ///< Flushes; a failure at this last moment is lost, so Flush() first.
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  /// Adds one row. Does not fail: the next Flush() tells.
  void Append(std::string_view bytes);
  /// Throws Error (kInputOutput) when it, or an Append() since the last one, could not write.
  void Flush();
  /// Flushes, and brings the file to the disk.
  void Sync();
  /// Rows that were left out.
  std::int64_t lost() const { return lost_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  void Write();

  static constexpr std::size_t kBufferBytes = 64 * 1024;

  std::filesystem::path path_;
  std::string buffer_;  // reserved once, kBufferBytes
  int descriptor_ = -1;
  int failure_ = 0;  // why the last try left something, to be told
  std::int64_t lost_ = 0;
};

/// Makes `to` a second name of the file `from` (a hard link), or a copy of it where the file system has no
/// such names, as WriteFile() writes it. For files that never change. `to` must not exist.
void LinkOrCopyFile(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes a folder and what is in it. It first takes a temporary name, so under its own it is never half
/// there.
void RemoveFolder(const std::filesystem::path& path);

/// Creates a folder and its parents, as far as they aren't there.
void CreateFolders(const std::filesystem::path& path);

/// Creates a folder that must not exist yet, and its parents. False when it exists already.
bool CreateNewFolder(const std::filesystem::path& path);

}  // namespace metronome

#endif  // METRONOME_CORE_FILE_H_
