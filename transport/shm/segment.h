// The memory that a communicator's ranks on one host share: a header, a shared page, a board slot
// per rank, and a line FIFO for every (destination, source, stream).
//
// Rank 0 creates it and hands its descriptor out; it is sparse, so only streams that are opened
// cost memory. Everything before the FIFOs is populated when a process maps it.
//
// Owned by shared_ptr: the communicator, its stream ends, and slots of staging memory that still
// drain. Any thread; what lies in the memory has rules of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "src/base/fd.h"
#include "src/base/line_fifo.h"
#include "src/base/memory.h"
#include "src/base/status.h"
#include "src/base/type.h"

namespace accl::shm {

/// Streams between two ranks in each direction that a segment has unless told otherwise.
inline constexpr int kStreams = 24;
inline constexpr int kMaxSegmentRanks = 1024;
inline constexpr int kMaxStreams = 256;

struct SegmentHeader {
  static constexpr uint64_t kMagic = 0x6d6d6f636c636361;  // "acclcomm"
  static constexpr uint32_t kVersion = 1;

  LayoutHeader layout;
  int32_t ranks;
  int32_t streams;
};

class CommSegment {
 public:
  /// A new segment, by rank 0. kSystem when refused.
  static Result<std::shared_ptr<CommSegment>> create(int ranks, int streams = kStreams);
  /// Maps a segment that another process created. kRemote if it is not a segment of this version
  /// for so many ranks and streams. Processes with several ranks use SegmentMap.
  static Result<std::shared_ptr<CommSegment>> map(Fd fd, int ranks, int streams = kStreams);

  CommSegment(const CommSegment&) = delete;
  CommSegment& operator=(const CommSegment&) = delete;

  /// To be handed to the other ranks; owned by the segment.
  int fd() const { return memory_.fd(); }
  const Token& token() const { return header().layout.token; }
  int ranks() const { return ranks_; }
  int streams() const { return streams_; }

  /// kPageBytes of memory, zero at first, for what the communicator's ranks share.
  std::span<std::byte> shared() const;
  /// kPageBytes of memory, zero at first, that rank `rank` writes and all read.
  std::span<std::byte> board(Rank rank) const;
  /// The FIFO of stream `stream` from rank `from` to rank `to`; not populated yet.
  std::byte* fifo(Rank to, Rank from, int stream) const;
  /// Gives that FIFO its pages. kSystem when refused.
  Status populate_fifo(Rank to, Rank from, int stream) const;

  /// Rank `rank` will never read again (its process has died): nothing waits for it to drain. Known
  /// to this process only.
  void forget(Rank rank) const;
  bool forgotten(Rank rank) const;

 private:
  CommSegment(SharedMemory memory, int ranks, int streams);
  const SegmentHeader& header() const {
    return *reinterpret_cast<const SegmentHeader*>(memory_.data());
  }
  size_t fifo_offset(Rank to, Rank from, int stream) const;

  SharedMemory memory_;
  int ranks_;
  int streams_;
  std::unique_ptr<std::atomic<bool>[]> forgotten_;
};

/// The segments that this process has mapped, each once however many of its ranks take part:
/// threads of one process then meet at the same addresses. Owned by the World; any thread.
class SegmentMap {
 public:
  /// A new segment, known here from now on.
  Result<std::shared_ptr<CommSegment>> create(int ranks, int streams = kStreams);
  /// The segment behind `fd`, mapped now unless it is already.
  Result<std::shared_ptr<CommSegment>> map(Fd fd, int ranks, int streams = kStreams);

 private:
  std::shared_ptr<CommSegment> remember(std::shared_ptr<CommSegment> segment);

  std::mutex mutex_;
  std::vector<std::weak_ptr<CommSegment>> segments_;
};

}  // namespace accl::shm
