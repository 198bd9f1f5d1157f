// Memory: allocation that peers can map, and registration.

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "accl/device.h"
#include "src/api/boundary.h"
#include "src/api/export.h"
#include "src/api/handles.h"

namespace accl {
namespace {

// Registered buffers of all communicators, by the handle that the user got. Nothing is done with
// them yet: every buffer already moves as fast as a registered one (docs/compat.md).
struct Registrations {
  std::mutex mutex;
  std::unordered_map<const void*, ncclComm_t> owner_of;
  uintptr_t next = 1;
};

Registrations& registrations() {
  static auto* made = new Registrations;  // outlives everything: a process may exit at any time
  return *made;
}

}  // namespace

void renew_registrations() { new (&registrations().mutex) std::mutex; }

namespace {

Status register_buffer(ncclComm_t comm, void* buffer, size_t size, void** handle) {
  const Use use(comm);
  if (!use) return use.why_not();
  if (buffer == nullptr || size == 0) return invalid_argument("buff is NULL or size is 0");
  if (handle == nullptr) return invalid_argument("handle is NULL");
  Registrations& all = registrations();
  const std::lock_guard lock(all.mutex);
  *handle = reinterpret_cast<void*>(all.next++);
  all.owner_of.emplace(*handle, comm);
  return {};
}

Status deregister_buffer(ncclComm_t comm, void* handle) {
  const Use use(comm);
  if (!use) return use.why_not();
  if (handle == nullptr) return {};
  Registrations& all = registrations();
  const std::lock_guard lock(all.mutex);
  const auto found = all.owner_of.find(handle);
  if (found == all.owner_of.end() || found->second != comm) {
    return invalid_usage(fmt::format("handle {} is not registered with this communicator", handle));
  }
  all.owner_of.erase(found);
  return {};
}

Status from_device(acclError_t error) {
  switch (error) {
    case acclSuccess:
      return {};
    case acclErrorInvalidValue:
      return invalid_argument(acclGetLastErrorText());
    default:
      return system_error(acclGetLastErrorText());
  }
}

}  // namespace
}  // namespace accl

ACCL_API(ncclResult_t, ncclMemAlloc, (void** ptr, size_t size)) {
  return accl::boundary("ncclMemAlloc", [&]() -> accl::Status {
    if (ptr == nullptr) return accl::invalid_argument("ptr is NULL");
    return accl::from_device(acclMallocShared(ptr, size));
  });
}

ACCL_API(ncclResult_t, ncclMemFree, (void* ptr)) {
  return accl::boundary("ncclMemFree", [&] { return accl::from_device(acclFree(ptr)); });
}

ACCL_API(ncclResult_t, ncclCommRegister,
         (const ncclComm_t comm, void* buff, size_t size, void** handle)) {
  return accl::boundary("ncclCommRegister",
                        [&] { return accl::register_buffer(comm, buff, size, handle); });
}

ACCL_API(ncclResult_t, ncclCommDeregister, (const ncclComm_t comm, void* handle)) {
  return accl::boundary("ncclCommDeregister",
                        [&] { return accl::deregister_buffer(comm, handle); });
}
