// Staging memory: where messages lie that are too large for a line FIFO, until the peer has read
// them.
//
// One sparse memfd per process, cut into slots. A sending end leases a slot for the time of one
// operation; what the peer has not read when the operation ends drains, and goes back when it has
// been. So staging does not grow with the number of communicators, and none waits for another. The
// first page also carries what a peer needs to wake this process.
//
// StagingPool: one per process, owned by the World, outlives all ends; any thread. PeerPool:
// another process's pool as seen from here, shared by all communicators of this process through the
// PoolMap; any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "src/base/doorbell.h"
#include "src/base/fd.h"
#include "src/base/memory.h"
#include "src/base/status.h"
#include "src/base/type.h"

namespace accl::shm {

class CommSegment;

inline constexpr size_t kSlotBytes = size_t{256} << 10;
/// The largest message that a stream carries by copy: a slot holds two, so that one can be written
/// while the other is read.
inline constexpr size_t kMaxMessage = kSlotBytes / 2;
/// Places in a pool are told in these units, so that 32 bits reach 256 GiB.
inline constexpr size_t kPlaceUnit = 64;
inline constexpr size_t kDefaultPoolBytes = size_t{1} << 30;

/// The first page of a pool.
struct PoolHeader {
  static constexpr uint64_t kMagic = 0x6c6f6f706c636361;  // "acclpool"
  static constexpr uint32_t kVersion = 1;

  LayoutHeader layout;
  uint64_t slot_bytes;
  uint32_t barrier;  ///< 1: a sleeper's membarrier reaches this process
  alignas(kFalseSharingBytes) SleepWord sleep;
};
static_assert(sizeof(PoolHeader) <= kPageBytes);

/// When a slot that was given back early is free: once the reader `to` has popped `target` messages
/// of the stream with this FIFO word, has closed its end, or is gone.
struct Drain {
  std::shared_ptr<const CommSegment> segment;  ///< keeps `popped` mapped
  const std::atomic<uint64_t>* popped = nullptr;
  uint64_t target = 0;
  Rank to = 0;
};

class StagingPool {
 public:
  /// `size` bytes of address space, a multiple of kSlotBytes and at least two of them; memory is
  /// taken as slots are leased for the first time. kSystem when refused.
  static Result<std::unique_ptr<StagingPool>> create(size_t size = kDefaultPoolBytes);

  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  /// What peers get: the memory and the eventfd that wakes this process. Owned by the pool.
  int fd() const { return memory_.fd(); }
  int eventfd() const { return eventfd_.get(); }
  const Token& token() const { return header().layout.token; }
  std::byte* data() const { return memory_.data(); }
  size_t size() const { return memory_.size(); }

  /// Rings this process itself: for streams between its threads.
  Doorbell doorbell() const { return {&header().sleep, eventfd_.get()}; }
  /// The sleeping side of that bell, for the engine's thread.
  Sleeper sleeper() { return {&header().sleep, eventfd_.get()}; }

  /// A slot for the caller alone; -1 when all are leased; kSystem when the system has no memory.
  Result<int> lease();
  /// Nobody reads the slot any more.
  void give_back(int slot);
  /// The writer is through with the slot, its reader maybe not yet.
  void drain(int slot, Drain until);

  std::byte* slot_data(int slot) const { return data() + slot_offset(slot); }
  static size_t slot_offset(int slot) { return static_cast<size_t>(slot) * kSlotBytes; }
  /// Slots leased or draining now, for tests and reports.
  int in_use();
  int draining();
  /// True if a lease would have to wait for another one's end.
  bool exhausted();

 private:
  struct Draining {
    int slot;
    Drain until;
  };

  StagingPool(SharedMemory memory, Fd eventfd);
  PoolHeader& header() const { return *reinterpret_cast<PoolHeader*>(memory_.data()); }
  /// Frees what has drained. Under the mutex.
  void sweep();

  SharedMemory memory_;
  Fd eventfd_;
  std::mutex mutex_;
  std::vector<int> free_;     ///< populated slots; the last one given back is the warmest
  std::vector<int> refused_;  ///< slots without memory: tried again before new ones
  std::vector<Draining> draining_;
  int fresh_ = 1;  ///< first slot never leased; slot 0 holds the header
  int leased_ = 0;
};

/// Another process's pool, mapped for reading, and its bell.
class PeerPool {
 public:
  PeerPool(SharedMemory memory, Fd eventfd)
      : memory_(std::move(memory)), eventfd_(std::move(eventfd)) {}

  const std::byte* data() const { return memory_.data(); }
  size_t size() const { return memory_.size(); }
  const Token& token() const { return header().layout.token; }
  Doorbell doorbell() const { return {&header().sleep, eventfd_.get()}; }
  /// False: a sleeper here might not see that peer's messages and must not sleep for long
  /// (Sleeper::kBlindSleepMs).
  bool has_barrier() const { return header().barrier != 0; }

 private:
  const PoolHeader& header() const { return *reinterpret_cast<const PoolHeader*>(memory_.data()); }

  SharedMemory memory_;
  Fd eventfd_;
};

/// All peers' pools that this process has mapped, each once. Owned by the World; any thread.
class PoolMap {
 public:
  /// The pool behind `pool`, mapped now unless it is already. kRemote if it is not a pool of this
  /// version, kSystem if the mapping is refused. The descriptors are kept or closed.
  Result<std::shared_ptr<const PeerPool>> open(Fd pool, Fd eventfd);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<const PeerPool>> pools_;
};

}  // namespace accl::shm
