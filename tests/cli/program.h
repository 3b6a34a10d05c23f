#ifndef METRONOME_TESTS_CLI_PROGRAM_H_
#define METRONOME_TESTS_CLI_PROGRAM_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace metronome {

/// How a program ended.
struct ProgramResult {
  int code = 0;        ///< Exit code; 1000 + n when signal n killed it.
  std::string output;  ///< Standard output.
  std::string error;   ///< Standard error.
};

/// The built metronome, running in a folder of its own choice without a terminal.
class Program {
 public:
  struct Options {
    std::vector<std::string> arguments;
    std::filesystem::path folder;          ///< Working folder.
    std::vector<std::string> environment;  ///< "NAME=value", over this process's own; "NAME" takes one away.
    std::int64_t most_file_bytes = 0;      ///< Longest file that it may write; 0 is no limit.
    std::filesystem::path output_file;     ///< Where standard output goes instead of into the result.
  };

  explicit Program(const Options& options);
  ~Program();  ///< Kills what still runs.
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Signal(int number) const;
  bool Running();
  ProgramResult Wait();

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  std::filesystem::path output_file_;
  std::filesystem::path error_file_;
};

std::string ReadText(const std::filesystem::path& path);
void WriteText(const std::filesystem::path& path, const std::string& text);

}  // namespace metronome

#endif  // METRONOME_TESTS_CLI_PROGRAM_H_
