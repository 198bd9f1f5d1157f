#include "src/base/reactor.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <string>
#include <utility>

#include "src/base/clock.h"

namespace accl {

Result<std::unique_ptr<Reactor>> Reactor::create() {
  Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) {
    return system_error(std::string("cannot create an epoll descriptor: ") + strerror(errno));
  }
  Fd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) {
    return system_error(std::string("cannot create an event descriptor: ") + strerror(errno));
  }
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.u64 = 0;  // generation 0: our own
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &wanted) != 0) {
    return system_error(std::string("cannot watch an event descriptor: ") + strerror(errno));
  }
  return std::unique_ptr<Reactor>(new Reactor(std::move(epoll), std::move(event)));
}

Reactor::Reactor(Fd epoll, Fd event) : epoll_(std::move(epoll)), event_(std::move(event)) {}

Reactor::~Reactor() {
  // What goes may call remove() or post() once more, so take it out of the members first.
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  const auto running = std::exchange(running_, {});
  auto kept = std::exchange(kept_, {});
  kept.clear();
  auto timers = std::exchange(timers_, {});
  auto watches = std::exchange(watches_, {});
}

Status Reactor::add(int fd, uint32_t events, Handler handler) {
  const uint32_t generation = next_generation_++;
  if (next_generation_ == 0) next_generation_ = 1;
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.u64 = static_cast<uint64_t>(generation) << 32 | static_cast<uint32_t>(fd);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted) != 0) {
    return system_error("cannot watch descriptor " + std::to_string(fd) + ": " + strerror(errno));
  }
  watches_[fd] = std::make_shared<Watch>(Watch{generation, std::move(handler)});
  return {};
}

void Reactor::modify(int fd, uint32_t events) {
  const auto found = watches_.find(fd);
  if (found == watches_.end()) return;
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.u64 =
      static_cast<uint64_t>(found->second->generation) << 32 | static_cast<uint32_t>(fd);
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &wanted);
}

void Reactor::remove(int fd) {
  const auto found = watches_.find(fd);
  if (found == watches_.end()) return;
  const auto keep = std::move(found->second);  // its handler may own the caller
  watches_.erase(found);
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Reactor::TimerId Reactor::after(uint64_t delay_ms, Task task) {
  const TimerId id = next_timer_++;
  timers_.emplace(now_ns() + delay_ms * kNsPerMs, Timer{id, std::move(task)});
  return id;
}

void Reactor::cancel(TimerId timer) {
  if (timer == 0) return;
  const auto found = std::find_if(timers_.begin(), timers_.end(),
                                  [&](const auto& entry) { return entry.second.id == timer; });
  if (found == timers_.end()) return;
  const auto keep = std::move(found->second);
  timers_.erase(found);
}

void Reactor::let_go(const void* object) {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const auto& kept) { return kept.get() == object; });
  if (found == kept_.end()) return;
  const auto keep = std::move(*found);
  kept_.erase(found);
}

int Reactor::wait_ms(int timeout_ms) const {
  if (next_running_ < running_.size()) return 0;
  if (timers_.empty()) return timeout_ms;
  const uint64_t due = timers_.begin()->first;
  const uint64_t now = now_ns();
  const uint64_t left_ms = due <= now ? 0 : (due - now + kNsPerMs - 1) / kNsPerMs;
  const int timer_ms = static_cast<int>(std::min<uint64_t>(left_ms, 1'000'000));
  return timeout_ms < 0 ? timer_ms : std::min(timeout_ms, timer_ms);
}

int Reactor::run_timers() {
  int ran = 0;
  const uint64_t now = now_ns();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const Timer timer = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    timer.task();
    ++ran;
  }
  return ran;
}

int Reactor::run_tasks() {
  // What stands behind a task that has thrown comes first.
  if (next_running_ == running_.size()) {
    running_.clear();
    next_running_ = 0;
    const std::lock_guard lock(mutex_);
    running_.swap(tasks_);
  }
  int ran = 0;
  for (; next_running_ < running_.size(); ++ran) {
    const Task task = std::move(running_[next_running_++]);
    task();
  }
  return ran;
}

int Reactor::run_once(int timeout_ms) {
  owner_.store(pthread_self());
  std::array<epoll_event, 64> events{};
  const int count =
      epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms(timeout_ms));
  // First the bell, then the tasks: a task posted after we took the list rings again. And tasks
  // before events: what was posted before a peer could act on it comes before the peer's act.
  for (int i = 0; i < count; ++i) {
    uint64_t rings = 0;
    if (events[static_cast<size_t>(i)].data.u64 == 0) {
      static_cast<void>(!::read(event_.get(), &rings, sizeof(rings)));
    }
  }
  int ran = run_tasks();
  for (int i = 0; i < count; ++i) {
    const epoll_event event = events[static_cast<size_t>(i)];
    const auto generation = static_cast<uint32_t>(event.data.u64 >> 32);
    if (generation == 0) continue;
    const auto found = watches_.find(static_cast<int>(event.data.u64 & 0xffffffffu));
    // An earlier handler of this round may have removed it, and the number may be in use again.
    if (found == watches_.end() || found->second->generation != generation) continue;
    const std::shared_ptr<Watch> watch = found->second;
    watch->handler(event.events);
    ++ran;
  }
  return ran + run_timers();
}

void Reactor::post(Task task) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = tasks_.empty();
    tasks_.push_back(std::move(task));
  }
  if (first) wake();
}

void Reactor::wake() {
  const uint64_t one = 1;
  static_cast<void>(!::write(event_.get(), &one, sizeof(one)));
}

bool run_in(Reactor& reactor, Reactor::Task task, uint64_t timeout_ms) {
  if (reactor.in_owner_thread()) {
    task();
    return true;
  }
  struct Wait {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  auto wait = std::make_shared<Wait>();
  reactor.post([wait, task = std::move(task)] {
    task();
    const std::lock_guard lock(wait->mutex);
    wait->done = true;
    wait->changed.notify_all();
  });
  std::unique_lock lock(wait->mutex);
  return wait->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                [&] { return wait->done; });
}

}  // namespace accl
