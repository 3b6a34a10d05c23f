#include "train/run_difference.h"

#include <sstream>

#include "metronome/core/file.h"
#include "train/replay_archive.h"

namespace metronome {

namespace fs = std::filesystem;

std::string RowsButTimes(const fs::path& table, std::size_t first, std::size_t last) {
  std::istringstream lines(ReadFile(table));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line.substr(0, line.find_last_of(',')));
    std::size_t column = 0;
    for (std::string field; std::getline(fields, field, ','); ++column) {
      if (column < first || column > last) kept += field + ",";
    }
    kept += "\n";
  }
  return kept;
}

std::string RunDifference(const fs::path& left, const fs::path& right, std::int64_t step) {
  std::string difference;
  const auto compare = [&](const std::string& name, const std::string& one, const std::string& other) {
    if (one != other) difference += name + " differs\n";
  };
  compare("episodes.csv", RowsButTimes(left / "episodes.csv", 10, 13),
          RowsButTimes(right / "episodes.csv", 10, 13));
  compare("evals.csv", RowsButTimes(left / "evals.csv", 6, 6), RowsButTimes(right / "evals.csv", 6, 6));
  const fs::path last = fs::path("checkpoints") / std::to_string(step);
  for (const auto& entry : fs::directory_iterator(left / last)) {
    const std::string name = entry.path().filename().string();
    if (name != "weights.safetensors" && !ReplayArchive::IsSegmentName(name)) continue;
    compare(name, ReadFile(entry.path()), ReadFile(right / last / name));
  }
  return difference;
}

}  // namespace metronome
