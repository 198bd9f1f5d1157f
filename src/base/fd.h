// The owner of a file descriptor.
//
// Owned by whoever holds it; moves, never copies. Any thread, not several at once.
#pragma once

#include <unistd.h>

#include <utility>

namespace accl {

/// Closes its file descriptor when it goes. -1: owns nothing.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Gives the descriptor away; the caller closes it.
  int release() { return std::exchange(fd_, -1); }
  /// Closes what is owned and owns `fd` from now on. Not repeated after EINTR: Linux has closed the
  /// descriptor by then, and a second try could hit one that another thread has just opened.
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace accl
