#ifndef METRONOME_TESTS_SUPPORT_PYTHON_H_
#define METRONOME_TESTS_SUPPORT_PYTHON_H_

#include <filesystem>
#include <string>

namespace metronome {

/// The Python of the tests that ask other people's libraries: METRONOME_PYTHON where that is set, else
/// python3. Whether it exists and has `module`.
bool PythonHas(const std::string& module);

/// Runs `script` in `folder`. What it printed on both its outputs; a test fails when it ended with an error.
std::string RunPython(const std::string& script, const std::filesystem::path& folder);

}  // namespace metronome

#endif  // METRONOME_TESTS_SUPPORT_PYTHON_H_
