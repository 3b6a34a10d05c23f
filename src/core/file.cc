#include "metronome/core/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "core/file_calls.h"
#include "metronome/core/check.h"
#include "metronome/core/error.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Fail(const fs::path& path, const char* what, int reason) {
  throw Error(ExitCode::kInputOutput,
              path.string() + ": cannot " + what + ": " + std::generic_category().message(reason));
}

void SyncDescriptor(int descriptor, const fs::path& path) {
  // Some file systems can't sync a folder and say so with EINVAL: there is nothing more to do then.
  if (file_calls.sync(descriptor) != 0 && errno != EINVAL) Fail(path, "flush to disk", errno);
}

/// Owns an open file; the path is for messages.
class Descriptor {
 public:
  Descriptor(fs::path path, int flags, const char* what) : path_(std::move(path)) {
    do {
      descriptor_ = file_calls.open(path_.c_str(), flags);
    } while (descriptor_ < 0 && errno == EINTR);
    if (descriptor_ < 0) Fail(path_, what, errno);
  }
  ~Descriptor() {
    if (descriptor_ >= 0) file_calls.close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return descriptor_; }

  /// To the disk, not only to the system's cache.
  void Sync() { SyncDescriptor(descriptor_, path_); }

  /// Some systems report a failed write only here.
  void Close() {
    const int closing = std::exchange(descriptor_, -1);
    if (file_calls.close(closing) != 0 && errno != EINTR) Fail(path_, "close", errno);
  }

 private:
  fs::path path_;
  int descriptor_ = -1;
};

/// Takes from `bytes` what it has written. 0, or the reason why something is left.
int WriteAll(int descriptor, std::string_view& bytes) {
  while (!bytes.empty()) {
    const ssize_t written = file_calls.write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
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
  if (file_calls.rename(from.c_str(), to.c_str()) != 0) Fail(to, "put in place", errno);
}

/// Removes a file, or a folder with all that is in it, and follows no link. 0, also where there is none, or
/// the reason why something is left.
int RemoveTree(const fs::path& path) {
  if (file_calls.unlink(path.c_str()) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR && errno != EPERM) return errno;  // what systems say of a folder
  std::error_code error;
  std::vector<fs::path> inside;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    inside.push_back(entry->path());
  }
  if (error) return error.value();
  int reason = 0;
  for (const fs::path& entry : inside) {
    if (const int failure = RemoveTree(entry); failure != 0) reason = failure;
  }
  if (reason != 0) return reason;
  return file_calls.rmdir(path.c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

/// What must go, if it can't be told that it did not.
void RemoveTreeOrFail(const fs::path& path) {
  if (const int reason = RemoveTree(path); reason != 0) Fail(path, "remove", reason);
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
    if (const int reason = WriteAll(file.get(), bytes); reason != 0) Fail(temporary, "write", reason);
    file.Sync();
    file.Close();
    Rename(temporary, path);
  } catch (...) {
    file_calls.unlink(temporary.c_str());
    throw;
  }
  SyncFolder(ParentOf(path));
}

void WriteFile(const fs::path& path, std::string_view bytes) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC, "create");
  if (const int reason = WriteAll(file.get(), bytes); reason != 0) Fail(path, "write", reason);
  file.Close();
}

WholeFolder::WholeFolder(fs::path final_path)
    : final_path_(std::move(final_path)), temporary_path_(TemporaryPathFor(final_path_)) {
  RemoveTree(temporary_path_);
  if (file_calls.mkdir(temporary_path_.c_str()) != 0) Fail(temporary_path_, "create", errno);
  leftover_ = temporary_path_;
}

WholeFolder::~WholeFolder() {
  if (!leftover_.empty()) RemoveTree(leftover_);
}

void WholeFolder::Commit() {
  METRONOME_CHECK(leftover_ == temporary_path_);
  std::error_code error;
  for (fs::recursive_directory_iterator entry(temporary_path_, error), end; entry != end;
       entry.increment(error)) {
    Descriptor(entry->path(), O_RDONLY, "open").Sync();
    if (error) break;
  }
  if (error) Fail(temporary_path_, "list", error.value());
  SyncFolder(temporary_path_);

  if (!fs::exists(final_path_, error)) {
    Rename(temporary_path_, final_path_);
    leftover_.clear();
  } else if (file_calls.exchange(temporary_path_.c_str(), final_path_.c_str()) != 0) {
    // Two steps where one isn't to be had: killed between them, the older folder is absent under its name,
    // but never half there.
    const fs::path older = temporary_path_.string() + "-old";
    Rename(final_path_, older);
    if (file_calls.rename(temporary_path_.c_str(), final_path_.c_str()) != 0) {
      const int reason = errno;
      Rename(older, final_path_);
      Fail(final_path_, "put in place", reason);
    }
    leftover_ = older;
  }
  SyncFolder(ParentOf(final_path_));
  if (!leftover_.empty()) RemoveTreeOrFail(std::exchange(leftover_, {}));
}

void WholeFolder::RemoveTemporaries(const fs::path& parent) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
    if (!entry.path().filename().string().starts_with(kTemporaryPrefix)) continue;
    RemoveTreeOrFail(entry.path());
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
    descriptor_ = file_calls.open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) Fail(path_, "open", errno);
}

AppendFile::~AppendFile() {
  Write();
  file_calls.close(descriptor_);
}

void AppendFile::Append(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) Write();
  if (buffer_.size() + bytes.size() <= kBufferBytes) {
    buffer_.append(bytes);
  } else if (buffer_.empty()) {
    // Longer than the buffer. What the system does not take at once is kept all the same, so that no part is
    // ever missing in the middle.
    if (const int reason = WriteAll(descriptor_, bytes); reason != 0) {
      failure_ = reason;
      buffer_.assign(bytes);
    }
  } else {
    ++lost_;
  }
}

void AppendFile::Flush() {
  Write();
  if (const int reason = std::exchange(failure_, 0); reason != 0) Fail(path_, "write", reason);
}

void AppendFile::Sync() {
  Flush();
  SyncDescriptor(descriptor_, path_);
}

void AppendFile::Write() {
  std::string_view pending = buffer_;
  if (const int reason = WriteAll(descriptor_, pending); reason != 0) failure_ = reason;
  buffer_.erase(0, buffer_.size() - pending.size());
}

void LinkOrCopyFile(const fs::path& from, const fs::path& to) {
  if (file_calls.link(from.c_str(), to.c_str()) == 0) return;
  if (errno == ENOENT || errno == EEXIST) Fail(to, "link", errno);
  WriteFile(to, ReadFile(from));
}

void RemoveFolder(const fs::path& path) {
  const fs::path leaving = TemporaryPathFor(path);
  RemoveTree(leaving);  // a killed process's that had the same number
  if (file_calls.rename(path.c_str(), leaving.c_str()) != 0) Fail(path, "remove", errno);
  RemoveTreeOrFail(leaving);
}

void CreateFolders(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return;
  if (path.has_relative_path()) CreateFolders(ParentOf(path));
  // Another process may have been quicker.
  if (file_calls.mkdir(path.c_str()) != 0 && !fs::is_directory(path, ignored)) Fail(path, "create", errno);
}

bool CreateNewFolder(const fs::path& path) {
  CreateFolders(ParentOf(path));
  if (file_calls.mkdir(path.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  Fail(path, "create", errno);
}

}  // namespace metronome
