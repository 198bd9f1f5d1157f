#include "src/base/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; the headers of glibc 2.36 may lack it
#endif

namespace accl {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::string cause(int error) { return strerrordesc_np(error); }

Status refused(const char* what, const char* name, size_t size, const std::string& why) {
  return system_error(
      fmt::format("cannot {} {} bytes of memory for {}: {}", what, size, name, why));
}

/// A limit that explains a refusal, for the text.
std::string limit_text(int resource, const char* name) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return fmt::format(" ({} is {} bytes)", name, limit.rlim_cur);
}

Result<std::byte*> map_pages(const char* name, int fd, size_t size, int protection) {
  void* data = mmap(nullptr, size, protection, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) {
    return refused("map", name, size, cause(errno) + limit_text(RLIMIT_AS, "RLIMIT_AS"));
  }
  return static_cast<std::byte*>(data);
}

/// One write per page that changes nothing, even if another process writes there.
void touch(std::byte* data, size_t size) {
  for (size_t at = 0; at < size; at += kPageBytes) {
    __atomic_fetch_or(reinterpret_cast<unsigned char*>(data + at), 0, __ATOMIC_RELAXED);
  }
}

/// The whole pages that hold [data, data + size).
struct Pages {
  std::byte* data;
  size_t size;
};
Pages pages_of(void* data, size_t size) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  const size_t before = address % kPageBytes;
  const size_t bytes = (before + size + kPageBytes - 1) / kPageBytes * kPageBytes;
  return {static_cast<std::byte*>(data) - before, bytes};
}

/// 0 or errno; EINVAL where the kernel does not know the advice.
int populate_pages(Pages pages) {
  while (madvise(pages.data, pages.size, MADV_POPULATE_WRITE) != 0) {
    // EFAULT stands for what would have been SIGBUS: there is no memory for this page.
    if (errno != EINTR && errno != EAGAIN) return errno == EFAULT ? ENOMEM : errno;
  }
  return 0;
}

}  // namespace

Result<Token> random_token() {
  Token token{};
  if (getrandom(token.data(), sizeof token, 0) != static_cast<ssize_t>(sizeof token)) {
    return system_error("cannot get random bytes: " + cause(errno));
  }
  return token;
}

Result<SharedMemory> SharedMemory::create(const char* name, size_t size) {
  rlimit limit{};
  // Asked before, because the kernel answers a breach with SIGXFSZ, which ends the process.
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size) {
    return refused("create", name, size,
                   fmt::format("the limit of file sizes (RLIMIT_FSIZE) is {} bytes",
                               static_cast<uint64_t>(limit.rlim_cur)));
  }
  SharedMemory memory;
  memory.name_ = name;
  memory.fd_.reset(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.fd_) return refused("create", name, size, "memfd_create: " + cause(errno));
  if (ftruncate(memory.fd(), static_cast<off_t>(size)) != 0) {
    return refused("create", name, size, "ftruncate: " + cause(errno));
  }
  if (fcntl(memory.fd(), F_ADD_SEALS, kSeals) != 0) {
    return refused("create", name, size, "sealing its size: " + cause(errno));
  }
  memory.data_ = ACCL_TRY(map_pages(name, memory.fd(), size, PROT_READ | PROT_WRITE));
  memory.size_ = size;
  return memory;
}

Result<size_t> SharedMemory::size_of(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return system_error("cannot ask for a file's size: " + cause(errno));
  return static_cast<size_t>(info.st_size);
}

Result<SharedMemory> SharedMemory::map(const char* name, Fd fd, size_t size, Access access) {
  const size_t actual = ACCL_TRY(size_of(fd.get()));
  if (actual != size) {
    return remote_error(
        fmt::format("the memory offered as {} has {} bytes, expected {}", name, actual, size));
  }
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return remote_error(fmt::format(
        "the memory offered as {} is refused: its size is not sealed, it could vanish", name));
  }
  SharedMemory memory;
  memory.name_ = name;
  const int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  memory.data_ = ACCL_TRY(map_pages(name, fd.get(), size, protection));
  memory.size_ = size;
  memory.fd_ = std::move(fd);
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : name_(other.name_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      fd_(std::move(other.fd_)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

Status SharedMemory::populate(size_t offset, size_t size) const {
  if (offset > size_ || size > size_ - offset) {
    return internal_error(
        fmt::format("{} + {} is outside of the {} bytes of {}", offset, size, size_, name_));
  }
  const Pages pages = pages_of(data_ + offset, size);
  int error = populate_pages(pages);
  if (error == EINVAL) {
    // An older kernel: let the file system allocate the pages, which fails with an error where a
    // touch would fail with SIGBUS; then touching only maps them.
    const auto at = static_cast<off_t>(pages.data - data_);
    error = posix_fallocate(fd(), at, static_cast<off_t>(pages.size));
    if (error == 0) touch(pages.data, pages.size);
  }
  return error == 0 ? Status() : refused("get", name_, size, cause(error));
}

Status populate(void* data, size_t size) {
  const Pages pages = pages_of(data, size);
  const int error = populate_pages(pages);
  if (error == EINVAL) {
    touch(pages.data, pages.size);
    return {};
  }
  return error == 0 ? Status() : refused("get", "this process", size, cause(error));
}

}  // namespace accl
