// Refuses the k-th request for memory: takes the place of malloc and mmap in a test that links it.
//
// Only requests between arm and disarm are counted, by any thread of the process: those of the test
// itself too, so a test arms around calls of the library only.

#include "tests/support/fail_malloc.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

// The allocator of the C library under the names that no test takes over.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

std::atomic<int64_t> countdown{0};  // 0: disarmed
std::atomic<int64_t> seen{0};

bool refused() {
  int64_t left = countdown.load(std::memory_order_relaxed);
  if (left == 0) return false;
  seen.fetch_add(1, std::memory_order_relaxed);
  while (left > 0) {
    if (!countdown.compare_exchange_weak(left, left > 1 ? left - 1 : -1)) continue;
    if (left > 1) return false;
    errno = ENOMEM;
    return true;
  }
  return false;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void accl_fail_memory_arm(int64_t kth) {
  seen.store(0);
  countdown.store(kth);
}

__attribute__((visibility("default"))) int64_t accl_fail_memory_disarm() {
  countdown.store(0);
  return seen.load();
}

__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  return refused() ? nullptr : __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void* calloc(size_t count, size_t bytes) {
  return refused() ? nullptr : __libc_calloc(count, bytes);
}

__attribute__((visibility("default"))) void* realloc(void* old, size_t bytes) {
  return refused() ? nullptr : __libc_realloc(old, bytes);
}

__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t bytes) {
  return refused() ? nullptr : __libc_memalign(alignment, bytes);
}

__attribute__((visibility("default"))) int posix_memalign(void** out, size_t alignment,
                                                          size_t bytes) {
  if (refused()) return ENOMEM;
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? ENOMEM : 0;
}

__attribute__((visibility("default"))) void* mmap(void* at, size_t bytes, int protection, int flags,
                                                  int fd, off_t offset) {
  if (refused()) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, fd, offset));
}

}  // extern "C"
