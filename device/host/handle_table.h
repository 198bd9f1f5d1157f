// Handles that can be checked without being dereferenced.
//
// A handle is a number in a pointer's clothes: [16 bits kind | 24 bits generation | 20 bits index |
// 4 zero bits]. The kind makes it an address that no program can own, so a stray pointer is never
// mistaken for a handle, and a destroyed one differs from its successor by the generation. Looking
// one up takes two loads. Slots live in one reserved range and are never unmapped: a slot pointer
// stays readable, whoever destroys the handle meanwhile.
//
// Owned by the runtime. find() from any thread, lock-free; the others take a lock.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace accl::host {

/// Slot is default-constructible and has `std::atomic<uint64_t> handle` (0: free or closing),
/// `uint64_t last_handle` and `Slot* next_free`, all three the table's except that the slot's user
/// may set `handle` to 0.
template <class Slot, uint64_t kKind, size_t kCapacity>
class HandleTable {
  static_assert(kKind != 0 && kKind < 0x7fff && kCapacity <= (1u << 20));

 public:
  /// `epoch` differs between the tables of a process and of its forked children.
  explicit HandleTable(uint32_t epoch) : first_generation_(uint64_t{epoch} * 0x10001) {}

  /// Reserves the address range. False when the system refuses it.
  bool reserve() {
    void* const range = mmap(nullptr, kCapacity * sizeof(Slot), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return false;
    slots_ = static_cast<Slot*>(range);
    return true;
  }
  /// Gives the range back; only for a table that has never handed out a slot.
  void unreserve() {
    if (slots_ != nullptr) munmap(slots_, kCapacity * sizeof(Slot));
  }

  /// The slot of a live handle, or null.
  Slot* find(const void* handle) const {
    const auto value = std::bit_cast<uint64_t>(handle);
    if (value >> 48 != kKind) return nullptr;
    const size_t index = (value >> 4) & 0xfffff;
    if (index >= used_.load(std::memory_order_acquire)) return nullptr;
    Slot* const slot = slots_ + index;
    return slot->handle.load(std::memory_order_acquire) == value ? slot : nullptr;
  }

  /// A slot that is nobody's; null when all are in use. Its handle is 0 until `publish`.
  Slot* take() {
    const std::scoped_lock hold(mutex_);
    if (free_ != nullptr) {
      Slot* const slot = free_;
      free_ = slot->next_free;
      return slot;
    }
    const size_t index = used_.load(std::memory_order_relaxed);
    if (index == kCapacity) return nullptr;
    Slot* const slot = new (slots_ + index) Slot;
    slot->last_handle = value_of(index, first_generation_);
    used_.store(index + 1, std::memory_order_release);
    return slot;
  }

  /// Gives a taken slot its new handle; it can be found from here on.
  void* publish(Slot* slot) {
    const auto index = static_cast<size_t>(slot - slots_);
    slot->last_handle = value_of(index, (slot->last_handle >> 24) + 1);
    slot->handle.store(slot->last_handle, std::memory_order_release);
    return std::bit_cast<void*>(slot->last_handle);
  }

  /// The slot, whose handle is 0, is free for others.
  void give_back(Slot* slot) {
    const std::scoped_lock hold(mutex_);
    slot->next_free = free_;
    free_ = slot;
  }

  /// Slots that were ever in use: [0, used()) can be visited by at().
  size_t used() const { return used_.load(std::memory_order_acquire); }
  Slot& at(size_t index) { return slots_[index]; }

 private:
  static uint64_t value_of(size_t index, uint64_t generation) {
    return kKind << 48 | (generation & 0xffffff) << 24 | uint64_t{index} << 4;
  }

  const uint64_t first_generation_;
  Slot* slots_ = nullptr;
  std::atomic<size_t> used_{0};
  std::mutex mutex_;
  Slot* free_ = nullptr;
};

}  // namespace accl::host
