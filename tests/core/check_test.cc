#include "metronome/core/check.h"

#include <gtest/gtest.h>

#include <string>

#include "metronome/core/error.h"

namespace metronome {
namespace {

class CheckDeathTest : public testing::Test {
 protected:
  CheckDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(CheckDeathTest, ABrokenConditionIsPrintedWithItsPlace) {
  EXPECT_DEATH(METRONOME_CHECK(1 + 1 == 3), "check_test\\.cc:[0-9]+: check failed: 1 \\+ 1 == 3");
}

TEST_F(CheckDeathTest, AComparisonPrintsBothValues) {
  const int rows = 3;
  EXPECT_DEATH(METRONOME_CHECK_EQ(rows, 4), "check failed: rows == 4 \\(3 against 4\\)");
  EXPECT_DEATH(METRONOME_CHECK_NE(rows, 3), "check failed: rows != 3 \\(3 against 3\\)");
  EXPECT_DEATH(METRONOME_CHECK_LT(rows, 3), "check failed: rows < 3 \\(3 against 3\\)");
  EXPECT_DEATH(METRONOME_CHECK_LE(rows, 2), "check failed: rows <= 2 \\(3 against 2\\)");
  EXPECT_DEATH(METRONOME_CHECK_GT(rows, 3), "check failed: rows > 3 \\(3 against 3\\)");
  EXPECT_DEATH(METRONOME_CHECK_GE(rows, 4), "check failed: rows >= 4 \\(3 against 4\\)");
  EXPECT_DEATH(METRONOME_CHECK_EQ(std::string("left"), "right"), "\\(left against right\\)");
}

TEST(CheckTest, AKeptContractGoesOn) {
  METRONOME_CHECK(true);
  METRONOME_CHECK_EQ(1, 1);
  METRONOME_CHECK_NE(1, 2);
  METRONOME_CHECK_LT(1, 2);
  METRONOME_CHECK_LE(1, 1);
  METRONOME_CHECK_GT(2, 1);
  METRONOME_CHECK_GE(1, 1);
  METRONOME_DCHECK(true);
}

TEST(CheckTest, EachSideIsEvaluatedOnce) {
  int calls = 0;
  METRONOME_CHECK_EQ(++calls, 1);
  METRONOME_CHECK(++calls == 2);
  EXPECT_EQ(calls, 2);
}

TEST(CheckTest, IsOneStatement) {
  if (false)
    METRONOME_CHECK(false);
  else
    METRONOME_CHECK_EQ(1, 1);
}

#ifdef NDEBUG
TEST(CheckTest, ADebugCheckCostsNothingInAReleaseBuild) {
  int calls = 0;
  METRONOME_DCHECK(++calls > 100);
  EXPECT_EQ(calls, 0);
}
#else
TEST_F(CheckDeathTest, ADebugCheckAbortsInADebugBuild) {
  EXPECT_DEATH(METRONOME_DCHECK(1 > 2), "check failed: 1 > 2");
}
#endif

TEST(ErrorTest, CarriesItsCodeAndMessage) {
  // The codes are what scripts rely on.
  EXPECT_EQ(static_cast<int>(ExitCode::kDone), 0);
  EXPECT_EQ(static_cast<int>(ExitCode::kInputOutput), 1);
  EXPECT_EQ(static_cast<int>(ExitCode::kUsage), 2);
  EXPECT_EQ(static_cast<int>(ExitCode::kBadCheckpoint), 3);
  EXPECT_EQ(static_cast<int>(ExitCode::kNonFinite), 4);
  EXPECT_EQ(static_cast<int>(ExitCode::kNoDevice), 5);
  const Error error(ExitCode::kUsage, "train.steps: missing");
  EXPECT_EQ(error.code(), ExitCode::kUsage);
  EXPECT_STREQ(error.what(), "train.steps: missing");
}

}  // namespace
}  // namespace metronome
