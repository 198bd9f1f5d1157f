// The process's event loop: file descriptors, timers, and tasks that other threads hand in.
//
// Owned by the engine. One thread, the owner, calls run_once() for the whole life; everything else
// is for that thread too (from handlers, timers, tasks), except post(), wake() and
// in_owner_thread(), which any thread may call. Handlers must not block. It must outlive whatever
// has registered with it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/base/fd.h"
#include "src/base/status.h"

namespace accl {

class Reactor {
 public:
  using Handler = std::function<void(uint32_t events)>;
  using Task = std::function<void()>;
  using TimerId = uint64_t;  ///< 0 is never given out

  /// system_error if the system refuses the epoll or the event descriptor.
  static Result<std::unique_ptr<Reactor>> create();
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  /// Watches `fd` (still the caller's, who calls remove() before closing it) for EPOLL* `events`,
  /// level-triggered. The handler may remove any descriptor, its own too.
  Status add(int fd, uint32_t events, Handler handler);
  /// Changes the events of a watched descriptor.
  void modify(int fd, uint32_t events);
  /// Stops watching; no handler call for `fd` starts after this. Unknown descriptors are ignored.
  void remove(int fd);

  /// Runs `task` once, `delay_ms` from now.
  TimerId after(uint64_t delay_ms, Task task);
  /// Forgets a timer; nothing happens if it has fired. 0 is ignored.
  void cancel(TimerId timer);

  /// Keeps something alive that works by itself from now on, until let_go() or the reactor's end.
  void keep(std::shared_ptr<void> object) { kept_.push_back(std::move(object)); }
  void let_go(const void* object);

  /// Waits at most `timeout_ms` (0: not at all, -1: until something happens) and runs what is due.
  /// Returns how many handlers, timers and tasks ran.
  int run_once(int timeout_ms);

  /// Any thread: runs `task` in the owner's thread, in order of posting, before
  /// the handlers of what happens afterwards.
  void post(Task task);
  /// Any thread: makes a run_once() that sleeps return.
  void wake();
  /// Any thread: true in the thread that runs run_once().
  bool in_owner_thread() const { return owner_.load() == pthread_self(); }
  /// The epoll descriptor: readable when run_once() would find something besides timers.
  int epoll_fd() const { return epoll_.get(); }
  /// Owner: descriptors watched, for tests and reports.
  size_t watched() const { return watches_.size(); }

 private:
  struct Watch {
    uint32_t generation;
    Handler handler;
  };
  struct Timer {
    TimerId id;
    Task task;
  };

  Reactor(Fd epoll, Fd event);
  int wait_ms(int timeout_ms) const;
  int run_timers();
  int run_tasks();

  Fd epoll_;
  Fd event_;
  std::atomic<pthread_t> owner_{};
  std::unordered_map<int, std::shared_ptr<Watch>> watches_;
  uint32_t next_generation_ = 1;
  std::multimap<uint64_t, Timer> timers_;  ///< by the time they are due, ns
  TimerId next_timer_ = 1;
  std::vector<std::shared_ptr<void>> kept_;
  std::mutex mutex_;
  std::vector<Task> tasks_;    ///< guarded by mutex_
  std::vector<Task> running_;  ///< taken out of tasks_; the owner's
  size_t next_running_ = 0;
};

/// Runs `task` in the reactor's owner thread (directly if that is the caller's) and waits for its
/// end, at most `timeout_ms`. False: not done by then; it may still run later, so `task` must own
/// what it uses.
bool run_in(Reactor& reactor, Reactor::Task task, uint64_t timeout_ms);

}  // namespace accl
