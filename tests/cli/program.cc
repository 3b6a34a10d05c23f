#include "cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace metronome {
namespace {

constexpr int kCannotStart = 126;

std::filesystem::path NewPath() {
  static std::atomic<int> next{0};
  return std::filesystem::temp_directory_path() /
         ("metronome-test-" + std::to_string(getpid()) + "-" + std::to_string(next++));
}

}  // namespace

Program::Program(const Options& options)
    : output_file_(options.output_file.empty() ? NewPath() : options.output_file), error_file_(NewPath()) {
  // Everything that allocates comes before fork().
  std::vector<char*> arguments = {const_cast<char*>(METRONOME_PROGRAM)};
  for (const std::string& argument : options.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    const int input = open("/dev/null", O_RDONLY);
    const int output = open(output_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int error = open(error_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (input < 0 || output < 0 || error < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0 ||
        dup2(error, 2) < 0 || (!options.folder.empty() && chdir(options.folder.c_str()) != 0)) {
      _exit(kCannotStart);
    }
    for (const std::string& variable : options.environment) {
      const std::size_t equals = variable.find('=');
      if (equals == std::string::npos) {
        unsetenv(variable.c_str());
      } else {
        setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
      }
    }
    if (options.most_file_bytes > 0) {
      const auto bytes = static_cast<rlim_t>(options.most_file_bytes);
      const rlimit limit = {bytes, bytes};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        _exit(kCannotStart);
      }
    }
    execv(METRONOME_PROGRAM, arguments.data());
    _exit(kCannotStart);
  }
}

Program::~Program() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    Wait();
  }
}

void Program::Signal(int number) const {
  ASSERT_GT(pid_, 0);
  ASSERT_EQ(kill(pid_, number), 0);
}

bool Program::Running() {
  if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) {
    pid_ = -1;
  }
  return pid_ > 0;
}

ProgramResult Program::Wait() {
  while (pid_ > 0) {
    if (waitpid(pid_, &status_, 0) == pid_ || errno != EINTR) {
      pid_ = -1;
    }
  }
  ProgramResult result;
  result.code = WIFSIGNALED(status_) ? 1000 + WTERMSIG(status_) : WEXITSTATUS(status_);
  result.error = ReadText(error_file_);
  std::filesystem::remove(error_file_);
  if (std::filesystem::is_regular_file(output_file_)) {
    result.output = ReadText(output_file_);
    std::filesystem::remove(output_file_);
  }
  return result;
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void WriteText(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace metronome
