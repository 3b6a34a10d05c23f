#include "app/child_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#ifdef __linux__
#include <sys/prctl.h>
#endif
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "metronome/core/error.h"

namespace metronome {
namespace {

[[noreturn]] void Fail(const char* what, int reason) {
  throw Error(ExitCode::kInputOutput, std::string("a run of its own: cannot ") + what + ": " +
                                          std::generic_category().message(reason));
}

/// The file of this program.
std::string OwnProgram() {
#ifdef __APPLE__
  std::string path(4096, '\0');
  auto size = static_cast<std::uint32_t>(path.size());
  if (_NSGetExecutablePath(path.data(), &size) != 0) Fail("find the program", ENAMETOOLONG);
  return path.c_str();
#else
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) Fail("find the program", error.value());
  return path.string();
#endif
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments) {
  // Everything that allocates comes before fork().
  const std::string program = OwnProgram();
  std::vector<char*> pointers = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) Fail("make a pipe", errno);
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    const int reason = errno;
    close(ends[0]);
    close(ends[1]);
    Fail("be started", reason);
  }
  if (pid_ == 0) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(128 + SIGTERM);
#else
    static_cast<void>(parent);
#endif
    const int input = open("/dev/null", O_RDONLY);
    if (input >= 0 && dup2(input, 0) >= 0 && dup2(ends[1], 1) >= 0 && dup2(ends[1], 2) >= 0) {
      execv(program.c_str(), pointers.data());
    }
    constexpr int kCannotExecute = 126;
    _exit(kCannotExecute);
  }
  close(ends[1]);
  descriptor_ = ends[0];
  fcntl(descriptor_, F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  if (!code_) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(descriptor_);
}

std::vector<std::string> ChildProcess::TakeLines() {
  char block[4096];
  while (true) {
    const ssize_t count = read(descriptor_, block, sizeof(block));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    unread_.append(block, static_cast<std::size_t>(count));
  }
  std::vector<std::string> lines;
  std::size_t end = 0;
  while ((end = unread_.find('\n')) != std::string::npos) {
    lines.push_back(unread_.substr(0, end));
    unread_.erase(0, end + 1);
  }
  if (code_ && !unread_.empty()) {
    lines.push_back(unread_);
    unread_.clear();
  }
  return lines;
}

std::optional<int> ChildProcess::ended() {
  int status = 0;
  if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return code_;
}

void ChildProcess::Signal(int number) {
  if (!code_) kill(pid_, number);
}

}  // namespace metronome
