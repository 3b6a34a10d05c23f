#include "metronome/viewer/film.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "support/temporary_folder.h"
#include "viewer/fake_player.h"
#include "viewer/png_file.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;

class FilmTest : public ::testing::Test {
 protected:
  std::int64_t FilmTo(const fs::path& path, double speed = 1.0) {
    FakePlayer player(0);
    Session::Options options = SessionOf("cartpole", &player);
    options.episodes = 1;
    Session session(options);
    FilmOptions film;
    film.path = path;
    film.width = 320;
    film.height = 240;
    film.speed = speed;
    const std::int64_t frames = Film(session, film);
    length_ = session.steps();
    return frames;
  }

  static bool HasFfmpeg() { return std::system("ffmpeg -version >/dev/null 2>&1") == 0; }

  std::string RefusalOf(const fs::path& path, ExitCode code) {
    try {
      CheckFilmPath(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return error.what();
    }
    return "accepted";
  }

  const TemporaryFolder folder_;
  std::int64_t length_ = 0;
};

TEST_F(FilmTest, AFolderHoldsAPictureForEachSixtiethOfASecond) {
  const fs::path path = folder_.path() / "pictures";
  const std::int64_t frames = FilmTo(path);
  // 50 steps a second, and the result for one and a half.
  EXPECT_NEAR(static_cast<double>(frames), 60.0 * (static_cast<double>(length_) / 50.0 + 1.5), 2.0);
  EXPECT_EQ(std::distance(fs::directory_iterator(path), fs::directory_iterator()), frames);
  const Canvas first = DecodePng(ReadFile(path / "frame-000001.png"), "first");
  EXPECT_EQ(first.width(), 320);
  EXPECT_EQ(first.height(), 240);
}

TEST_F(FilmTest, AFasterGameMakesAShorterFilm) {
  const std::int64_t frames = FilmTo(folder_.path() / "slow");
  const std::int64_t fewer = FilmTo(folder_.path() / "fast", 4.0);
  EXPECT_NEAR(static_cast<double>(fewer), static_cast<double>(frames) / 4, 2.0);
}

TEST_F(FilmTest, Mp4AndGifComeFromFfmpeg) {
  if (!HasFfmpeg()) GTEST_SKIP() << "no ffmpeg program here";
  EXPECT_GT(FilmTo(folder_.path() / "film.mp4"), 0);
  EXPECT_GT(FilmTo(folder_.path() / "film.gif"), 0);
  EXPECT_EQ(ReadFile(folder_.path() / "film.mp4").substr(4, 4), "ftyp");
  EXPECT_EQ(ReadFile(folder_.path() / "film.gif").substr(0, 6), "GIF89a");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 2)
      << "and nothing else is left";
}

TEST_F(FilmTest, NothingIsOverwritten) {
  fs::create_directory(folder_.path() / "there");
  EXPECT_THAT(RefusalOf(folder_.path() / "there", ExitCode::kUsage), ::testing::HasSubstr("exists already"));
}

TEST_F(FilmTest, RefusesWhatItCannotWrite) {
  EXPECT_THAT(RefusalOf(folder_.path() / "film.avi", ExitCode::kUsage),
              ::testing::HasSubstr("FILE.mp4, FILE.gif"));
  EXPECT_THAT(RefusalOf(folder_.path() / "none" / "film.mp4", ExitCode::kInputOutput),
              ::testing::HasSubstr("there is no folder"));
}

TEST_F(FilmTest, SaysThatFfmpegIsMissing) {
  const std::string path = std::getenv("PATH");
  setenv("PATH", folder_.path().c_str(), 1);
  const std::string message = RefusalOf(folder_.path() / "film.mp4", ExitCode::kInputOutput);
  setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(message, ::testing::HasSubstr("needs the ffmpeg program, which is not in PATH"));
}

TEST_F(FilmTest, TellsWhatFfmpegSaysWhenItFails) {
  WriteFileWhole(folder_.path() / "ffmpeg", "#!/bin/sh\necho no such codec here >&2\nexit 3\n");
  fs::permissions(folder_.path() / "ffmpeg", fs::perms::owner_all);
  const std::string path = std::getenv("PATH");
  setenv("PATH", folder_.path().c_str(), 1);
  const auto old_handler = signal(SIGPIPE, SIG_IGN);  // as main() does
  std::string message;
  try {
    FilmTo(folder_.path() / "film.mp4");
  } catch (const Error& error) {
    message = error.what();
  }
  signal(SIGPIPE, old_handler);
  setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(message, ::testing::HasSubstr("ffmpeg failed: no such codec here"));
  EXPECT_FALSE(fs::exists(folder_.path() / "film.mp4"));
}

}  // namespace
}  // namespace metronome
