#include "transport/shm/stream.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace accl::shm {
namespace {

Fifo* fifo_of(const Link& link) {
  return reinterpret_cast<Fifo*>(link.segment->fifo(link.to, link.from, link.stream));
}

}  // namespace

Status check(const Link& link) {
  if (link.segment == nullptr || link.pool == nullptr) {
    return invalid_argument("a stream needs a segment and a staging pool");
  }
  const int ranks = link.segment->ranks();
  const int streams = link.segment->streams();
  const auto is_rank = [&](Rank rank) { return rank >= 0 && rank < ranks; };
  if (is_rank(link.from) && is_rank(link.to) && link.stream >= 0 && link.stream < streams) {
    return {};
  }
  return invalid_argument(
      fmt::format("no stream {} from rank {} to rank {} in a segment of {} ranks with {} streams",
                  link.stream, link.from, link.to, ranks, streams));
}

Writer::Writer(Link link, Doorbell reader)
    : fifo_(fifo_of(link)), bell_(reader), link_(std::move(link)) {}

Slice Writer::reserve_outside(size_t bytes) {
  if (over_) return {};
  if (bytes <= kDataMessageBytes) return reserve_data(static_cast<uint32_t>(bytes));
  if (bytes <= kMaxMessage) return reserve_slot(static_cast<uint32_t>(bytes));
  fail(internal_error(
      fmt::format("a message of {} bytes to rank {}: a stream carries at most {} at a time", bytes,
                  link_.to, kMaxMessage)));
  return {};
}

Slice Writer::reserve_data(uint32_t bytes) {
  uint32_t start = data_.find(bytes);
  if (start == ByteRing::kNone) {
    refresh();
    start = data_.find(bytes);
    if (over_ || start == ByteRing::kNone) return {};
  }
  place_ = {Place::kData, bytes, start, start};
  return {fifo_.memory()->data + start, bytes};
}

Slice Writer::reserve_slot(uint32_t bytes) {
  if (slot_ < 0 && !lease()) return {};
  uint32_t start = ring_.find(bytes);
  if (start == ByteRing::kNone) {
    refresh();
    start = ring_.find(bytes);
    if (over_ || start == ByteRing::kNone) return {};
  }
  const size_t offset = StagingPool::slot_offset(slot_) + start;
  place_ = {Place::kSlot, bytes, static_cast<uint32_t>(offset / kPlaceUnit), start};
  return {link_.pool->data() + offset, bytes};
}

bool Writer::lease() {
  Result<int> slot = link_.pool->lease();
  if (!slot.ok()) {
    fail(std::move(slot.status()));
    return false;
  }
  if (*slot < 0) return false;
  slot_ = *slot;
  slot_since_ = fifo_.sent();
  ring_ = ByteRing(static_cast<uint32_t>(kSlotBytes));
  return true;
}

void Writer::take_place() {
  ByteRing& ring = place_.kind == Place::kData ? data_ : ring_;
  remember(place_.kind, ring.take(place_.start, place_.bytes));
}

void Writer::remember(Place::Kind kind, uint64_t position) {
  // Never more entries than messages in flight, so never more than lines.
  pending_[pending_last_++ % Fifo::kLines] = {fifo_.sent() + 1, kind, position};
}

void Writer::release(const Pending& pending) {
  switch (pending.kind) {
    case Place::kInLine:
      break;
    case Place::kData:
      data_.free_to(pending.position);
      break;
    case Place::kSlot:
      // A slot that has been given back in the meantime drains on its own.
      if (pending.message > slot_since_) ring_.free_to(pending.position);
      break;
    case Place::kPushed:
      ++flushed_;
      break;
  }
}

void Writer::refresh() {
  if (!over_ && !fifo_.refresh()) {
    const bool closed = fifo_.memory()->popped.load(std::memory_order_acquire) == Fifo::kClosed;
    fail(closed ? remote_error(fmt::format("rank {} has closed its end of stream {} from rank {}",
                                           link_.to, link_.stream, link_.from))
                : internal_error(fmt::format("the memory of stream {} from rank {} to rank {} is "
                                             "damaged: more was read than sent",
                                             link_.stream, link_.from, link_.to)));
    gone_ = true;
  }
  const uint64_t popped = gone_ ? fifo_.sent() : fifo_.popped();
  while (pending_first_ != pending_last_) {
    const Pending& oldest = pending_[pending_first_ % Fifo::kLines];
    if (oldest.message > popped) break;
    release(oldest);
    ++pending_first_;
  }
}

bool Writer::make_room() {
  refresh();
  return !over_ && !fifo_.full();
}

void Writer::fail(Status why) {
  if (!over_) failure_ = std::move(why);
  over_ = true;
}

bool Writer::push(Slice message, uint32_t signature) {
  if (over_ || (fifo_.full() && !make_room())) return false;
  Line& line = fifo_.next();
  std::memcpy(line.payload, &message, sizeof message);
  line.bytes = kPushedMark;
  line.where = 0;
  remember(Place::kPushed, 0);
  ++pushed_;
  fifo_.publish(signature);
  bell_.ring_if_sleeping();
  return true;
}

uint64_t Writer::flushed() {
  refresh();
  return flushed_;
}

void Writer::rest() {
  if (slot_ < 0) return;
  refresh();
  const int slot = std::exchange(slot_, -1);
  if (ring_.empty()) {
    link_.pool->give_back(slot);
  } else {
    link_.pool->drain(slot, {link_.segment, &fifo_.memory()->popped, fifo_.sent(), link_.to});
  }
}

Reader::Reader(Link link, const std::byte* staging, size_t staging_size, Doorbell writer)
    : fifo_(fifo_of(link)),
      bell_(writer),
      staging_(staging),
      staging_size_(staging_size),
      link_(std::move(link)) {}

Reader::~Reader() {
  fifo_.close();
  bell_.ring_if_sleeping();
}

Slice Reader::front_outside(const Line& line) {
  // Checked, because a peer's damaged memory must not become our crash.
  const size_t bytes = line.bytes;
  const size_t where = line.where;
  if (bytes == kPushedMark && link_.peer == nullptr) {
    Slice message;
    std::memcpy(&message, line.payload, sizeof message);
    // "Nothing from nowhere" is still a message.
    if (message.data == nullptr) message.data = const_cast<std::byte*>(line.payload);
    return message;
  }
  if (bytes <= kDataMessageBytes && where <= Fifo::kDataBytes - bytes) {
    return {fifo_.memory()->data + where, bytes};
  }
  if (bytes > kDataMessageBytes && bytes <= kMaxMessage &&
      where * kPlaceUnit <= staging_size_ - bytes) {
    return {const_cast<std::byte*>(staging_) + where * kPlaceUnit, bytes};
  }
  if (failure_.ok()) {
    failure_ = internal_error(fmt::format(
        "the memory of stream {} from rank {} to rank {} is damaged: a message of {} bytes at {}",
        link_.stream, link_.from, link_.to, bytes, where));
  }
  return {};
}

}  // namespace accl::shm
