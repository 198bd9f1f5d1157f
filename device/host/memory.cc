#include "device/host/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "device/host/failure.h"

namespace accl::host {
namespace {

constexpr size_t kSmallAlignment = 256;
constexpr size_t kHugePage = size_t{2} << 20;
/// Sizes above are refused before any arithmetic on them can overflow.
constexpr size_t kLargestRequest = SIZE_MAX / 4;

constexpr size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

acclError_t refused(size_t bytes, std::string_view why) {
  return fail(acclErrorMemoryAllocation, fmt::format("cannot get {} bytes: {}", bytes, why));
}

acclError_t refused(size_t bytes, std::string_view call, int error) {
  return fail(acclErrorMemoryAllocation,
              fmt::format("cannot get {} bytes: {}: {}", bytes, call, strerror(error)));
}

/// Maps `bytes` aligned to `alignment`; null and errno on failure. `descriptor` -1: anonymous.
void* map_aligned(size_t bytes, size_t alignment, int descriptor, size_t offset) {
  const size_t reserved_bytes = bytes + alignment - page_bytes();
  void* const reserved =
      mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  const auto begin = std::bit_cast<uintptr_t>(reserved);
  const uintptr_t aligned = round_up(begin, alignment);
  const int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const mapped = mmap(std::bit_cast<void*>(aligned), bytes, PROT_READ | PROT_WRITE,
                            flags | MAP_FIXED, descriptor, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) {
    const int error = errno;
    munmap(reserved, reserved_bytes);
    errno = error;
    return nullptr;
  }
  const size_t before = aligned - begin;
  const size_t after = reserved_bytes - before - bytes;
  if (before > 0) munmap(reserved, before);
  if (after > 0) munmap(std::bit_cast<void*>(aligned + bytes), after);
  if (bytes >= kHugePage) madvise(mapped, bytes, MADV_HUGEPAGE);  // a wish; refusal is fine
  return mapped;
}

/// The whole of a small file of the system; empty if it cannot be read.
std::string_view read_system_file(const char* path, std::array<char, 4096>& buffer) {
  const Fd file(open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  const ssize_t got = read(file.get(), buffer.data(), buffer.size());
  return {buffer.data(), got > 0 ? static_cast<size_t>(got) : 0};
}

/// The number after `key` (after the leading spaces), if it is there.
std::optional<size_t> number_after(std::string_view text, std::string_view key) {
  size_t at = text.find(key);
  if (text.empty() || at == std::string_view::npos) return {};
  at = text.find_first_not_of(' ', at + key.size());
  if (at == std::string_view::npos) return {};
  size_t number = 0;
  const auto [stop, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  if (error != std::errc() || stop == text.data() + at) return {};
  return number;
}

/// Bytes that the system could back now, as far as it says. Shared memory is backed at once, and
/// asking for more than there is would wake the kernel's killer instead of giving an error.
size_t available_bytes() {
  std::array<char, 4096> buffer;
  size_t available = SIZE_MAX;
  const std::string_view machine = read_system_file("/proc/meminfo", buffer);
  if (const auto kib = number_after(machine, "MemAvailable:")) {
    available = (*kib + number_after(machine, "SwapFree:").value_or(0)) * 1024;
  }
  const auto limit = number_after(read_system_file("/sys/fs/cgroup/memory.max", buffer), "");
  // What the group uses already may be page cache, which gives way: only the limit is certain.
  if (limit && *limit < available) available = *limit;
  return available;
}

/// Backs the whole mapping, as an error now rather than a SIGBUS later. 0 or errno.
int populate(void* mapping, size_t bytes, int descriptor) {
  int result = 0;
  do {
    result = madvise(mapping, bytes, MADV_POPULATE_WRITE);
  } while (result != 0 && (errno == EINTR || errno == EAGAIN));
  if (result == 0) return 0;
  if (errno != EINVAL) return errno;
  // Kernels before 5.14: the file's pages, at least, can be demanded.
  return posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
}

}  // namespace

Allocations::Allocations() { pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork); }
void Allocations::lock_for_fork() { instance().mutex_.lock(); }
void Allocations::unlock_after_fork() { instance().mutex_.unlock(); }

Allocations& Allocations::instance() {
  static Allocations* const allocations = new Allocations;
  return *allocations;
}

acclError_t Allocations::add(Allocation allocation) {
  const auto key = std::bit_cast<uintptr_t>(allocation.pointer);
  const std::scoped_lock hold(mutex_);
  by_address_.emplace(key, std::move(allocation));
  return acclSuccess;
}

bool Allocations::remove(const void* pointer, Allocation* removed) {
  const std::scoped_lock hold(mutex_);
  const auto found = by_address_.find(std::bit_cast<uintptr_t>(pointer));
  if (found == by_address_.end()) return false;
  *removed = std::move(found->second);
  by_address_.erase(found);
  return true;
}

const Allocation* Allocations::around(const void* pointer) const {
  const auto address = std::bit_cast<uintptr_t>(pointer);
  auto after = by_address_.upper_bound(address);
  if (after == by_address_.begin()) return nullptr;
  --after;
  return address - after->first < after->second.bytes ? &after->second : nullptr;
}

bool Allocations::describe(const void* pointer, acclPointerAttributes_t* attributes) {
  const std::scoped_lock hold(mutex_);
  const Allocation* const found = around(pointer);
  if (found == nullptr) return false;
  *attributes = {found->type, found->device, found->pointer, found->bytes};
  return true;
}

acclError_t Allocations::export_shared(const void* pointer, Fd* descriptor, size_t* offset,
                                       size_t* bytes) {
  const std::scoped_lock hold(mutex_);
  const Allocation* const found = around(pointer);
  if (found == nullptr || found->type != acclMemoryShared) {
    return fail(acclErrorInvalidValue,
                fmt::format("{} is not in memory of acclMallocShared", fmt::ptr(pointer)));
  }
  descriptor->reset(fcntl(found->memfd.get(), F_DUPFD_CLOEXEC, 0));
  if (!*descriptor) {
    return fail(acclErrorSystem, fmt::format("cannot duplicate a descriptor: {}", strerror(errno)));
  }
  *offset = std::bit_cast<uintptr_t>(pointer) - std::bit_cast<uintptr_t>(found->pointer);
  *bytes = found->bytes - *offset;
  return acclSuccess;
}

acclError_t allocate_private(size_t bytes, Allocation* allocation) {
  if (bytes > kLargestRequest) return refused(bytes, "larger than any memory");
  allocation->type = acclMemoryPrivate;
  allocation->bytes = bytes;
  if (bytes < kHugePage) {
    allocation->pointer = std::aligned_alloc(kSmallAlignment, round_up(bytes, kSmallAlignment));
    return allocation->pointer != nullptr ? acclSuccess : refused(bytes, "malloc has no memory");
  }
  allocation->mapping_bytes = round_up(bytes, page_bytes());
  allocation->mapping = map_aligned(allocation->mapping_bytes, kHugePage, -1, 0);
  allocation->pointer = allocation->mapping;
  return allocation->pointer != nullptr ? acclSuccess : refused(bytes, "mmap", errno);
}

acclError_t allocate_shared(size_t bytes, Allocation* allocation) {
  if (bytes > kLargestRequest) return refused(bytes, "larger than any memory");
  const size_t rounded = round_up(bytes, page_bytes());
  rlimit limit{};
  // The kernel kills by SIGXFSZ rather than refuse.
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && rounded > limit.rlim_cur) {
    return refused(bytes, fmt::format("the limit on file size is {} bytes (ulimit -f)",
                                      static_cast<size_t>(limit.rlim_cur)));
  }
  if (const size_t available = available_bytes(); rounded > available) {
    return refused(bytes, fmt::format("the system has {} available", available));
  }
  Fd memfd(memfd_create("accl-shared", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd) return refused(bytes, "memfd_create", errno);
  if (ftruncate(memfd.get(), static_cast<off_t>(rounded)) != 0) {
    return refused(bytes, "ftruncate of a memfd", errno);
  }
  if (fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return refused(bytes, "sealing a memfd", errno);
  }
  const size_t alignment = rounded >= kHugePage ? kHugePage : page_bytes();
  void* const mapping = map_aligned(rounded, alignment, memfd.get(), 0);
  if (mapping == nullptr) return refused(bytes, "mmap of a memfd", errno);
  if (const int error = populate(mapping, rounded, memfd.get()); error != 0) {
    munmap(mapping, rounded);
    return refused(bytes, "populating a memfd", error);
  }
  *allocation = {mapping, bytes, acclMemoryShared, -1, mapping, rounded, std::move(memfd)};
  return acclSuccess;
}

acclError_t map_imported(int descriptor, size_t offset, size_t bytes, Allocation* allocation) {
  struct stat info {};
  if (fstat(descriptor, &info) != 0) {
    return fail(acclErrorInvalidValue,
                fmt::format("descriptor {}: {}", descriptor, strerror(errno)));
  }
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    // Its owner could cut it short under us, and touching it would kill this process.
    return fail(acclErrorInvalidValue,
                fmt::format("descriptor {} is not a memfd sealed against shrinking", descriptor));
  }
  const auto size = static_cast<size_t>(info.st_size);
  if (bytes == 0 || offset > size || bytes > size - offset) {
    return fail(acclErrorInvalidValue,
                fmt::format("{} bytes at offset {} are not within the {} bytes of descriptor {}",
                            bytes, offset, size, descriptor));
  }
  const size_t begin = offset / page_bytes() * page_bytes();
  const size_t mapping_bytes = round_up(offset + bytes - begin, page_bytes());
  const size_t alignment =
      mapping_bytes >= kHugePage && begin % kHugePage == 0 ? kHugePage : page_bytes();
  void* const mapping = map_aligned(mapping_bytes, alignment, descriptor, begin);
  if (mapping == nullptr) return refused(bytes, "mmap of imported memory", errno);
  if (const int error = populate(mapping, mapping_bytes, descriptor); error != 0) {
    munmap(mapping, mapping_bytes);
    return refused(bytes, "populating imported memory", error);
  }
  *allocation = {static_cast<std::byte*>(mapping) + (offset - begin),
                 bytes,
                 acclMemoryImported,
                 -1,
                 mapping,
                 mapping_bytes,
                 Fd()};
  return acclSuccess;
}

void unmap(Allocation& allocation) {
  if (allocation.mapping != nullptr) {
    munmap(allocation.mapping, allocation.mapping_bytes);
  } else {
    std::free(allocation.pointer);
  }
  allocation.memfd.reset();
}

}  // namespace accl::host
