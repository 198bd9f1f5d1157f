#include "device/host/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "device/host/runtime.h"
#include "device/host/stream.h"
#include "src/base/thread.h"

namespace accl::host {
namespace {

constexpr uint64_t kShortestNapUs = 50;
constexpr uint64_t kLongestNapUs = 1000;
/// A stream that was empty on this many visits in a row (some 5 ms) is forgotten.
constexpr uint32_t kIdleVisits = 8;

}  // namespace

Status Worker::start() {
  Thread thread =
      ACCL_TRY(Thread::start(fmt::format("accl-host-{}", device_).c_str(), [this] { loop(); }));
  thread.detach();
  return {};
}

void Worker::ring(Stream* fresh, bool prompt) {
  // A known stream keeps the worker from sleeping: at most a nap has to end.
  if (fresh == nullptr && !(prompt && rest_.load(std::memory_order_relaxed) == Rest::kNapping)) {
    return;
  }
  const std::scoped_lock hold(mutex_);
  if (fresh != nullptr) fresh->next_listed_ = std::exchange(incoming_, fresh);
  const Rest rest = rest_.load(std::memory_order_relaxed);
  if (rest == Rest::kSleeping || (rest == Rest::kNapping && prompt)) {
    prompted_ = true;
    wake_.notify_one();
  }
}

void Worker::loop() {
  while (true) {
    adopt_incoming();
    if (visit_all()) {
      nap_us_ = 0;
    } else {
      rest();
    }
  }
}

void Worker::adopt_incoming() {
  Stream* fresh = nullptr;
  {
    const std::scoped_lock hold(mutex_);
    fresh = std::exchange(incoming_, nullptr);
  }
  while (fresh != nullptr) {
    Stream* const following = fresh->next_listed_;
    fresh->idle_visits_ = 0;
    fresh->next_listed_ = listed_;
    listed_ = fresh;
    fresh = following;
  }
}

bool Worker::visit_all() {
  bool moved = false;
  Stream** link = &listed_;
  while (*link != nullptr) {
    Stream* const stream = *link;
    // Up to what is there now, so that a stream that is fed all the time does not keep the others.
    Goal blocked_on;
    moved |= stream->run(stream->submitted(), false, &blocked_on);
    const bool empty = stream->idle() || stream->failed();
    stream->idle_visits_ = empty ? stream->idle_visits_ + 1 : 0;
    const bool closed = stream->handle.load(std::memory_order_acquire) == 0;
    bool unused = false;
    Stream* const following = stream->next_listed_;
    if ((closed || stream->idle_visits_ >= kIdleVisits) && stream->unlist(&unused)) {
      // From here on the stream may be listed anew by others; its link is theirs.
      *link = following;
      if (unused) runtime_.streams.give_back(stream);
    } else {
      link = &stream->next_listed_;
    }
  }
  return moved;
}

void Worker::rest() {
  nap_us_ = nap_us_ == 0 ? kShortestNapUs : std::min(nap_us_ * 2, kLongestNapUs);
  std::unique_lock hold(mutex_);
  if (listed_ == nullptr) {
    rest_.store(Rest::kSleeping, std::memory_order_relaxed);
    wake_.wait(hold, [this] { return incoming_ != nullptr; });
    nap_us_ = 0;
  } else {
    rest_.store(Rest::kNapping, std::memory_order_relaxed);
    wake_.wait_for(hold, std::chrono::microseconds(nap_us_), [this] { return prompted_; });
    if (prompted_) nap_us_ = 0;
  }
  prompted_ = false;
  rest_.store(Rest::kAwake, std::memory_order_relaxed);
}

}  // namespace accl::host
