#include "support/faulty_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "core/file_calls.h"
#include "metronome/core/check.h"

namespace metronome {
namespace {

/// A file with bytes that are not on the disk yet.
struct Unsynced {
  int descriptor = -1;  // our own, so that neither a close nor a rename loses it
  dev_t device = 0;
  ino_t number = 0;
  off_t safe_size = 0;
};

struct State {
  FaultyFiles::Plan plan;
  std::int64_t calls = 0;
  std::string failed;
  std::vector<Unsynced> unsynced;
} state;

Unsynced* FindUnsynced(const struct stat& status) {
  for (Unsynced& file : state.unsynced) {
    if (file.device == status.st_dev && file.number == status.st_ino) return &file;
  }
  return nullptr;
}

void NoteWrite(int descriptor) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || FindUnsynced(status) != nullptr) return;
  state.unsynced.push_back({dup(descriptor), status.st_dev, status.st_ino, status.st_size});
}

void NoteSync(int descriptor) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) return;
  if (Unsynced* const file = FindUnsynced(status)) {
    close(file->descriptor);
    state.unsynced.erase(state.unsynced.begin() + (file - state.unsynced.data()));
  }
}

/// Counts a call. True when it is to fail, with errno set.
bool Fails(const char* call, const std::string& path, bool needs_room) {
  using Fault = FaultyFiles::Fault;
  const std::int64_t number = ++state.calls;
  const bool is_it = number == state.plan.at;
  switch (state.plan.fault) {
    case Fault::kNone:
      return false;
    case Fault::kPowerLoss:
      if (is_it) {
        for (const Unsynced& file : state.unsynced) {
          if (ftruncate(file.descriptor, file.safe_size) != 0) _exit(1);
        }
      }
      [[fallthrough]];
    case Fault::kKill:
      if (is_it) _exit(FaultyFiles::kKilled);
      return false;
    case Fault::kError:
      if (!is_it) return false;
      break;
    case Fault::kStaysFull:
      if (number < state.plan.at || !needs_room) return false;
      break;
  }
  if (state.failed.empty()) state.failed = std::string(call) + " " + path;
  errno = state.plan.error;
  return true;
}

constexpr FileCalls kFaultyCalls = {
    .open =
        [](const char* path, int flags) {
          const bool creates = (flags & O_CREAT) != 0 && access(path, F_OK) != 0;
          return Fails(creates ? "create" : "open", path, creates) ? -1 : kSystemFileCalls.open(path, flags);
        },
    .write = [](int descriptor, const void* bytes, std::size_t count) -> ssize_t {
      if (Fails("write", "", true)) return -1;
      NoteWrite(descriptor);
      return kSystemFileCalls.write(descriptor, bytes, count);
    },
    .sync =
        [](int descriptor) {
          if (Fails("sync", "", false)) return -1;
          NoteSync(descriptor);
          return kSystemFileCalls.sync(descriptor);
        },
    .close =
        [](int descriptor) {
          // A close that fails has closed all the same.
          const bool fails = Fails("close", "", false);
          const int reason = errno;
          const int result = kSystemFileCalls.close(descriptor);
          errno = fails ? reason : errno;
          return fails ? -1 : result;
        },
    .rename =
        [](const char* from, const char* to) {
          return Fails("rename", to, false) ? -1 : kSystemFileCalls.rename(from, to);
        },
    .exchange =
        [](const char* left, const char* right) {
          return Fails("exchange", right, false) ? -1 : kSystemFileCalls.exchange(left, right);
        },
    .link = [](const char* from,
               const char* to) { return Fails("link", to, true) ? -1 : kSystemFileCalls.link(from, to); },
    .mkdir = [](const char* path) { return Fails("mkdir", path, true) ? -1 : kSystemFileCalls.mkdir(path); },
    .unlink =
        [](const char* path) { return Fails("unlink", path, false) ? -1 : kSystemFileCalls.unlink(path); },
    .rmdir = [](const char* path) { return Fails("rmdir", path, false) ? -1 : kSystemFileCalls.rmdir(path); },
};

}  // namespace

FaultyFiles::FaultyFiles(const Plan& plan) {
  METRONOME_CHECK(file_calls.open == kSystemFileCalls.open);
  state = {plan, 0, {}, {}};
  file_calls = kFaultyCalls;
}

FaultyFiles::~FaultyFiles() {
  file_calls = kSystemFileCalls;
  for (const Unsynced& file : state.unsynced) close(file.descriptor);
  state.unsynced.clear();
}

std::int64_t FaultyFiles::calls() const { return state.calls; }

const std::string& FaultyFiles::failed() const { return state.failed; }

}  // namespace metronome
