#ifndef METRONOME_TESTS_FUZZ_TARGET_H_
#define METRONOME_TESTS_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "metronome/core/error.h"

/// Each file *_fuzz.cc beside this one defines this function: it gives `size` bytes to one of the readers and
/// aborts when that breaks its contract. libFuzzer calls it with what it makes up; replay_main.cc, in an
/// ordinary build, with the files of seeds/ and found/.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace metronome {

/// Ends the process where a reader broke its contract; libFuzzer and ctest take that for a crash.
void Expect(bool holds, const char* what);

/// Runs `read`. Whatever the bytes are, it may return or throw an Error of `code` with a message of one line.
template <typename Read>
void ExpectReadOrRefused(ExitCode code, Read read) {
  try {
    read();
  } catch (const Error& error) {
    Expect(error.code() == code, error.what());
    Expect(std::string_view(error.what()).find('\n') == std::string_view::npos, error.what());
  }
}

/// A folder of this process's own, in memory where the system has such a place; removed at the end.
const std::filesystem::path& FuzzFolder();

/// Writes at once and without care, which is quick.
void PutFile(const std::filesystem::path& path, std::string_view bytes);

/// 16 hexadecimal digits.
std::string Digits(std::uint64_t value);

inline std::string_view AsText(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace metronome

#endif  // METRONOME_TESTS_FUZZ_TARGET_H_
