// The C entry points for events.
#include <fmt/format.h>

#include <bit>
#include <mutex>
#include <utility>

#include "device/host/api.h"
#include "device/host/backoff.h"
#include "src/base/clock.h"

namespace accl::host {
namespace {

Event* find_event(acclEvent_t handle) {
  Runtime* const runtime = Runtime::current();
  return runtime != nullptr ? runtime->events.find(handle) : nullptr;
}

/// Under the event's mutex: is it still the handle's?
bool still(const Event& event, acclEvent_t handle) {
  return event.handle.load(std::memory_order_relaxed) == std::bit_cast<uint64_t>(handle);
}

/// A reference to the moment of an event's last record, for as long as a call needs it.
class Held {
 public:
  /// `*error` is acclErrorInvalidHandle if the handle is not live. No record: get() is null.
  Held(acclEvent_t handle, acclError_t* error) {
    Event* const event = find_event(handle);
    if (event != nullptr) {
      const std::scoped_lock hold(event->mutex);
      if (still(*event, handle)) {
        moment_ = event->moment;
        if (moment_ != nullptr) Runtime::hold(moment_);
        *error = acclSuccess;
        return;
      }
    }
    *error = bad_handle("event", handle);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (moment_ != nullptr) Runtime::current()->release(moment_);
  }
  Moment* get() const { return moment_; }
  /// Gives the reference away.
  Moment* take() { return std::exchange(moment_, nullptr); }

 private:
  Moment* moment_ = nullptr;
};

MomentState state_of(const Moment& moment) { return moment.state.load(std::memory_order_acquire); }

acclError_t moment_failed() {
  return fail(acclErrorLaunchFailure, "the stream of the event's record failed before reaching it");
}

/// Runs or awaits the work before the moment.
acclError_t await(Moment& moment) {
  Backoff backoff;
  while (state_of(moment) == MomentState::kPending) {
    if (Stream::drive({moment.stream, moment.ticket}, false)) {
      backoff.reset();
    } else {
      backoff.pause();
    }
  }
  return state_of(moment) == MomentState::kFailed ? moment_failed() : acclSuccess;
}

/// A moment for a new record: the event's last one if no one else holds it, else a new one.
Moment* moment_for_record(Runtime& runtime, Event& event, MomentState state) {
  Moment* const last = event.moment;
  if (last != nullptr && last->references.load(std::memory_order_acquire) == 1) {
    last->state.store(state, std::memory_order_relaxed);
    return last;
  }
  Moment* const fresh = runtime.new_moment(state);
  if (fresh == nullptr) return nullptr;
  event.moment = fresh;
  if (last != nullptr) runtime.release(last);
  return fresh;
}

/// Under the event's mutex. `stream` null: NULL or idle, the moment is now.
acclError_t record(Runtime& runtime, Event& event, Stream* stream, acclStream_t handle) {
  if (stream == nullptr) {
    Moment* const moment = moment_for_record(runtime, event, MomentState::kReached);
    if (moment == nullptr) return fail(acclErrorMemoryAllocation, "no memory for an event");
    moment->reached_ns = accl::now_ns();
    return acclSuccess;
  }
  // The last record stays in force if the stream does not accept this one.
  Moment* const moment = runtime.new_moment(MomentState::kPending);
  if (moment == nullptr) return fail(acclErrorMemoryAllocation, "no memory for an event");
  Operation operation;
  operation.kind = Operation::Kind::kRecord;
  operation.moment = moment;
  Runtime::hold(moment);
  const acclError_t error = guarded([&] { return stream->submit(handle, operation); });
  if (error != acclSuccess) {
    runtime.release(moment);  // the queue's reference, which it did not take
    runtime.release(moment);
    return explain(error, handle);
  }
  if (event.moment != nullptr) runtime.release(event.moment);
  event.moment = moment;
  return acclSuccess;
}

}  // namespace
}  // namespace accl::host

using namespace accl::host;

extern "C" {

acclError_t acclEventCreate(acclEvent_t* event) {
  if (event == nullptr) return null_argument("event");
  return guarded([&] {
    Runtime* const runtime = Runtime::ensure();
    Event* const slot = runtime != nullptr ? runtime->events.take() : nullptr;
    if (slot == nullptr) {
      return fail(acclErrorMemoryAllocation,
                  runtime == nullptr ? "no address space for events" : "all events are in use");
    }
    *event = static_cast<acclEvent_t>(runtime->events.publish(slot));
    return acclSuccess;
  });
}

acclError_t acclEventDestroy(acclEvent_t event) {
  Event* const slot = find_event(event);
  if (slot == nullptr) return bad_handle("event", event);
  Runtime& runtime = *Runtime::current();
  {
    const std::scoped_lock hold(slot->mutex);
    if (!still(*slot, event)) return bad_handle("event", event);
    slot->handle.store(0, std::memory_order_release);
    if (slot->moment != nullptr) runtime.release(std::exchange(slot->moment, nullptr));
  }
  runtime.events.give_back(slot);
  return acclSuccess;
}

acclError_t acclEventRecord(acclEvent_t event, acclStream_t stream) {
  Event* const slot = find_event(event);
  if (slot == nullptr) return bad_handle("event", event);
  Stream* source = nullptr;
  if (stream != nullptr) {
    source = find_stream(stream);
    if (source == nullptr) return bad_handle("stream", stream);
    if (source->idle()) source = nullptr;
  }
  const std::scoped_lock hold(slot->mutex);
  if (!still(*slot, event)) return bad_handle("event", event);
  return record(*Runtime::current(), *slot, source, stream);
}

acclError_t acclEventQuery(acclEvent_t event) {
  acclError_t error = acclSuccess;
  const Held held(event, &error);
  const Moment* const moment = held.get();
  if (error != acclSuccess || moment == nullptr) return error;
  if (state_of(*moment) == MomentState::kPending && !inside_operation()) {
    Stream::drive({moment->stream, moment->ticket}, true);
  }
  switch (state_of(*moment)) {
    case MomentState::kReached:
      return acclSuccess;
    case MomentState::kPending:
      return acclErrorNotReady;
    case MomentState::kFailed:
      break;
  }
  return moment_failed();
}

acclError_t acclEventSynchronize(acclEvent_t event) {
  if (const acclError_t error = may_wait()) return error;
  acclError_t error = acclSuccess;
  const Held held(event, &error);
  if (error != acclSuccess || held.get() == nullptr) return error;
  return await(*held.get());
}

acclError_t acclEventElapsedTime(float* elapsed_ms, acclEvent_t start, acclEvent_t end) {
  if (elapsed_ms == nullptr) return null_argument("elapsed_ms");
  acclError_t error = acclSuccess;
  const Held from(start, &error);
  if (error != acclSuccess) return error;
  const Held to(end, &error);
  if (error != acclSuccess) return error;
  if (from.get() == nullptr || to.get() == nullptr) {
    return fail(acclErrorInvalidHandle, from.get() == nullptr ? "event `start` was never recorded"
                                                              : "event `end` was never recorded");
  }
  const MomentState first = state_of(*from.get());
  const MomentState second = state_of(*to.get());
  if (first == MomentState::kFailed || second == MomentState::kFailed) return moment_failed();
  if (first == MomentState::kPending || second == MomentState::kPending) return acclErrorNotReady;
  const auto elapsed_ns =
      static_cast<int64_t>(to.get()->reached_ns) - static_cast<int64_t>(from.get()->reached_ns);
  *elapsed_ms = static_cast<float>(static_cast<double>(elapsed_ns) / 1e6);
  return acclSuccess;
}

acclError_t acclStreamWaitEvent(acclStream_t stream, acclEvent_t event) {
  acclError_t error = acclSuccess;
  Held held(event, &error);
  if (error != acclSuccess) return error;
  Stream* const waiting = stream != nullptr ? find_stream(stream) : nullptr;
  if (stream != nullptr && waiting == nullptr) return bad_handle("stream", stream);
  if (waiting != nullptr && waiting->failed()) return explain(acclErrorLaunchFailure, stream);
  if (held.get() == nullptr || state_of(*held.get()) == MomentState::kReached) return acclSuccess;
  if (waiting == nullptr) {
    if (const acclError_t refused = may_wait()) return refused;
    return await(*held.get());
  }
  Operation operation;
  operation.kind = Operation::Kind::kWait;
  operation.moment = held.get();
  error = guarded([&] { return waiting->submit(stream, operation); });
  if (error != acclSuccess) return explain(error, stream);
  static_cast<void>(held.take());  // the queue's now
  return acclSuccess;
}

}  // extern "C"
