// The C entry points for memory.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "device/host/api.h"
#include "device/host/memory.h"

namespace accl::host {
namespace {

/// Makes an allocation by `make(&allocation)`, writes it down and hands it out.
template <class Make>
acclError_t hand_out(void** pointer, Make make) {
  *pointer = nullptr;
  return guarded([&] {
    if (const acclError_t error = check_device()) return error;
    Allocation allocation;
    if (const acclError_t error = make(&allocation)) return error;
    allocation.device = current_device();
    void* const handed_out = allocation.pointer;
    Allocations::instance().add(std::move(allocation));
    *pointer = handed_out;
    return acclSuccess;
  });
}

}  // namespace
}  // namespace accl::host

using namespace accl::host;

extern "C" {

acclError_t acclMalloc(void** pointer, size_t bytes) {
  if (pointer == nullptr) return null_argument("pointer");
  *pointer = nullptr;
  if (bytes == 0) return acclSuccess;
  return hand_out(pointer, [&](Allocation* made) { return allocate_private(bytes, made); });
}

acclError_t acclMallocShared(void** pointer, size_t bytes) {
  if (pointer == nullptr) return null_argument("pointer");
  *pointer = nullptr;
  if (bytes == 0) return acclSuccess;
  return hand_out(pointer, [&](Allocation* made) { return allocate_shared(bytes, made); });
}

acclError_t acclMemImport(void** pointer, int descriptor, size_t offset, size_t bytes) {
  if (pointer == nullptr) return null_argument("pointer");
  return hand_out(pointer,
                  [&](Allocation* made) { return map_imported(descriptor, offset, bytes, made); });
}

acclError_t acclFree(void* pointer) {
  if (pointer == nullptr) return acclSuccess;
  return guarded([&] {
    Allocation removed;
    if (!Allocations::instance().remove(pointer, &removed)) {
      return fail(acclErrorInvalidValue,
                  fmt::format("{} does not begin a live allocation of this library (freed already, "
                              "or not from here)",
                              fmt::ptr(pointer)));
    }
    unmap(removed);
    return acclSuccess;
  });
}

acclError_t acclMemExport(const void* pointer, int* descriptor, size_t* offset, size_t* bytes) {
  if (descriptor == nullptr) return null_argument("descriptor");
  if (offset == nullptr) return null_argument("offset");
  if (bytes == nullptr) return null_argument("bytes");
  return guarded([&] {
    accl::Fd copy;
    const acclError_t error = Allocations::instance().export_shared(pointer, &copy, offset, bytes);
    if (error == acclSuccess) *descriptor = copy.release();
    return error;
  });
}

acclError_t acclPointerGetAttributes(acclPointerAttributes_t* attributes, const void* pointer) {
  if (attributes == nullptr) return null_argument("attributes");
  return guarded([&] {
    *attributes = {acclMemoryUnknown, -1, nullptr, 0};
    Allocations::instance().describe(pointer, attributes);
    return acclSuccess;
  });
}

acclError_t acclMemcpy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return acclSuccess;
  if (to == nullptr) return null_argument("to");
  if (from == nullptr) return null_argument("from");
  std::memmove(to, from, bytes);
  return acclSuccess;
}

acclError_t acclMemset(void* to, int value, size_t bytes) {
  if (bytes == 0) return acclSuccess;
  if (to == nullptr) return null_argument("to");
  std::memset(to, value, bytes);
  return acclSuccess;
}

}  // extern "C"
