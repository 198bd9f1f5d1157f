#include "device/host/runtime.h"

#include <pthread.h>

#include <memory>
#include <new>
#include <utility>

#include "device/host/failure.h"
#include "device/host/memory.h"

namespace accl::host {

std::atomic<Runtime*> Runtime::current_{nullptr};
Runtime* Runtime::forgotten_ = nullptr;
uint32_t Runtime::epoch_ = 0;

Runtime* Runtime::ensure() {
  if (Runtime* const runtime = current()) return runtime;
  // Once per process and its children: handlers are inherited.
  static const int handlers = pthread_atfork(nullptr, nullptr, forget_in_child);
  if (handlers != 0) return nullptr;
  std::unique_ptr<Runtime> made(new (std::nothrow) Runtime(epoch_));
  if (made == nullptr) return nullptr;
  if (!made->streams.reserve() || !made->events.reserve()) {
    made->streams.unreserve();
    return nullptr;
  }
  Runtime* expected = nullptr;
  if (current_.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) {
    return made.release();
  }
  made->streams.unreserve();
  made->events.unreserve();
  return expected;
}

void Runtime::forget_in_child() {
  ++epoch_;
  Runtime* const runtime = current_.exchange(nullptr, std::memory_order_acq_rel);
  if (runtime == nullptr) return;
  runtime->older_ = std::exchange(forgotten_, runtime);
}

Worker* Runtime::start_worker(int device) {
  const std::scoped_lock hold(starting_);
  auto& place = workers_[static_cast<size_t>(device)];
  if (Worker* const started = place.load(std::memory_order_acquire)) return started;
  auto worker = std::make_unique<Worker>(*this, device);
  const Status status = worker->start();
  if (!status.ok()) {
    fail(acclErrorSystem, status.text());
    return nullptr;
  }
  place.store(worker.get(), std::memory_order_release);
  return worker.release();
}

Moment* Runtime::new_moment(MomentState state) {
  Moment* const moment = moments.take();
  if (moment == nullptr) return nullptr;
  moment->references.store(1, std::memory_order_relaxed);
  moment->state.store(state, std::memory_order_relaxed);
  moment->stream = nullptr;
  return moment;
}

}  // namespace accl::host
