#ifndef METRONOME_CORE_FILE_CALLS_H_
#define METRONOME_CORE_FILE_CALLS_H_

#include <sys/types.h>

#include <cstddef>

namespace metronome {

/// The system calls through which file.cc changes what is on the disk: each does what the function of its
/// name does, 0 (a descriptor, a number of bytes) or -1 with errno. In one table, so that a test can put
/// others in their place: calls that fail, and calls before which the process ends.
struct FileCalls {
  int (*open)(const char* path, int flags);  ///< New files with the mode 0666, without those of the umask.
  ssize_t (*write)(int descriptor, const void* bytes, std::size_t count);
  int (*sync)(int descriptor);  ///< To the disk itself, not only to its cache.
  int (*close)(int descriptor);
  int (*rename)(const char* from, const char* to);
  int (*exchange)(const char* left,
                  const char* right);  ///< Swaps two names in one step; ENOSYS where it can't.
  int (*link)(const char* from, const char* to);
  int (*mkdir)(const char* path);
  int (*unlink)(const char* path);
  int (*rmdir)(const char* path);
};

/// The system's own.
extern const FileCalls kSystemFileCalls;

/// Those in use. Replaced by tests alone, before any other thread writes a file.
extern FileCalls file_calls;

}  // namespace metronome

#endif  // METRONOME_CORE_FILE_CALLS_H_
