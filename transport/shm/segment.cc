#include "transport/shm/segment.h"

#include <fmt/format.h>

#include <new>
#include <utility>

namespace accl::shm {
namespace {

constexpr const char* kName = "accl communicator";

size_t board_offset(Rank rank) { return (2 + static_cast<size_t>(rank)) * kPageBytes; }

size_t size_for(int ranks, int streams) {
  const auto n = static_cast<size_t>(ranks);
  return board_offset(ranks) + n * n * static_cast<size_t>(streams) * sizeof(Fifo);
}

Status check_numbers(int ranks, int streams) {
  if (ranks >= 1 && ranks <= kMaxSegmentRanks && streams >= 1 && streams <= kMaxStreams) return {};
  return invalid_argument(
      fmt::format("a communicator segment for {} ranks with {} streams: at most {} ranks on one "
                  "host and {} streams",
                  ranks, streams, kMaxSegmentRanks, kMaxStreams));
}

}  // namespace

CommSegment::CommSegment(SharedMemory memory, int ranks, int streams)
    : memory_(std::move(memory)),
      ranks_(ranks),
      streams_(streams),
      forgotten_(std::make_unique<std::atomic<bool>[]>(static_cast<size_t>(ranks))) {}

Result<std::shared_ptr<CommSegment>> CommSegment::create(int ranks, int streams) {
  ACCL_TRY(check_numbers(ranks, streams));
  const size_t size = size_for(ranks, streams);
  SharedMemory memory = ACCL_TRY(SharedMemory::create(kName, size));
  ACCL_TRY(memory.populate(0, board_offset(ranks)));
  new (memory.data()) SegmentHeader{.layout = {.magic = SegmentHeader::kMagic,
                                               .version = SegmentHeader::kVersion,
                                               .size = size,
                                               .token = ACCL_TRY(random_token())},
                                    .ranks = ranks,
                                    .streams = streams};
  return std::shared_ptr<CommSegment>(new CommSegment(std::move(memory), ranks, streams));
}

Result<std::shared_ptr<CommSegment>> CommSegment::map(Fd fd, int ranks, int streams) {
  ACCL_TRY(check_numbers(ranks, streams));
  SharedMemory memory = ACCL_TRY(
      SharedMemory::map(kName, std::move(fd), size_for(ranks, streams), Access::kReadWrite));
  ACCL_TRY(memory.populate(0, board_offset(ranks)));
  const auto& header = *reinterpret_cast<const SegmentHeader*>(memory.data());
  if (header.layout.magic != SegmentHeader::kMagic) {
    return remote_error("the memory offered as a communicator's segment is something else");
  }
  if (header.layout.version != SegmentHeader::kVersion) {
    return remote_error(fmt::format(
        "the communicator's segment has layout {}, this library knows {}: the ranks use different "
        "versions of the library",
        header.layout.version, SegmentHeader::kVersion));
  }
  if (header.ranks != ranks || header.streams != streams) {
    return remote_error(
        fmt::format("the communicator's segment is for {} ranks with {} streams, "
                    "expected {} and {}",
                    header.ranks, header.streams, ranks, streams));
  }
  return std::shared_ptr<CommSegment>(new CommSegment(std::move(memory), ranks, streams));
}

std::span<std::byte> CommSegment::shared() const {
  return {memory_.data() + kPageBytes, kPageBytes};
}

std::span<std::byte> CommSegment::board(Rank rank) const {
  return {memory_.data() + board_offset(rank), kPageBytes};
}

size_t CommSegment::fifo_offset(Rank to, Rank from, int stream) const {
  // By reader first: what a rank polls lies together.
  const auto pair =
      static_cast<size_t>(to) * static_cast<size_t>(ranks_) + static_cast<size_t>(from);
  const size_t index = pair * static_cast<size_t>(streams_) + static_cast<size_t>(stream);
  return board_offset(ranks_) + index * sizeof(Fifo);
}

std::byte* CommSegment::fifo(Rank to, Rank from, int stream) const {
  return memory_.data() + fifo_offset(to, from, stream);
}

Status CommSegment::populate_fifo(Rank to, Rank from, int stream) const {
  return memory_.populate(fifo_offset(to, from, stream), sizeof(Fifo));
}

void CommSegment::forget(Rank rank) const {
  forgotten_[static_cast<size_t>(rank)].store(true, std::memory_order_release);
}

bool CommSegment::forgotten(Rank rank) const {
  return forgotten_[static_cast<size_t>(rank)].load(std::memory_order_acquire);
}

Result<std::shared_ptr<CommSegment>> SegmentMap::create(int ranks, int streams) {
  return remember(ACCL_TRY(CommSegment::create(ranks, streams)));
}

Result<std::shared_ptr<CommSegment>> SegmentMap::map(Fd fd, int ranks, int streams) {
  return remember(ACCL_TRY(CommSegment::map(std::move(fd), ranks, streams)));
}

std::shared_ptr<CommSegment> SegmentMap::remember(std::shared_ptr<CommSegment> segment) {
  std::lock_guard lock(mutex_);
  std::erase_if(segments_, [](const auto& known) { return known.expired(); });
  for (const auto& known : segments_) {
    auto other = known.lock();
    if (other && other->token() == segment->token()) return other;
  }
  segments_.push_back(segment);
  return segment;
}

}  // namespace accl::shm
