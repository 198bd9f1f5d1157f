#include "src/engine/engine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <new>

#include "src/base/clock.h"
#include "src/base/log.h"

namespace accl {
namespace {

// A caller that has just driven its work will most likely come back to wait for it: the engine
// leaves work alone for so long, because a second spinning thread would take a core from a rank.
constexpr uint64_t kLeaveToCallersNs = 100 * kNsPerUs;
// A caller that waits comes back often; a stream's worker that looks in now and then does not
// count.
constexpr uint32_t kBusyCaller = 4;
// How long one communicator is driven before the others get their turn.
constexpr uint64_t kSliceNs = 50 * kNsPerUs;
constexpr uint64_t kSpinNs = 50 * kNsPerUs;
constexpr uint64_t kYieldNs = 500 * kNsPerUs;
constexpr int kBlockedSleepMs = 5;
constexpr uint64_t kLookNs = kNsPerMs;

}  // namespace

Engine::Engine(std::unique_ptr<Reactor> reactor, Sleeper sleeper)
    : reactor_(std::move(reactor)), sleeper_(sleeper) {}

Result<std::unique_ptr<Engine>> Engine::start(Sleeper sleeper) {
  auto reactor = ACCL_TRY(Reactor::create());
  std::unique_ptr<Engine> engine(new Engine(std::move(reactor), sleeper));
  Engine* raw = engine.get();
  // Being woken is all that the bell is for; `sleep_blocked` empties it.
  ACCL_TRY(raw->reactor_->add(sleeper.eventfd(), EPOLLIN, [](uint32_t) {}));
  engine->thread_ = ACCL_TRY(Thread::start("accl-engine", [raw] { raw->run(); }));
  return engine;
}

Engine::~Engine() {
  stop_.store(true);
  reactor_->wake();
  thread_.join();
}

void Engine::add(Driven* driven) {
  const std::lock_guard lock(mutex_);
  charges_.push_back({.driven = driven});
}

void Engine::remove(Driven* driven) {
  const std::lock_guard lock(mutex_);
  std::erase_if(charges_, [&](const Charge& c) { return c.driven == driven; });
}

void Engine::kick() {
  if (asleep_.exchange(false)) reactor_->wake();
}

// Sleeps until something is kicked, or for so long. Peers do not wake it: nothing waits for them.
void Engine::doze(int timeout_ms) {
  asleep_.store(true);
  // Work may have come between the last look and the announcement.
  const Round last_look = round();
  const bool awaited =
      last_look == Round::kNothing || (last_look == Round::kOthersDrive && timeout_ms >= 0);
  reactor_->run_once(awaited ? timeout_ms : 0);
  asleep_.store(false);
}

// Sleeps until a peer has moved: the one state in which peers are asked to ring.
void Engine::sleep_blocked() {
  asleep_.store(true);
  sleeper_.prepare();
  const int limit = sleeper_.max_sleep_ms();
  const int timeout = limit < 0 ? kBlockedSleepMs : std::min(limit, kBlockedSleepMs);
  reactor_->run_once(round() == Round::kBlocked ? timeout : 0);
  sleeper_.awake();
  asleep_.store(false);
}

void Engine::run() {
  while (!stop_.load(std::memory_order_relaxed)) {
    try {
      turn();
    } catch (const std::bad_alloc&) {
      // The task or message at hand is lost, and whoever waits for it runs into its time-out; the
      // process must live on.
      ACCL_LOG(kWarn, kInit, "the engine is out of memory");
      sched_yield();
    }
  }
}

void Engine::turn() {
  const Round now = round();
  if (now != Round::kBlocked) blocked_since_ns_ = 0;
  switch (now) {
    case Round::kMoved:
      reactor_->run_once(0);
      break;
    case Round::kNothing:
      doze(-1);
      break;
    case Round::kOthersDrive:
      doze(1);
      break;
    case Round::kBlocked: {
      const uint64_t time = now_ns();
      if (blocked_since_ns_ == 0) blocked_since_ns_ = time;
      const uint64_t waited = time - blocked_since_ns_;
      reactor_->run_once(0);
      if (waited > kYieldNs) {
        sleep_blocked();
      } else if (waited > kSpinNs) {
        sched_yield();
      }
      break;
    }
  }
}

Engine::Round Engine::round() {
  const std::lock_guard lock(mutex_);
  Round result = Round::kNothing;
  for (Charge& charge : charges_) {
    if (charge.driven->has_work()) result = std::max(result, drive(charge, now_ns()));
  }
  return result;
}

Engine::Round Engine::drive(Charge& charge, uint64_t now) {
  Driven& driven = *charge.driven;
  const uint32_t seen = driven.driven_by_callers.load(std::memory_order_relaxed);
  if (charge.since_ns == 0 || seen - charge.seen > kBusyCaller) charge.since_ns = now;
  charge.seen = seen;
  if (now - charge.since_ns < kLeaveToCallersNs) return Round::kOthersDrive;
  if (!driven.try_borrow()) return Round::kOthersDrive;
  Round result = Round::kNothing;
  for (uint64_t end = now + kSliceNs;;) {
    const Drive step = driven.drive();
    if (step == Drive::kBlocked) result = std::max(result, Round::kBlocked);
    if (step != Drive::kMoved) break;
    result = Round::kMoved;
    if (now_ns() > end) break;
  }
  if (result == Round::kBlocked && now - charge.looked_ns > kLookNs) {
    charge.looked_ns = now;
    driven.look_around(now);
  }
  driven.give_back();
  return result;
}

}  // namespace accl
