// The library's own threads: named, and with signals blocked so that the signals of the program
// that uses us are handled by its own threads. Only those that a fault of the thread itself raises
// stay open: a crash handler of the program shall see our crashes too.
//
// Owned by whoever needs the thread; start and join from any one thread at a time.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "src/base/status.h"

namespace accl {

class Thread {
 public:
  Thread() = default;
  /// Starts `body` on a new thread that debuggers and `top -H` show as `name` (15 characters
  /// count). system_error if the system refuses one (limits of processes or memory).
  static Result<Thread> start(const char* name, std::function<void()> body);

  ~Thread() { join(); }
  Thread(Thread&& other) noexcept
      : handle_(other.handle_), joinable_(std::exchange(other.joinable_, false)) {}
  Thread& operator=(Thread&& other) noexcept {
    join();
    handle_ = other.handle_;
    joinable_ = std::exchange(other.joinable_, false);
    return *this;
  }

  /// Waits for the end of the body; at once if there is none. The owner has told it to end before.
  void join() {
    if (std::exchange(joinable_, false)) pthread_join(handle_, nullptr);
  }
  bool joinable() const { return joinable_; }
  /// Gives up the thread: it ends by itself.
  void detach() {
    if (std::exchange(joinable_, false)) pthread_detach(handle_);
  }
  /// In a child after fork(): the thread does not exist here; forgets it without a system call.
  void forget() { joinable_ = false; }

 private:
  pthread_t handle_{};
  bool joinable_ = false;
};

inline Result<Thread> Thread::start(const char* name, std::function<void()> body) {
  auto owned = std::make_unique<std::function<void()>>(std::move(body));
  const auto entry = [](void* argument) -> void* {
    const std::unique_ptr<std::function<void()>> mine(
        static_cast<std::function<void()>*>(argument));
    (*mine)();
    return nullptr;
  };
  // A new thread inherits the mask of its creator: block here, so that there is no unblocked
  // moment.
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
    sigdelset(&blocked, fault);
  }
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  Thread thread;
  const int error = pthread_create(&thread.handle_, nullptr, entry, owned.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    return system_error(std::string("cannot start thread '") + name + "': " + strerror(error) +
                        " (see the limits on processes, `ulimit -u`, and memory)");
  }
  static_cast<void>(owned.release());
  thread.joinable_ = true;
  std::array<char, 16> shown{};
  std::strncpy(shown.data(), name, shown.size() - 1);
  pthread_setname_np(thread.handle_, shown.data());
  return thread;
}

}  // namespace accl
