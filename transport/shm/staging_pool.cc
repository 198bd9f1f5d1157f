#include "transport/shm/staging_pool.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "transport/shm/segment.h"

namespace accl::shm {
namespace {

constexpr const char* kName = "accl staging";

bool drained(const Drain& until) {
  // Acquire: the reader's loads from the slot come before the stores of its next owner.
  return until.popped->load(std::memory_order_acquire) >= until.target ||
         until.segment->forgotten(until.to);
}

}  // namespace

StagingPool::StagingPool(SharedMemory memory, Fd eventfd)
    : memory_(std::move(memory)), eventfd_(std::move(eventfd)) {
  // All that the lists can ever hold, so that the data path does not allocate.
  const size_t slots = size() / kSlotBytes;
  free_.reserve(slots);
  refused_.reserve(slots);
  draining_.reserve(slots);
}

Result<std::unique_ptr<StagingPool>> StagingPool::create(size_t size) {
  if (size % kSlotBytes != 0 || size < 2 * kSlotBytes || size / kPlaceUnit > UINT32_MAX) {
    return invalid_argument(fmt::format(
        "{} bytes of staging memory: must be a multiple of {}, at least two", size, kSlotBytes));
  }
  SharedMemory memory = ACCL_TRY(SharedMemory::create(kName, size));
  ACCL_TRY(memory.populate(0, sizeof(PoolHeader)));
  Fd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) return system_error(fmt::format("cannot make an eventfd: {}", strerrordesc_np(errno)));
  auto* header = new (memory.data()) PoolHeader;
  header->layout = {.magic = PoolHeader::kMagic,
                    .version = PoolHeader::kVersion,
                    .size = size,
                    .token = ACCL_TRY(random_token())};
  header->slot_bytes = kSlotBytes;
  header->barrier = Sleeper::enable_barrier() ? 1 : 0;
  return std::unique_ptr<StagingPool>(new StagingPool(std::move(memory), std::move(bell)));
}

Result<int> StagingPool::lease() {
  int slot = -1;
  {
    std::lock_guard lock(mutex_);
    sweep();
    if (!free_.empty()) {
      slot = free_.back();
      free_.pop_back();
      ++leased_;
      return slot;
    }
    if (!refused_.empty()) {
      slot = refused_.back();
      refused_.pop_back();
    } else if (slot_offset(fresh_) < size()) {
      slot = fresh_++;
    } else {
      return -1;
    }
    ++leased_;
  }
  // Outside of the mutex: the first touch of a slot takes tens of microseconds.
  Status status = memory_.populate(slot_offset(slot), kSlotBytes);
  if (status.ok()) return slot;
  std::lock_guard lock(mutex_);
  refused_.push_back(slot);
  --leased_;
  return status;
}

void StagingPool::give_back(int slot) {
  std::lock_guard lock(mutex_);
  free_.push_back(slot);
  --leased_;
}

void StagingPool::drain(int slot, Drain until) {
  std::lock_guard lock(mutex_);
  sweep();
  draining_.push_back({slot, std::move(until)});
  --leased_;
}

void StagingPool::sweep() {
  for (size_t i = 0; i < draining_.size();) {
    if (!drained(draining_[i].until)) {
      ++i;
      continue;
    }
    free_.push_back(draining_[i].slot);
    if (i + 1 != draining_.size()) draining_[i] = std::move(draining_.back());
    draining_.pop_back();
  }
}

int StagingPool::in_use() {
  std::lock_guard lock(mutex_);
  sweep();
  return leased_ + static_cast<int>(draining_.size());
}

int StagingPool::draining() {
  std::lock_guard lock(mutex_);
  sweep();
  return static_cast<int>(draining_.size());
}

bool StagingPool::exhausted() {
  std::lock_guard lock(mutex_);
  sweep();
  return free_.empty() && refused_.empty() && slot_offset(fresh_) >= size();
}

Result<std::shared_ptr<const PeerPool>> PoolMap::open(Fd pool, Fd eventfd) {
  const size_t size = ACCL_TRY(SharedMemory::size_of(pool.get()));
  if (size % kSlotBytes != 0 || size < 2 * kSlotBytes) {
    return remote_error(fmt::format("a peer's staging memory has an impossible size: {}", size));
  }
  SharedMemory memory = ACCL_TRY(SharedMemory::map(kName, std::move(pool), size, Access::kRead));
  const auto& header = *reinterpret_cast<const PoolHeader*>(memory.data());
  if (header.layout.magic != PoolHeader::kMagic || header.layout.size != size) {
    return remote_error("the memory offered as a peer's staging memory is something else");
  }
  if (header.layout.version != PoolHeader::kVersion || header.slot_bytes != kSlotBytes) {
    return remote_error(fmt::format(
        "a peer's staging memory has layout {} with slots of {} bytes, this library knows layout "
        "{} with {}: the ranks use different versions of the library",
        header.layout.version, header.slot_bytes, PoolHeader::kVersion, kSlotBytes));
  }
  std::lock_guard lock(mutex_);
  std::erase_if(pools_, [](const auto& known) { return known.expired(); });
  for (const auto& known : pools_) {
    auto other = known.lock();
    if (other && other->token() == header.layout.token) return other;
  }
  auto opened = std::make_shared<const PeerPool>(std::move(memory), std::move(eventfd));
  pools_.push_back(opened);
  return opened;
}

}  // namespace accl::shm
