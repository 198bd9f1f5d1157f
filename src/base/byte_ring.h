// Contiguous pieces of a ring of bytes, taken and freed in the same order: the writer's arithmetic.
//
// The ring itself is memory that somebody else owns; the reader needs none of this, because each
// message says where it lies. Owned by one sending end, same thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accl {

class ByteRing {
 public:
  /// Pieces start at multiples of this: a cache line has one writer and kernels like it.
  static constexpr uint32_t kAlign = 64;
  static constexpr uint32_t kNone = ~uint32_t{0};

  ByteRing() = default;
  /// `size` is a multiple of kAlign, at least twice the largest piece, so that an empty ring always
  /// has room wherever its head stands.
  explicit ByteRing(uint32_t size) : size_(size) {}

  /// Where a piece of `bytes` bytes would lie; kNone when there is no room. Changes nothing.
  uint32_t find(uint32_t bytes) const {
    const uint32_t start = offset_ + bytes <= size_ ? offset_ : 0;
    return used() + advance(start, bytes) <= size_ ? start : kNone;
  }
  /// Takes the piece that `find(bytes)` named. The value returned is what `free_to` wants for it.
  uint64_t take(uint32_t start, uint32_t bytes) {
    head_ += advance(start, bytes);
    offset_ = start + round_up(bytes);
    if (offset_ == size_) offset_ = 0;
    return head_;
  }
  /// Everything up to the piece for which `take` returned `position` is free again.
  void free_to(uint64_t position) { tail_ = position; }

  uint64_t used() const { return head_ - tail_; }
  bool empty() const { return head_ == tail_; }

 private:
  static constexpr uint32_t round_up(uint32_t bytes) {
    return (bytes + kAlign - 1) & ~(kAlign - 1);
  }
  /// Bytes that a piece at `start` uses up, the skipped end of the ring included.
  uint32_t advance(uint32_t start, uint32_t bytes) const {
    return round_up(bytes) + (start == offset_ ? 0 : size_ - offset_);
  }

  uint32_t size_ = 0;
  uint32_t offset_ = 0;  ///< where the next piece starts if it fits before the end
  uint64_t head_ = 0;    ///< bytes ever taken, skipped ones included
  uint64_t tail_ = 0;    ///< bytes ever freed
};

}  // namespace accl
