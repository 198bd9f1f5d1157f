// The two halves of a stream over a line FIFO and staging memory, which the transports between
// processes (shm.h) and within one (transport/local) are made of.
//
// Where a message lies: up to kInlineBytes in its line; up to kDataMessageBytes in the FIFO's data
// area; up to kMaxMessage in a slot of the sender's staging pool; or, pushed, in the sender's own
// memory. Not virtual, and what happens to small messages is inline: a few nanoseconds.
//
// Each half belongs to the thread that drives its communicator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "src/base/byte_ring.h"
#include "src/base/doorbell.h"
#include "src/base/line_fifo.h"
#include "src/base/status.h"
#include "transport/shm/segment.h"
#include "transport/shm/staging_pool.h"
#include "transport/transport.h"

namespace accl::shm {

/// One stream and what its ends need. Sender and receiver open the same (from, to, stream) once.
struct Link {
  std::shared_ptr<CommSegment> segment;
  Rank from = 0;
  Rank to = 0;
  int stream = 0;
  StagingPool* pool = nullptr;           ///< of this process; outlives the ends
  std::shared_ptr<const PeerPool> peer;  ///< of the other end's process; none within a process
};

/// Ok if ranks and stream of `link` exist.
Status check(const Link& link);

/// `Line::bytes` of a pushed message; the payload is its Slice.
inline constexpr uint32_t kPushedMark = ~uint32_t{0};

class Writer {
 public:
  /// `link` is checked and its FIFO populated.
  Writer(Link link, Doorbell reader);
  ~Writer() { rest(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// See transport.h.
  Slice reserve(size_t bytes) {
    if (fifo_.full() && !make_room()) [[unlikely]]
      return {};
    if (bytes > kInlineBytes) return reserve_outside(bytes);
    Line& line = fifo_.next();
    place_ = {Place::kInLine, static_cast<uint32_t>(bytes), 0};
    return {line.payload, bytes};
  }
  void commit(uint32_t signature) {
    Line& line = fifo_.next();
    line.bytes = place_.bytes;
    line.where = place_.where;
    if (place_.kind != Place::kInLine) take_place();
    fifo_.publish(signature);
    bell_.ring_if_sleeping();
  }
  /// The message stays where it is, and the reader is told its address.
  bool push(Slice message, uint32_t signature);
  uint64_t pushed() const { return pushed_; }
  uint64_t flushed();
  void rest();
  Status status() const { return failure_.copy(); }

 private:
  struct Place {
    enum Kind : uint8_t { kInLine, kData, kSlot, kPushed };
    Kind kind = kInLine;
    uint32_t bytes = 0;
    uint32_t where = 0;
    uint32_t start = 0;  ///< in the ring that the kind has
  };
  /// What becomes free when a message outside of its line has been popped.
  struct Pending {
    uint64_t message;  ///< its sequence number, from 1
    Place::Kind kind;
    uint64_t position;  ///< of the kind's ring
  };

  Slice reserve_outside(size_t bytes);
  Slice reserve_data(uint32_t bytes);
  Slice reserve_slot(uint32_t bytes);
  void take_place();
  void remember(Place::Kind kind, uint64_t position);
  /// Learns what the reader has popped, and frees it.
  void refresh();
  void release(const Pending& pending);
  bool make_room();
  bool lease();
  void fail(Status why);

  FifoWriter fifo_;
  Place place_;
  Doorbell bell_;
  int slot_ = -1;
  uint64_t slot_since_ = 0;  ///< messages sent before the slot was leased
  ByteRing data_{Fifo::kDataBytes};
  ByteRing ring_{static_cast<uint32_t>(kSlotBytes)};  ///< of the leased slot
  uint64_t pushed_ = 0;
  uint64_t flushed_ = 0;
  uint32_t pending_first_ = 0;  ///< counts for ever; index modulo the size
  uint32_t pending_last_ = 0;
  std::array<Pending, Fifo::kLines> pending_;
  Link link_;
  bool over_ = false;  ///< failed: nothing is sent any more
  bool gone_ = false;  ///< the reader will never look at anything again
  Status failure_;
};

class Reader {
 public:
  /// `staging` is the sender's pool as mapped here. `link` is checked and its FIFO populated.
  Reader(Link link, const std::byte* staging, size_t staging_size, Doorbell writer);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Slice front(uint32_t signature) {
    const Line* line = fifo_.front(signature);
    if (line == nullptr) return {};
    const uint32_t bytes = line->bytes;
    if (bytes > kInlineBytes) [[unlikely]]
      return front_outside(*line);
    return {const_cast<std::byte*>(line->payload), bytes};
  }
  void pop() {
    fifo_.pop();
    bell_.ring_if_sleeping();
  }
  bool mismatched(uint32_t signature) const { return fifo_.mismatched(signature); }
  uint32_t arrived() const { return fifo_.arrived(); }
  Status status() const { return failure_.copy(); }

 private:
  Slice front_outside(const Line& line);

  FifoReader fifo_;
  Doorbell bell_;
  const std::byte* staging_;
  size_t staging_size_;
  Link link_;
  Status failure_;
};

}  // namespace accl::shm
