// Buffers whose surroundings are watched: canaries before and after, or a page that must not be
// touched. One thread.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace accl {

/// `bytes` bytes, `skew` bytes away from an aligned address, between canaries.
class Guarded {
 public:
  explicit Guarded(size_t bytes, size_t skew = 0)
      : bytes_(bytes), begin_(kCanary + skew), all_(begin_ + bytes + kCanary, kMark) {
    std::fill_n(data(), bytes, std::byte{0});
  }
  std::byte* data() { return all_.data() + begin_; }
  const std::byte* data() const { return all_.data() + begin_; }
  size_t size() const { return bytes_; }
  std::span<std::byte> bytes() { return {data(), bytes_}; }

  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data());
  }

  /// True if nothing was written outside of the buffer.
  bool intact() const {
    const auto is_mark = [](std::byte b) { return b == kMark; };
    const auto end = all_.begin() + static_cast<ptrdiff_t>(begin_ + bytes_);
    return std::all_of(all_.begin(), all_.begin() + static_cast<ptrdiff_t>(begin_), is_mark) &&
           std::all_of(end, all_.end(), is_mark);
  }

 private:
  static constexpr size_t kCanary = 64;
  static constexpr std::byte kMark{0xc5};

  size_t bytes_;
  size_t begin_;
  std::vector<std::byte> all_;
};

/// `bytes` bytes that end at a page without access: touching what follows is a fault.
class BeforeFence {
 public:
  explicit BeforeFence(size_t bytes) {
    const auto page = static_cast<size_t>(getpagesize());
    mapped_ = (bytes + page - 1) / page * page + page;
    map_ = static_cast<std::byte*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    mprotect(map_ + mapped_ - page, page, PROT_NONE);
    data_ = map_ + mapped_ - page - bytes;
  }
  ~BeforeFence() { munmap(map_, mapped_); }
  BeforeFence(const BeforeFence&) = delete;
  BeforeFence& operator=(const BeforeFence&) = delete;

  std::byte* data() { return data_; }

 private:
  size_t mapped_ = 0;
  std::byte* map_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace accl
