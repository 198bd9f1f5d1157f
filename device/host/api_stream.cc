// The C entry points for errors, devices and streams.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "device/host/api.h"
#include "device/host/backoff.h"

namespace accl::host {
namespace {

thread_local int thread_device = 0;

/// Queues an operation on a stream that is not NULL.
acclError_t submit(acclStream_t handle, const Operation& operation) {
  Stream* const stream = find_stream(handle);
  if (stream == nullptr) return bad_handle("stream", handle);
  return guarded([&] { return explain(stream->submit(handle, operation), handle); });
}

}  // namespace

int current_device() { return thread_device; }

acclError_t check_device() {
  Result<int>& count = device_count();
  return count.ok() ? acclSuccess : fail(acclErrorInvalidValue, count.status().text());
}

acclError_t may_wait() {
  if (!inside_operation()) return acclSuccess;
  return fail(acclErrorNotPermitted, "a host function or poll function must not wait for a stream");
}

acclError_t explain(acclError_t error, acclStream_t stream) {
  switch (error) {
    case acclErrorInvalidHandle:
      return bad_handle("stream", stream);
    case acclErrorLaunchFailure: {
      std::array<char, 160> text{};
      fmt::format_to_n(text.data(), text.size() - 1,
                       "stream {} has failed: an operation on it reported failure, later work does "
                       "not run (acclStreamReset clears this)",
                       fmt::ptr(stream));
      return fail(error, text.data());
    }
    case acclErrorMemoryAllocation:
      return fail(error, "no memory for a stream operation");
    default:
      return error;  // success, or explained where it arose
  }
}

}  // namespace accl::host

using namespace accl::host;

extern "C" {

const char* acclGetErrorName(acclError_t error) {
  switch (error) {
    case acclSuccess:
      return "acclSuccess";
    case acclErrorInvalidValue:
      return "acclErrorInvalidValue";
    case acclErrorMemoryAllocation:
      return "acclErrorMemoryAllocation";
    case acclErrorInvalidDevice:
      return "acclErrorInvalidDevice";
    case acclErrorSystem:
      return "acclErrorSystem";
    case acclErrorInvalidHandle:
      return "acclErrorInvalidHandle";
    case acclErrorNotReady:
      return "acclErrorNotReady";
    case acclErrorLaunchFailure:
      return "acclErrorLaunchFailure";
    case acclErrorNotPermitted:
      return "acclErrorNotPermitted";
  }
  return "unknown error";
}

const char* acclGetErrorString(acclError_t error) {
  switch (error) {
    case acclSuccess:
      return "no error";
    case acclErrorInvalidValue:
      return "invalid argument or setting";
    case acclErrorMemoryAllocation:
      return "the system refused memory";
    case acclErrorInvalidDevice:
      return "no such device";
    case acclErrorSystem:
      return "a system call failed";
    case acclErrorInvalidHandle:
      return "not a live stream or event";
    case acclErrorNotReady:
      return "work is pending";
    case acclErrorLaunchFailure:
      return "the stream has failed";
    case acclErrorNotPermitted:
      return "not permitted inside a stream operation";
  }
  return "unknown error";
}

const char* acclGetLastErrorText(void) { return last_error_text(); }

acclError_t acclGetDeviceCount(int* count) {
  if (count == nullptr) return null_argument("count");
  return guarded([&] {
    if (const acclError_t error = check_device()) return error;
    *count = *device_count();
    return acclSuccess;
  });
}

acclError_t acclSetDevice(int device) {
  return guarded([&] {
    if (const acclError_t error = check_device()) return error;
    const int count = *device_count();
    if (device < 0 || device >= count) {
      return fail(acclErrorInvalidDevice,
                  fmt::format("device {} of {} (0 to {}; see ACCL_HOST_DEVICES)", device, count,
                              count - 1));
    }
    thread_device = device;
    return acclSuccess;
  });
}

acclError_t acclGetDevice(int* device) {
  if (device == nullptr) return null_argument("device");
  *device = thread_device;
  return acclSuccess;
}

acclError_t acclDeviceSynchronize(void) {
  if (const acclError_t error = may_wait()) return error;
  Runtime* const runtime = Runtime::current();
  if (runtime == nullptr) return acclSuccess;
  acclError_t result = acclSuccess;
  for (size_t index = 0; index < runtime->streams.used(); ++index) {
    Stream& stream = runtime->streams.at(index);
    if (stream.device() != thread_device || (stream.idle() && !stream.failed())) continue;
    const auto handle = std::bit_cast<acclStream_t>(stream.handle.load());
    if (const acclError_t error = stream.wait(stream.submitted())) result = explain(error, handle);
  }
  return result;
}

acclError_t acclStreamCreate(acclStream_t* stream) {
  if (stream == nullptr) return null_argument("stream");
  return guarded([&] {
    if (const acclError_t error = check_device()) return error;
    Runtime* const runtime = Runtime::ensure();
    Stream* const slot = runtime != nullptr ? runtime->streams.take() : nullptr;
    if (slot == nullptr) {
      return fail(acclErrorMemoryAllocation,
                  runtime == nullptr ? "no address space for streams" : "65536 streams are in use");
    }
    slot->open(runtime, thread_device);
    *stream = static_cast<acclStream_t>(runtime->streams.publish(slot));
    return acclSuccess;
  });
}

acclError_t acclStreamDestroy(acclStream_t stream) {
  Stream* const slot = find_stream(stream);
  bool unused = false;
  if (slot == nullptr || !slot->close(stream, &unused)) return bad_handle("stream", stream);
  if (unused) Runtime::current()->streams.give_back(slot);
  return acclSuccess;
}

acclError_t acclStreamSynchronize(acclStream_t stream) {
  if (const acclError_t error = may_wait()) return error;
  if (stream == nullptr) return acclSuccess;
  Stream* const slot = find_stream(stream);
  if (slot == nullptr) return bad_handle("stream", stream);
  return explain(slot->wait(slot->submitted()), stream);
}

acclError_t acclStreamQuery(acclStream_t stream) {
  if (stream == nullptr) return acclSuccess;
  Stream* const slot = find_stream(stream);
  if (slot == nullptr) return bad_handle("stream", stream);
  if (!slot->idle() && !inside_operation()) Stream::drive({slot, slot->submitted()}, true);
  if (slot->failed()) return explain(acclErrorLaunchFailure, stream);
  return slot->idle() ? acclSuccess : acclErrorNotReady;
}

int acclStreamIsIdle(acclStream_t stream) {
  if (stream == nullptr) return 1;
  const Stream* const slot = find_stream(stream);
  return slot != nullptr && slot->idle() ? 1 : 0;
}

acclError_t acclStreamDevice(acclStream_t stream, int* device) {
  if (device == nullptr) return null_argument("device");
  if (stream == nullptr) return acclGetDevice(device);
  const Stream* const slot = find_stream(stream);
  if (slot == nullptr) return bad_handle("stream", stream);
  *device = slot->device();
  return acclSuccess;
}

acclError_t acclStreamReset(acclStream_t stream) {
  Stream* const slot = find_stream(stream);
  if (slot == nullptr) return bad_handle("stream", stream);
  slot->reset();
  return acclSuccess;
}

acclError_t acclLaunchHostFunc(acclStream_t stream, acclHostFn_t function, void* argument) {
  if (function == nullptr) return null_argument("function");
  if (stream == nullptr) {
    function(argument);
    return acclSuccess;
  }
  Operation operation;
  operation.kind = Operation::Kind::kHostFunction;
  operation.host_function = function;
  operation.argument = argument;
  return submit(stream, operation);
}

acclError_t acclStreamPoll(acclStream_t stream, acclPollFn_t function, void* argument) {
  if (function == nullptr) return null_argument("function");
  if (stream != nullptr) {
    Operation operation;
    operation.kind = Operation::Kind::kPoll;
    operation.poll = function;
    operation.argument = argument;
    return submit(stream, operation);
  }
  if (const acclError_t error = may_wait()) return error;
  Backoff backoff;
  while (true) {
    const acclPoll_t answer = function(argument);
    if (answer == acclPollDone) return acclSuccess;
    if (answer != acclPollPending) {
      return fail(acclErrorLaunchFailure, "the polled operation reported failure");
    }
    backoff.pause();
  }
}

acclError_t acclMemcpyAsync(void* to, const void* from, size_t bytes, acclStream_t stream) {
  if (stream == nullptr) return acclMemcpy(to, from, bytes);
  if (bytes > 0 && to == nullptr) return null_argument("to");
  if (bytes > 0 && from == nullptr) return null_argument("from");
  Operation operation;
  operation.kind = bytes > 0 ? Operation::Kind::kCopy : Operation::Kind::kSet;
  operation.to = to;
  operation.from = from;
  operation.bytes = bytes;
  return submit(stream, operation);
}

acclError_t acclMemsetAsync(void* to, int value, size_t bytes, acclStream_t stream) {
  if (stream == nullptr) return acclMemset(to, value, bytes);
  if (bytes > 0 && to == nullptr) return null_argument("to");
  Operation operation;
  operation.kind = Operation::Kind::kSet;
  operation.to = to;
  operation.value = value;
  operation.bytes = bytes;
  return submit(stream, operation);
}

}  // extern "C"
