// The memory that the host device hands out, and what is known about it.
//
// Allocations are found by address, so that a wrong address given to free is an error and so that
// libnccl learns which memory other processes can map. Any thread; one lock, a leaf, never held
// across a system call that can take long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "accl/device.h"
#include "src/base/fd.h"

namespace accl::host {

/// One allocation.
struct Allocation {
  void* pointer = nullptr;  ///< what the caller got
  size_t bytes = 0;         ///< what the caller asked for
  acclMemoryType_t type = acclMemoryUnknown;
  int device = -1;
  void* mapping = nullptr;  ///< null: the memory is malloc's
  size_t mapping_bytes = 0;
  Fd memfd;  ///< acclMemoryShared
};

class Allocations {
 public:
  /// The process's; never destroyed. A forked child goes on with it.
  static Allocations& instance();

  acclError_t add(Allocation allocation);
  /// Takes the allocation that begins at `pointer` out. False: there is none.
  bool remove(const void* pointer, Allocation* removed);
  /// Describes the allocation around `pointer`. False: there is none.
  bool describe(const void* pointer, acclPointerAttributes_t* attributes);
  /// A new descriptor of the shared allocation around `pointer`, and where `pointer` is in it.
  acclError_t export_shared(const void* pointer, Fd* descriptor, size_t* offset, size_t* bytes);

 private:
  Allocations();
  static void lock_for_fork();
  static void unlock_after_fork();
  const Allocation* around(const void* pointer) const;

  std::mutex mutex_;
  std::map<uintptr_t, Allocation> by_address_;
};

/// Memory for `bytes` > 0 of the given kind, not yet in Allocations. acclErrorMemoryAllocation.
acclError_t allocate_private(size_t bytes, Allocation* allocation);
acclError_t allocate_shared(size_t bytes, Allocation* allocation);
/// Maps [offset, offset + bytes) of a descriptor that another process exported.
acclError_t map_imported(int descriptor, size_t offset, size_t bytes, Allocation* allocation);
/// Gives the memory back to the system.
void unmap(Allocation& allocation);

}  // namespace accl::host
