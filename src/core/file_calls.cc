#include "core/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace metronome {
namespace {

int Open(const char* path, int flags) { return open(path, flags | O_CLOEXEC, 0666); }

int Sync(int descriptor) {
#ifdef __APPLE__
  if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;  // fsync alone leaves the data in the drive's cache
#endif
  return fsync(descriptor);
}

int Exchange(const char* left, const char* right) {
#ifdef __APPLE__
  return renamex_np(left, right, RENAME_SWAP);
#elif defined(RENAME_EXCHANGE)
  return renameat2(AT_FDCWD, left, AT_FDCWD, right, RENAME_EXCHANGE);
#else
  static_cast<void>(left);
  static_cast<void>(right);
  errno = ENOSYS;
  return -1;
#endif
}

int MakeFolder(const char* path) { return mkdir(path, 0777); }

}  // namespace

constexpr FileCalls kSystemFileCalls = {Open,     write, Sync,       close,  rename,
                                        Exchange, link,  MakeFolder, unlink, rmdir};

constinit FileCalls file_calls = kSystemFileCalls;

}  // namespace metronome
