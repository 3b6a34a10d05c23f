#ifndef METRONOME_TESTS_TRAIN_RUN_DIFFERENCE_H_
#define METRONOME_TESTS_TRAIN_RUN_DIFFERENCE_H_

#include <cstdint>
#include <filesystem>
#include <string>

namespace metronome {

/// The rows of a table without the columns [first, last] and the last one, which are times or memory.
std::string RowsButTimes(const std::filesystem::path& table, std::size_t first, std::size_t last);

/// What tells the runs in two folders apart that both ended at `step`: tables but for times, weights, replay.
/// Empty where nothing does.
std::string RunDifference(const std::filesystem::path& left, const std::filesystem::path& right,
                          std::int64_t step);

}  // namespace metronome

#endif  // METRONOME_TESTS_TRAIN_RUN_DIFFERENCE_H_
