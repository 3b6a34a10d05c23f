#include "metronome/core/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "metronome/core/check.h"
#include "metronome/core/error.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Fail(const fs::path& path, const char* what, int reason) {
  throw Error(ExitCode::kInputOutput,
              path.string() + ": cannot " + what + ": " + std::generic_category().message(reason));
}

/// Owns an open file; the path is for messages.
class Descriptor {
 public:
  Descriptor(fs::path path, int flags, const char* what) : path_(std::move(path)) {
    do {
      descriptor_ = open(path_.c_str(), flags | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EINTR);
    if (descriptor_ < 0) Fail(path_, what, errno);
  }
  ~Descriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return descriptor_; }

  /// To the disk, not only to the system's cache.
  void Sync() {
#ifdef __APPLE__
    if (fcntl(descriptor_, F_FULLFSYNC) == 0) return;  // fsync alone leaves the data in the drive's cache
#endif
    // Some file systems can't sync a folder and say so with EINVAL: there is nothing more to do then.
    if (fsync(descriptor_) != 0 && errno != EINVAL) Fail(path_, "flush to disk", errno);
  }

  /// Some systems report a failed write only here.
  void Close() {
    const int closing = std::exchange(descriptor_, -1);
    if (close(closing) != 0 && errno != EINTR) Fail(path_, "close", errno);
  }

 private:
  fs::path path_;
  int descriptor_ = -1;
};

void WriteAll(int descriptor, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      Fail(path, "write", errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

fs::path ParentOf(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

void SyncFolder(const fs::path& folder) { Descriptor(folder, O_RDONLY | O_DIRECTORY, "open").Sync(); }

fs::path TemporaryPathFor(const fs::path& path) {
  const fs::path name = path.has_filename() ? path.filename() : path.parent_path().filename();
  return ParentOf(path) /
         (std::string(WholeFolder::kTemporaryPrefix) + name.string() + "-" + std::to_string(getpid()));
}

void Rename(const fs::path& from, const fs::path& to) {
  if (rename(from.c_str(), to.c_str()) != 0) Fail(to, "put in place", errno);
}

/// Gives each of two names the other's file, in one step. False where the file system can't.
bool Exchange(const fs::path& left, const fs::path& right) {
#ifdef __APPLE__
  return renamex_np(left.c_str(), right.c_str(), RENAME_SWAP) == 0;
#elif defined(RENAME_EXCHANGE)
  return renameat2(AT_FDCWD, left.c_str(), AT_FDCWD, right.c_str(), RENAME_EXCHANGE) == 0;
#else
  static_cast<void>(left);
  static_cast<void>(right);
  return false;
#endif
}

}  // namespace

std::string ReadFile(const fs::path& path, std::int64_t max_bytes) {
  Descriptor file(path, O_RDONLY, "open");
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) Fail(path, "examine", errno);
  if (S_ISDIR(status.st_mode)) Fail(path, "read", EISDIR);
  const auto too_large = [&] {
    return Error(ExitCode::kInputOutput,
                 path.string() + ": larger than the " + std::to_string(max_bytes) + " bytes allowed here");
  };
  if (status.st_size > max_bytes) throw too_large();
  // Read to the end rather than trust the size: pipes and /proc say 0.
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(status.st_size));
  char chunk[16 * 1024];
  while (true) {
    const ssize_t count = read(file.get(), chunk, sizeof(chunk));
    if (count < 0) {
      if (errno == EINTR) continue;
      Fail(path, "read", errno);
    }
    if (count == 0) return bytes;
    bytes.append(chunk, static_cast<std::size_t>(count));
    if (static_cast<std::int64_t>(bytes.size()) > max_bytes) throw too_large();
  }
}

void WriteFileWhole(const fs::path& path, std::string_view bytes) {
  const fs::path temporary = TemporaryPathFor(path);
  try {
    Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC, "create");
    WriteAll(file.get(), bytes, temporary);
    file.Sync();
    file.Close();
    Rename(temporary, path);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
  SyncFolder(ParentOf(path));
}

WholeFolder::WholeFolder(fs::path final_path)
    : final_path_(std::move(final_path)), temporary_path_(TemporaryPathFor(final_path_)) {
  std::error_code ignored;
  fs::remove_all(temporary_path_, ignored);
  if (mkdir(temporary_path_.c_str(), 0777) != 0) Fail(temporary_path_, "create", errno);
}

WholeFolder::~WholeFolder() {
  if (committed_) return;
  std::error_code ignored;
  fs::remove_all(temporary_path_, ignored);
}

void WholeFolder::Commit() {
  METRONOME_CHECK(!committed_);
  // WriteFileWhole() has flushed the files; here the names, and anything written by other means.
  std::error_code error;
  for (fs::recursive_directory_iterator entry(temporary_path_, error), end; entry != end;
       entry.increment(error)) {
    Descriptor(entry->path(), O_RDONLY, "open").Sync();
    if (error) break;
  }
  if (error) Fail(temporary_path_, "list", error.value());
  SyncFolder(temporary_path_);

  fs::path older;  // what stood under the final name, if anything did
  if (!fs::exists(final_path_)) {
    Rename(temporary_path_, final_path_);
  } else if (Exchange(temporary_path_, final_path_)) {
    older = temporary_path_;
  } else {
    // Two steps where one isn't to be had: killed between them, the older folder is absent under its name,
    // but never half there.
    older = temporary_path_.string() + "-old";
    Rename(final_path_, older);
    if (rename(temporary_path_.c_str(), final_path_.c_str()) != 0) {
      const int reason = errno;
      Rename(older, final_path_);
      Fail(final_path_, "put in place", reason);
    }
  }
  committed_ = true;
  SyncFolder(ParentOf(final_path_));
  if (!older.empty()) {
    fs::remove_all(older, error);
    if (error) Fail(older, "remove", error.value());
  }
}

void WholeFolder::RemoveTemporaries(const fs::path& parent) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
    if (!entry.path().filename().string().starts_with(kTemporaryPrefix)) continue;
    fs::remove_all(entry.path(), error);
    if (error) Fail(entry.path(), "remove", error.value());
  }
}

FolderLock::FolderLock(const fs::path& folder) {
  // The folder itself is locked, so no file is left behind.
  descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) Fail(folder, "open", errno);
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  close(descriptor_);
  throw Error(ExitCode::kInputOutput, folder.string() + ": another process is using this folder");
}

FolderLock::~FolderLock() { close(descriptor_); }

AppendFile::AppendFile(fs::path path) : path_(std::move(path)) {
  // Written once, so that its pages are taken now and not one by one while a run fills it, which would look
  // like a leak.
  buffer_.assign(kBufferBytes, '\0');
  buffer_.clear();
  do {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) Fail(path_, "open", errno);
}

AppendFile::~AppendFile() {
  try {
    Flush();
  } catch (const Error&) {
    // Told by the Flush() that callers make before; a destructor can't throw.
  }
  close(descriptor_);
}

void AppendFile::Append(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) Flush();
  if (bytes.size() > kBufferBytes) {
    WriteAll(descriptor_, bytes, path_);
  } else {
    buffer_.append(bytes);
  }
}

void AppendFile::Flush() {
  if (buffer_.empty()) return;
  // Emptied first: after a failure the same bytes must not be written a second time.
  const std::string_view pending = buffer_;
  struct Emptied {
    std::string& buffer;
    ~Emptied() { buffer.clear(); }
  } emptied{buffer_};
  WriteAll(descriptor_, pending, path_);
}

void LinkOrCopyFile(const fs::path& from, const fs::path& to) {
  if (link(from.c_str(), to.c_str()) == 0) return;
  if (errno == ENOENT || errno == EEXIST) Fail(to, "link", errno);
  WriteFileWhole(to, ReadFile(from));
}

void RemoveFolder(const fs::path& path) {
  const fs::path leaving = TemporaryPathFor(path);
  std::error_code error;
  fs::remove_all(leaving, error);  // a killed process's that had the same number
  if (rename(path.c_str(), leaving.c_str()) != 0) Fail(path, "remove", errno);
  fs::remove_all(leaving, error);
  if (error) Fail(leaving, "remove", error.value());
}

bool CreateNewFolder(const fs::path& path) {
  std::error_code error;
  const fs::path parent = ParentOf(path);
  fs::create_directories(parent, error);
  if (error) Fail(parent, "create", error.value());
  if (mkdir(path.c_str(), 0777) == 0) return true;
  if (errno == EEXIST) return false;
  Fail(path, "create", errno);
}

}  // namespace metronome
