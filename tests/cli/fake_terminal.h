#ifndef METRONOME_TESTS_CLI_FAKE_TERMINAL_H_
#define METRONOME_TESTS_CLI_FAKE_TERMINAL_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

namespace metronome {

/// A terminal that keeps what is written to it.
class FakeTerminal {
 public:
  explicit FakeTerminal(unsigned short width) {
    master_ = posix_openpt(O_RDWR | O_NOCTTY);
    EXPECT_EQ(grantpt(master_), 0);
    EXPECT_EQ(unlockpt(master_), 0);
    descriptor_ = open(ptsname(master_), O_RDWR | O_NOCTTY);
    EXPECT_GE(descriptor_, 0);
    winsize size{};
    size.ws_col = width;
    size.ws_row = 25;
    EXPECT_EQ(ioctl(descriptor_, TIOCSWINSZ, &size), 0);
    EXPECT_EQ(fcntl(master_, F_SETFL, O_NONBLOCK), 0);
  }
  ~FakeTerminal() {
    close(descriptor_);
    close(master_);
  }
  FakeTerminal(const FakeTerminal&) = delete;
  FakeTerminal& operator=(const FakeTerminal&) = delete;

  int descriptor() const { return descriptor_; }

  void Resize(unsigned short width) {
    winsize size{};
    size.ws_col = width;
    size.ws_row = 25;
    EXPECT_EQ(ioctl(descriptor_, TIOCSWINSZ, &size), 0);
  }

  /// What arrived since the last call. The kernel may take a moment to pass it on.
  std::string Read() {
    std::string text;
    pollfd readable = {.fd = master_, .events = POLLIN, .revents = 0};
    while (poll(&readable, 1, text.empty() ? 500 : 50) == 1) {
      char block[4096];
      const ssize_t size = read(master_, block, sizeof(block));
      if (size <= 0) {
        break;
      }
      text.append(block, static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  int master_ = -1;
  int descriptor_ = -1;
};

}  // namespace metronome

#endif  // METRONOME_TESTS_CLI_FAKE_TERMINAL_H_
