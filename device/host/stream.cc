#include "device/host/stream.h"

#include <bit>
#include <cstring>
#include <utility>

#include "device/host/backoff.h"
#include "device/host/runtime.h"
#include "device/host/worker.h"
#include "src/base/clock.h"

namespace accl::host {
namespace {

/// How many streams a waiter follows along a chain of waits; further ones are the worker's.
constexpr int kLongestChain = 16;

thread_local int operations_inside = 0;

}  // namespace

bool inside_operation() { return operations_inside > 0; }

void Stream::open(Runtime* runtime, int device) {
  runtime_.store(runtime, std::memory_order_relaxed);
  device_.store(device, std::memory_order_relaxed);
}

bool Stream::close(const void* expected, bool* unused) {
  const std::scoped_lock hold(mutex_);
  if (handle.load(std::memory_order_relaxed) != std::bit_cast<uint64_t>(expected)) return false;
  handle.store(0, std::memory_order_release);
  // A failure ends with its stream; the numbers that will not be reached are passed.
  if (failed()) {
    failed_.store(false, std::memory_order_release);
    completed_.store(submitted_.load(std::memory_order_relaxed), std::memory_order_release);
  }
  *unused = head_ == nullptr && !listed_;
  if (*unused) give_spares_back();
  return true;
}

acclError_t Stream::submit(const void* expected, const Operation& operation) {
  Worker* worker = nullptr;
  bool fresh = false;
  {
    const std::scoped_lock hold(mutex_);
    if (handle.load(std::memory_order_relaxed) != std::bit_cast<uint64_t>(expected)) {
      return acclErrorInvalidHandle;
    }
    if (failed()) return acclErrorLaunchFailure;
    worker = runtime_.load(std::memory_order_relaxed)->worker(device());
    if (worker == nullptr) return acclErrorSystem;
    Node* const node = take_node();
    if (node == nullptr) return acclErrorMemoryAllocation;
    node->operation = operation;
    node->ticket = submitted_.load(std::memory_order_relaxed) + 1;
    node->next = nullptr;
    if (operation.kind == Operation::Kind::kRecord) {
      operation.moment->stream = this;
      operation.moment->ticket = node->ticket;
    }
    (head_ == nullptr ? head_ : tail_->next) = node;
    tail_ = node;
    submitted_.store(node->ticket, std::memory_order_release);
    fresh = !std::exchange(listed_, true);
  }
  // Copies and host functions are what the caller wants done behind its back, at once. The others
  // end by something that happens elsewhere: the worker need not hurry.
  const bool prompt = operation.kind == Operation::Kind::kCopy ||
                      operation.kind == Operation::Kind::kSet ||
                      operation.kind == Operation::Kind::kHostFunction;
  worker->ring(fresh ? this : nullptr, prompt);
  return acclSuccess;
}

acclError_t Stream::wait(uint64_t ticket) {
  const uint32_t failures = failures_.load(std::memory_order_acquire);
  Backoff backoff;
  while (completed() < ticket && !failed()) {
    if (drive({this, ticket}, false)) {
      backoff.reset();
    } else {
      backoff.pause();
    }
  }
  const bool clean = !failed() && failures_.load(std::memory_order_acquire) == failures;
  return clean ? acclSuccess : acclErrorLaunchFailure;
}

void Stream::reset() {
  const std::scoped_lock hold(mutex_);
  if (!failed()) return;
  completed_.store(submitted_.load(std::memory_order_relaxed), std::memory_order_release);
  failed_.store(false, std::memory_order_release);
}

bool Stream::drive(Goal goal, bool quick) {
  bool moved = false;
  for (int hop = 0; hop < kLongestChain; ++hop) {
    Goal blocked_on;
    moved |= goal.stream->run(goal.ticket, quick, &blocked_on);
    if (blocked_on.stream == nullptr) break;
    goal = blocked_on;
  }
  return moved;
}

bool Stream::run(uint64_t until, bool quick, Goal* blocked_on) {
  if (busy_.load(std::memory_order_relaxed) || busy_.exchange(true, std::memory_order_acquire)) {
    return false;
  }
  bool moved = false;
  while (true) {
    // Only the executor takes nodes away: the front stays valid without the lock.
    const Node* front = nullptr;
    {
      const std::scoped_lock hold(mutex_);
      front = head_;
    }
    if (front == nullptr || front->ticket > until) break;
    const Operation& operation = front->operation;
    if (quick && operation.kind <= Operation::Kind::kHostFunction) break;
    const Outcome outcome = execute(operation, blocked_on);
    if (outcome == Outcome::kPending) break;
    if (outcome == Outcome::kFailed) {
      fail_all();
      break;
    }
    finish_front();
    moved = true;
  }
  busy_.store(false, std::memory_order_release);
  return moved;
}

Stream::Outcome Stream::execute(const Operation& operation, Goal* blocked_on) {
  switch (operation.kind) {
    case Operation::Kind::kCopy:
      if (operation.bytes > 0) std::memmove(operation.to, operation.from, operation.bytes);
      return Outcome::kDone;
    case Operation::Kind::kSet:
      if (operation.bytes > 0) std::memset(operation.to, operation.value, operation.bytes);
      return Outcome::kDone;
    case Operation::Kind::kHostFunction:
      ++operations_inside;
      // C has no exceptions: one that leaves the function ends the process, whoever runs it.
      [&]() noexcept { operation.host_function(operation.argument); }();
      --operations_inside;
      return Outcome::kDone;
    case Operation::Kind::kPoll: {
      ++operations_inside;
      const acclPoll_t answer = operation.poll(operation.argument);
      --operations_inside;
      if (answer == acclPollPending) return Outcome::kPending;
      return answer == acclPollDone ? Outcome::kDone : Outcome::kFailed;
    }
    case Operation::Kind::kRecord:
      operation.moment->reached_ns = now_ns();
      operation.moment->state.store(MomentState::kReached, std::memory_order_release);
      return Outcome::kDone;
    case Operation::Kind::kWait:
      switch (operation.moment->state.load(std::memory_order_acquire)) {
        case MomentState::kReached:
          return Outcome::kDone;
        case MomentState::kFailed:
          return Outcome::kFailed;
        case MomentState::kPending:
          *blocked_on = {operation.moment->stream, operation.moment->ticket};
          return Outcome::kPending;
      }
  }
  return Outcome::kFailed;
}

void Stream::finish_front() {
  Moment* moment = nullptr;
  {
    const std::scoped_lock hold(mutex_);
    Node* const node = head_;
    head_ = node->next;
    moment = node->operation.moment;
    node->next = spare_;
    spare_ = node;
    completed_.store(node->ticket, std::memory_order_release);
  }
  if (moment != nullptr) runtime_.load(std::memory_order_relaxed)->release(moment);
}

void Stream::fail_all() {
  Runtime& runtime = *runtime_.load(std::memory_order_relaxed);
  const std::scoped_lock hold(mutex_);
  while (head_ != nullptr) {
    Node* const node = std::exchange(head_, head_->next);
    if (Moment* const moment = node->operation.moment) {
      if (node->operation.kind == Operation::Kind::kRecord) {
        moment->state.store(MomentState::kFailed, std::memory_order_release);
      }
      runtime.release(moment);
    }
    node->next = spare_;
    spare_ = node;
  }
  failures_.fetch_add(1, std::memory_order_acq_rel);
  if (handle.load(std::memory_order_relaxed) != 0) {
    failed_.store(true, std::memory_order_release);
  } else {
    // Destroyed before it failed: no one is left to tell but those who wait for a number.
    completed_.store(submitted_.load(std::memory_order_relaxed), std::memory_order_release);
  }
}

Node* Stream::take_node() {
  if (spare_ == nullptr) return runtime_.load(std::memory_order_relaxed)->nodes.take();
  return std::exchange(spare_, spare_->next);
}

bool Stream::unlist(bool* unused) {
  const std::scoped_lock hold(mutex_);
  if (head_ != nullptr) return false;
  listed_ = false;
  *unused = handle.load(std::memory_order_relaxed) == 0;
  if (*unused) give_spares_back();
  return true;
}

void Stream::give_spares_back() {
  runtime_.load(std::memory_order_relaxed)->nodes.put_all(std::exchange(spare_, nullptr));
}

}  // namespace accl::host
