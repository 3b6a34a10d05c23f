#include "metronome/core/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/file_calls.h"
#include "metronome/core/error.h"
#include "support/allocation_counter.h"
#include "support/temporary_folder.h"

namespace metronome {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

/// The message of the Error (kInputOutput) that `action` throws; empty, and a failure, when it throws none.
std::string Failure(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kInputOutput);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "did not fail";
  return "";
}

/// All bytes 0 to 255, again and again.
std::string Pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 7 + i / 256) & 0xff);
  return bytes;
}

/// No file may grow past `bytes` while this lives; a write then fails with EFBIG, as a full disk does with
/// ENOSPC.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_limit_);
    rlimit limit = old_limit_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_limit_ = {};
  void (*old_handler_)(int);
};

/// Acts as a user without special rights, for whom read-only means it, while this lives.
class OrdinaryUser {
 public:
  OrdinaryUser() : was_root_(geteuid() == 0) {
    if (was_root_) {
      EXPECT_EQ(seteuid(65534), 0);
    }
  }
  ~OrdinaryUser() {
    if (was_root_) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }

 private:
  bool was_root_;
};

class FileTest : public testing::Test {
 protected:
  fs::path Path(const std::string& name) const { return folder_.path() / name; }

  /// Everything in the folder, deep, as relative paths.
  std::set<std::string> Listing() const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      names.insert(fs::relative(entry.path(), folder_.path()).string());
    }
    return names;
  }

  TemporaryFolder folder_;
};

using ReadFileTest = FileTest;

TEST_F(ReadFileTest, BringsBackWhatWasWritten) {
  for (const std::size_t size : {0u, 1u, 16383u, 16384u, 16385u, 1'000'000u}) {
    WriteFileWhole(Path("file"), Pattern(size));
    EXPECT_EQ(ReadFile(Path("file")), Pattern(size)) << size;
  }
}

TEST_F(ReadFileTest, AFileLargerThanAllowedIsRefused) {
  WriteFileWhole(Path("file"), Pattern(100));
  EXPECT_EQ(ReadFile(Path("file"), 100).size(), 100u);
  EXPECT_THAT(Failure([&] { ReadFile(Path("file"), 99); }),
              AllOf(StartsWith(Path("file").string()), HasSubstr("99 bytes allowed")));
}

TEST_F(ReadFileTest, AFileThatIsFarTooLargeTakesNoMemory) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  WriteFileWhole(Path("file"), "x");
  fs::resize_file(Path("file"), std::uintmax_t{1} << 32);  // a hole: takes no disk
  const AllocationScope scope;
  const std::string message = Failure([&] { ReadFile(Path("file"), 1000); });
  EXPECT_LT(scope.bytes(), 100'000);
  EXPECT_THAT(message, HasSubstr("1000 bytes allowed"));
}

TEST_F(ReadFileTest, AFileThatSaysNoSizeIsReadToItsEnd) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const std::string bytes = Pattern(50'000);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int end = open(Path("pipe").c_str(), O_WRONLY);
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t written = write(end, bytes.data() + done, bytes.size() - done);
      if (written <= 0) _exit(1);
      done += static_cast<std::size_t>(written);
    }
    _exit(0);
  }
  EXPECT_EQ(ReadFile(Path("pipe")), bytes);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
}

TEST_F(ReadFileTest, NamesTheFileAndTheReason) {
  EXPECT_THAT(Failure([&] { ReadFile(Path("none")); }),
              AllOf(StartsWith(Path("none").string() + ": cannot open"), HasSubstr("No such file")));
  EXPECT_THAT(Failure([&] { ReadFile(folder_.path()); }),
              AllOf(StartsWith(folder_.path().string() + ": cannot read"), HasSubstr("directory")));
  EXPECT_THAT(Failure([&] { ReadFile(""); }), HasSubstr("cannot open"));
  WriteFileWhole(Path("closed"), "x");
  fs::permissions(Path("closed"), fs::perms::none);
  fs::permissions(folder_.path(), fs::perms::all);
  const OrdinaryUser user;
  EXPECT_THAT(Failure([&] { ReadFile(Path("closed")); }), HasSubstr("Permission denied"));
}

using WriteFileWholeTest = FileTest;

TEST_F(WriteFileWholeTest, LeavesNothingButTheFile) {
  WriteFileWhole(Path("file"), "one");
  EXPECT_THAT(Listing(), UnorderedElementsAre("file"));
  WriteFileWhole(Path("file"), "two");
  EXPECT_THAT(Listing(), UnorderedElementsAre("file"));
  EXPECT_EQ(ReadFile(Path("file")), "two");
}

TEST_F(WriteFileWholeTest, AReaderOfTheOlderFileKeepsIt) {
  // The new bytes go into another file: nobody ever sees half of them.
  WriteFileWhole(Path("file"), "older");
  const int older = open(Path("file").c_str(), O_RDONLY);
  WriteFileWhole(Path("file"), "newer");
  char bytes[6] = {};
  EXPECT_EQ(read(older, bytes, 5), 5);
  EXPECT_STREQ(bytes, "older");
  close(older);
}

TEST_F(WriteFileWholeTest, AMissingFolderIsNamed) {
  EXPECT_THAT(Failure([&] { WriteFileWhole(Path("none/file"), "x"); }),
              AllOf(StartsWith(Path("none").string()), HasSubstr("No such file")));
  EXPECT_TRUE(Listing().empty());
}

TEST_F(WriteFileWholeTest, AFolderThatIsReadOnlyKeepsItsOlderFile) {
  fs::create_directory(Path("closed"));
  WriteFileWhole(Path("closed/file"), "older");
  fs::permissions(Path("closed"), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read |
                                      fs::perms::others_exec);
  fs::permissions(folder_.path(), fs::perms::all);
  {
    const OrdinaryUser user;
    EXPECT_THAT(Failure([&] { WriteFileWhole(Path("closed/file"), "newer"); }),
                AllOf(StartsWith(Path("closed").string()), HasSubstr("Permission denied")));
    EXPECT_THAT(Failure([&] { WriteFileWhole(Path("closed/other"), "newer"); }),
                HasSubstr("Permission denied"));
  }
  EXPECT_THAT(Listing(), UnorderedElementsAre("closed", "closed/file"));
  EXPECT_EQ(ReadFile(Path("closed/file")), "older");
}

TEST_F(WriteFileWholeTest, APathThatIsAFolderIsNotReplaced) {
  fs::create_directory(Path("folder"));
  WriteFileWhole(Path("folder/inside"), "kept");
  EXPECT_THAT(Failure([&] { WriteFileWhole(Path("folder"), "x"); }), StartsWith(Path("folder").string()));
  EXPECT_THAT(Listing(), UnorderedElementsAre("folder", "folder/inside"));
}

TEST_F(WriteFileWholeTest, AnEmptyPathIsRefused) {
  EXPECT_THAT(Failure([&] { WriteFileWhole("", "x"); }), HasSubstr("cannot"));
}

TEST_F(WriteFileWholeTest, AWriteThatFailsHalfwayKeepsTheOlderFile) {
  WriteFileWhole(Path("file"), "older");
  {
    const FileSizeLimit limit(64 * 1024);
    EXPECT_THAT(Failure([&] { WriteFileWhole(Path("file"), Pattern(1'000'000)); }),
                HasSubstr("cannot write: "));
    EXPECT_THAT(Failure([&] { WriteFileWhole(Path("new"), Pattern(1'000'000)); }),
                HasSubstr("cannot write: "));
  }
  EXPECT_THAT(Listing(), UnorderedElementsAre("file"));
  EXPECT_EQ(ReadFile(Path("file")), "older");
}

TEST_F(WriteFileWholeTest, AtEveryMomentOfAKillTheFileIsWhole) {
  // A child writes one of two contents again and again and is killed.
  const std::string first = Pattern(300'000);
  const std::string second(200'000, 'b');
  WriteFileWhole(Path("file"), first);
  for (int round = 0; round < 30; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      while (true) {
        WriteFileWhole(Path("file"), second);
        WriteFileWhole(Path("file"), first);
      }
    }
    usleep(static_cast<useconds_t>(500 + round * 331));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const std::string bytes = ReadFile(Path("file"));
    ASSERT_TRUE(bytes == first || bytes == second) << "round " << round << ": " << bytes.size() << " bytes";
  }
  WholeFolder::RemoveTemporaries(folder_.path());
  EXPECT_THAT(Listing(), UnorderedElementsAre("file"));
}

/// The calls of `action`, by name.
std::vector<std::string> CallsOf(const std::function<void()>& action) {
  static std::vector<std::string> calls;
  calls.clear();
  file_calls.open = [](const char* path, int flags) {
    calls.push_back((flags & O_CREAT) != 0 ? "create" : "open");
    return kSystemFileCalls.open(path, flags);
  };
  file_calls.write = [](int descriptor, const void* bytes, std::size_t count) {
    calls.push_back("write");
    return kSystemFileCalls.write(descriptor, bytes, count);
  };
  file_calls.sync = [](int descriptor) {
    calls.push_back("sync");
    return kSystemFileCalls.sync(descriptor);
  };
  file_calls.rename = [](const char* from, const char* to) {
    calls.push_back("rename");
    return kSystemFileCalls.rename(from, to);
  };
  action();
  file_calls = kSystemFileCalls;
  return calls;
}

TEST_F(WriteFileWholeTest, BringsTheBytesToTheDiskBeforeTheNameAndTheNameAfter) {
  EXPECT_THAT(CallsOf([&] { WriteFileWhole(Path("file"), "x"); }),
              testing::ElementsAre("create", "write", "sync", "rename", "open", "sync"));
}

using WholeFolderTest = FileTest;

TEST_F(WholeFolderTest, AppearsUnderItsNameOnlyWhenCommitted) {
  WholeFolder folder(Path("100"));
  WriteFileWhole(folder.path() / "weights", "abc");
  fs::create_directory(folder.path() / "deep");
  WriteFileWhole(folder.path() / "deep" / "more", "def");
  EXPECT_FALSE(fs::exists(Path("100")));
  EXPECT_EQ(folder.path().parent_path(), folder_.path()) << "a rename must not cross file systems";
  EXPECT_THAT(folder.path().filename().string(), StartsWith(std::string(WholeFolder::kTemporaryPrefix)));
  folder.Commit();
  EXPECT_THAT(Listing(), UnorderedElementsAre("100", "100/weights", "100/deep", "100/deep/more"));
  EXPECT_EQ(ReadFile(Path("100/deep/more")), "def");
}

TEST_F(WholeFolderTest, WithoutCommitNothingIsLeft) {
  {
    const WholeFolder folder(Path("100"));
    WriteFileWhole(folder.path() / "weights", "abc");
  }
  EXPECT_TRUE(Listing().empty());
}

TEST_F(WholeFolderTest, TakesThePlaceOfAnOlderOneAltogether) {
  for (const char* content : {"first", "second", "third"}) {
    WholeFolder folder(Path("best"));
    WriteFileWhole(folder.path() / content, content);
    folder.Commit();
    EXPECT_THAT(Listing(), UnorderedElementsAre("best", std::string("best/") + content));
  }
}

TEST_F(WholeFolderTest, AnUnfinishedOneHarmsNoOlderOne) {
  {
    WholeFolder folder(Path("best"));
    WriteFileWhole(folder.path() / "weights", "older");
    folder.Commit();
  }
  {
    WholeFolder folder(Path("best"));
    const FileSizeLimit limit(1024);
    Failure([&] { WriteFileWhole(folder.path() / "weights", Pattern(100'000)); });
  }
  EXPECT_THAT(Listing(), UnorderedElementsAre("best", "best/weights"));
  EXPECT_EQ(ReadFile(Path("best/weights")), "older");
}

TEST_F(WholeFolderTest, WhatAKilledProcessLeftIsRemovedAndNothingElse) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    WholeFolder folder(Path("200"));
    WriteFileWhole(folder.path() / "weights", "half");
    _exit(0);  // no destructor runs, as after a kill
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  WriteFileWhole(Path("kept"), "x");
  fs::create_directory(Path("100"));
  EXPECT_EQ(Listing().size(), 4u);
  WholeFolder::RemoveTemporaries(folder_.path());
  EXPECT_THAT(Listing(), UnorderedElementsAre("kept", "100"));
}

TEST_F(WholeFolderTest, ItsOwnLeftoversAreNoObstacle) {
  const std::string temporary = WholeFolder(Path("100")).path().string();
  fs::create_directories(temporary + "/old");
  WholeFolder folder(Path("100"));
  EXPECT_EQ(folder.path(), temporary);
  folder.Commit();
  EXPECT_THAT(Listing(), UnorderedElementsAre("100"));
}

TEST_F(WholeFolderTest, AFolderThatCannotBeMadeIsNamed) {
  EXPECT_THAT(Failure([&] { WholeFolder folder(Path("none/100")); }),
              AllOf(StartsWith(Path("none").string()), HasSubstr("cannot create")));
}

#ifdef RENAME_EXCHANGE
TEST_F(WholeFolderTest, TheNameIsNeverAbsentWhileOneTakesThePlaceOfAnother) {
  fs::create_directory(Path("a"));
  fs::create_directory(Path("b"));
  if (renameat2(AT_FDCWD, Path("a").c_str(), AT_FDCWD, Path("b").c_str(), RENAME_EXCHANGE) != 0) {
    GTEST_SKIP() << "the file system of " << folder_.path() << " can't exchange two names";
  }
  WholeFolder(Path("best")).Commit();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (int i = 0; i < 60; ++i) WholeFolder(Path("best")).Commit();
    _exit(0);
  }
  int absent = 0;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) absent += access(Path("best").c_str(), F_OK) != 0;
  EXPECT_EQ(status, 0);
  EXPECT_EQ(absent, 0);
}
#endif

TEST_F(WholeFolderTest, AtEveryMomentOfAKillTheFolderIsWhole) {
  const auto write = [&](const std::string& content) {
    WholeFolder folder(Path("best"));
    WriteFileWhole(folder.path() / "first", content);
    WriteFileWhole(folder.path() / "second", content);
    folder.Commit();
  };
  write("start");
  for (int round = 0; round < 30; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 0;; ++i) write(std::to_string(i) + Pattern(5000));
    }
    usleep(static_cast<useconds_t>(1000 + round * 517));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const std::string first = ReadFile(Path("best/first"));
    ASSERT_EQ(first, ReadFile(Path("best/second"))) << "round " << round;
    ASSERT_FALSE(first.empty());
  }
  WholeFolder::RemoveTemporaries(folder_.path());
  EXPECT_THAT(Listing(), UnorderedElementsAre("best", "best/first", "best/second"));
}

using AppendFileTest = FileTest;

TEST_F(AppendFileTest, GrowsByWhatIsAppended) {
  {
    AppendFile file(Path("log"));
    EXPECT_EQ(file.path(), Path("log"));
    file.Append("one\n");
    EXPECT_EQ(ReadFile(Path("log")), "") << "gathered until Flush()";
    file.Flush();
    EXPECT_EQ(ReadFile(Path("log")), "one\n");
    file.Flush();
    file.Append("two\n");
  }
  EXPECT_EQ(ReadFile(Path("log")), "one\ntwo\n");
  {
    AppendFile file(Path("log"));
    file.Append("three\n");
  }
  EXPECT_EQ(ReadFile(Path("log")), "one\ntwo\nthree\n");
}

TEST_F(AppendFileTest, KeepsTheOrderWhateverTheSizes) {
  std::string expected;
  {
    AppendFile file(Path("log"));
    for (const std::size_t size : {1u, 65'535u, 65'536u, 65'537u, 3u, 200'000u, 30'000u, 40'000u, 0u, 7u}) {
      const std::string bytes = Pattern(size);
      file.Append(bytes);
      expected += bytes;
    }
  }
  EXPECT_EQ(ReadFile(Path("log")), expected);
}

TEST_F(AppendFileTest, AllocatesNothing) {
  METRONOME_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  AppendFile file(Path("log"));
  const std::string row(100, 'x');
  const std::string large(100'000, 'y');
  const AllocationScope scope;
  for (int i = 0; i < 3000; ++i) file.Append(row);
  file.Append(large);
  file.Flush();
  EXPECT_EQ(scope.count(), 0);
  EXPECT_EQ(fs::file_size(Path("log")), 400'000u);
}

TEST_F(AppendFileTest, AFailedWriteIsToldAndMadeUpForLater) {
  AppendFile file(Path("log"));
  file.Append("kept\n");
  file.Flush();
  {
    const FileSizeLimit limit(7);  // room for two bytes more
    file.Append("late\n");
    EXPECT_THAT(Failure([&] { file.Flush(); }),
                AllOf(StartsWith(Path("log").string()), HasSubstr("cannot write: ")));
    EXPECT_EQ(ReadFile(Path("log")), "kept\nla");
  }
  file.Append("more\n");
  file.Flush();
  EXPECT_EQ(ReadFile(Path("log")), "kept\nlate\nmore\n") << "nothing twice, nothing missing in the middle";
  EXPECT_EQ(file.lost(), 0);
}

TEST_F(AppendFileTest, WhereThereIsNoRoomForLongWholeRowsAreLeftOutAndCounted) {
  AppendFile file(Path("log"));
  {
    const FileSizeLimit limit(10);
    for (int i = 0; i < 1000; ++i) file.Append(std::string(99, 'x') + "\n");
    EXPECT_THAT(Failure([&] { file.Flush(); }), HasSubstr("cannot write: "));
  }
  file.Append("end\n");
  file.Flush();
  const std::string text = ReadFile(Path("log"));
  EXPECT_EQ(file.lost(), 1000 - (static_cast<std::int64_t>(text.size()) - 4) / 100);
  EXPECT_GT(file.lost(), 300);
  for (std::size_t at = 99; at + 4 < text.size(); at += 100) ASSERT_EQ(text[at], '\n') << at;
  EXPECT_TRUE(text.ends_with("\nend\n"));
}

TEST_F(AppendFileTest, SyncBringsTheRowsToTheDiskAndTellsWhenItCannot) {
  AppendFile file(Path("log"));
  file.Append("row\n");
  file.Sync();
  EXPECT_EQ(ReadFile(Path("log")), "row\n");
  file_calls.sync = [](int) {
    errno = EIO;
    return -1;
  };
  EXPECT_THAT(Failure([&] { file.Sync(); }),
              AllOf(StartsWith(Path("log").string()), HasSubstr("flush to disk")));
  file_calls = kSystemFileCalls;
}

TEST_F(AppendFileTest, AFileThatCannotBeOpenedIsNamed) {
  EXPECT_THAT(Failure([&] { AppendFile file(Path("none/log")); }),
              AllOf(StartsWith(Path("none/log").string() + ": cannot open"), HasSubstr("No such file")));
  EXPECT_THAT(Failure([&] { AppendFile file(folder_.path()); }), HasSubstr("directory"));
}

using LinkOrCopyFileTest = FileTest;

TEST_F(LinkOrCopyFileTest, MakesASecondNameOrACopyWhereThereAreNone) {
  WriteFileWhole(Path("one"), "content");
  LinkOrCopyFile(Path("one"), Path("linked"));
  EXPECT_EQ(fs::hard_link_count(Path("one")), 2u);
  for (const int reason : {EPERM, EXDEV, EMLINK, ENOTSUP}) {
    static int failure;
    failure = reason;
    file_calls.link = [](const char*, const char*) {
      errno = failure;
      return -1;
    };
    LinkOrCopyFile(Path("one"), Path("copied"));
    file_calls = kSystemFileCalls;
    EXPECT_EQ(fs::hard_link_count(Path("copied")), 1u);
    EXPECT_EQ(ReadFile(Path("copied")), "content");
    fs::remove(Path("copied"));
  }
  EXPECT_THAT(Failure([&] { LinkOrCopyFile(Path("one"), Path("linked")); }), HasSubstr("cannot link"));
}

using RemoveFolderTest = FileTest;

TEST_F(RemoveFolderTest, RemovesTheFolderWithAllInIt) {
  fs::create_directories(Path("100/deep"));
  WriteFileWhole(Path("100/deep/file"), "x");
  WriteFileWhole(Path("kept"), "x");
  RemoveFolder(Path("100"));
  EXPECT_THAT(Listing(), UnorderedElementsAre("kept"));
}

TEST_F(RemoveFolderTest, ItsOwnLeftoversAreNoObstacle) {
  const std::string temporary = WholeFolder(Path("100")).path().string();
  fs::create_directories(temporary + "/old");
  fs::create_directories(Path("100"));
  RemoveFolder(Path("100"));
  EXPECT_TRUE(Listing().empty());
}

TEST_F(RemoveFolderTest, WhatCannotBeRemovedIsNamed) {
  EXPECT_THAT(Failure([&] { RemoveFolder(Path("none")); }),
              AllOf(StartsWith(Path("none").string() + ": cannot remove"), HasSubstr("No such file")));
}

using CreateNewFolderTest = FileTest;

TEST_F(CreateNewFolderTest, CreatesItWithItsParentsOnce) {
  EXPECT_TRUE(CreateNewFolder(Path("runs/cartpole/1")));
  EXPECT_TRUE(fs::is_directory(Path("runs/cartpole/1")));
  WriteFileWhole(Path("runs/cartpole/1/log"), "kept");
  EXPECT_FALSE(CreateNewFolder(Path("runs/cartpole/1")));
  EXPECT_EQ(ReadFile(Path("runs/cartpole/1/log")), "kept");
  EXPECT_TRUE(CreateNewFolder(Path("runs/cartpole/2")));
}

TEST_F(CreateNewFolderTest, AFileOfThatNameIsThereAlready) {
  WriteFileWhole(Path("file"), "x");
  EXPECT_FALSE(CreateNewFolder(Path("file")));
  EXPECT_EQ(ReadFile(Path("file")), "x");
  EXPECT_THAT(Failure([&] { CreateNewFolder(Path("file/inside")); }), HasSubstr("cannot create"));
}

}  // namespace
}  // namespace metronome
