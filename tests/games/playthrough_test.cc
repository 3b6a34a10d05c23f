// Every registered game against the playthrough kept under tests/golden/playthroughs. A difference means that
// the game plays, looks or hashes differently than it did; where that was meant, scripts/update_golden.sh
// writes the files anew and git shows what changed.
#include "games/playthrough.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "metronome/core/file.h"
#include "metronome/games/registry.h"

namespace metronome {
namespace {

/// Games that take sin and cos from the C library: their hashes hold for glibc alone, where the kept files
/// come from. The rest of their lines holds everywhere.
bool HashesHoldHere(const std::string& game) {
#ifdef __GLIBC__
  static_cast<void>(game);
  return true;
#else
  return game != "cartpole";
#endif
}

std::vector<std::string> SplitLines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

class PlaythroughTest : public testing::TestWithParam<std::string> {};

TEST_P(PlaythroughTest, IsTheOneThatIsKept) {
  const std::vector<std::string> want = SplitLines(ReadFile(PlaythroughPath(GetParam())));
  const std::vector<std::string> got = MakePlaythrough(GetParam());
  const bool compare_hashes = HashesHoldHere(GetParam());
  for (std::size_t i = 0; i < std::min(want.size(), got.size()); ++i) {
    if (!compare_hashes && want[i].starts_with("  hash ") && got[i].starts_with("  hash ")) continue;
    ASSERT_EQ(got[i], want[i]) << PlaythroughPath(GetParam()) << ", line " << i + 1
                               << ": the first that differs; if that was meant, run scripts/update_golden.sh";
  }
  ASSERT_EQ(got.size(), want.size()) << "lines in all";
}

std::vector<std::string> AllGames() {
  std::vector<std::string> names;
  for (const GameInfo& info : Games()) names.push_back(info.name);
  return names;
}

std::string NameOfGame(const testing::TestParamInfo<std::string>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(Games, PlaythroughTest, testing::ValuesIn(AllGames()), NameOfGame);

}  // namespace
}  // namespace metronome
