#include "support/python.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "metronome/core/check.h"
#include "metronome/core/file.h"

namespace metronome {
namespace {

std::string Interpreter() {
  const char* const chosen = std::getenv("METRONOME_PYTHON");
  if (chosen == nullptr) return "python3";
  std::string quoted("'");
  quoted += chosen;
  quoted += '\'';
  return quoted;
}

/// The exit status of a shell's `command`; what it printed goes to `output`.
int Run(const std::string& command, std::string& output) {
  std::FILE* const pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  METRONOME_CHECK(pipe != nullptr);
  char chunk[4096];
  std::size_t count = 0;
  while ((count = std::fread(chunk, 1, sizeof(chunk), pipe)) > 0) output.append(chunk, count);
  return pclose(pipe);
}

}  // namespace

bool PythonHas(const std::string& module) {
  std::string output;
  return Run(Interpreter() + " -c 'import " + module + "'", output) == 0;
}

std::string RunPython(const std::string& script, const std::filesystem::path& folder) {
  WriteFileWhole(folder / "script.py", script);
  std::string output;
  const int status = Run("cd '" + folder.string() + "' && " + Interpreter() + " script.py", output);
  EXPECT_EQ(status, 0) << output;
  return output;
}

}  // namespace metronome
