// The board: what every rank of a host's communicator is doing, in memory that all of them map.
//
// One slot of 4 KiB per rank, given by the communicator's segment; the rank writes its own, anyone
// reads all. publish() is on the data path of every operation and costs a few nanoseconds; the rest
// is for whoever has waited too long. A slot keeps the last eight signatures, so that ranks that
// are some operations ahead can still be compared. Point-to-point calls have no common sequence and
// are not published. Memory of a peer is never trusted: broken values give a wrong text, not a
// crash.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/type.h"
#include "src/control/signature.h"

namespace accl {

enum class RankState : uint32_t { kAbsent, kRunning, kLeft, kFailed };

/// Where a rank stands that has waited for long.
struct Wait {
  enum class For : uint8_t { kCollective, kSend, kRecv };
  uint64_t mark = 0;  ///< names the place; never 0, another one after every step
  For what = For::kCollective;
  Rank peer = -1;      ///< of a send or receive
  uint32_t bytes = 0;  ///< of a send or receive; 0: unknown or too many
};

/// The layout of a slot; zeroed memory is a valid, absent one.
struct BoardSlot {
  static constexpr size_t kHistory = 8;
  struct Entry {
    std::atomic<uint64_t> turn;  ///< sequence + 1 of what stands here; 0 while it changes
    std::atomic<uint64_t> count;
    std::atomic<uint64_t> packed;
    uint64_t unused;
  };
  std::atomic<uint64_t> turn;  ///< sequence + 1 of the last operation; 0: none yet
  std::atomic<uint32_t> state;
  std::atomic<uint32_t> pid;
  std::atomic<uint64_t>
      start_time;  ///< of the process, clock ticks since boot (/proc/pid/stat, 22)
  std::array<std::atomic<uint64_t>, 8> host;
  std::atomic<uint64_t> wait_mark;   ///< Wait::mark of the last long wait; 0: none yet
  std::atomic<uint64_t> wait_looks;  ///< how often it has been told
  std::atomic<uint64_t> wait_point;  ///< kind, peer and size, packed
  std::array<uint64_t, 2> unused;
  std::array<Entry, kHistory> history;
};
static_assert(sizeof(BoardSlot) <= 4096 && std::atomic<uint64_t>::is_always_lock_free);

/// Who a rank is.
struct BoardIdentity {
  int pid = 0;
  uint64_t start_time = 0;
  std::string host;
};

/// The writer's half: one per rank, one thread at a time.
class BoardWriter {
 public:
  BoardWriter() = default;
  /// `slot`: at least sizeof(BoardSlot) bytes, aligned to 64; it must outlive the writer.
  explicit BoardWriter(std::span<std::byte> slot);
  /// False: made without a slot, and only good to be assigned to.
  explicit operator bool() const { return slot_ != nullptr; }
  /// Writes who this process is; the state becomes kRunning.
  void enter();
  /// The same for a rank of another host.
  void enter(const BoardIdentity& who);
  void set_state(RankState state);
  /// This rank has looked again and still waits.
  void tell(const Wait& wait);
  /// It waits no more.
  void go_on();

  /// Sequences rise by one per call (the first may be anything).
  void publish(const CallSignature& signature) {
    BoardSlot::Entry& entry = slot_->history[signature.sequence % BoardSlot::kHistory];
    // Each store releases the ones before it, so that a reader that sees a new value also sees that
    // the entry is changing. Plain stores on x86, and no fence.
    entry.turn.store(0, std::memory_order_relaxed);
    entry.count.store(signature.count, std::memory_order_release);
    entry.packed.store(packed(signature), std::memory_order_release);
    entry.turn.store(signature.sequence + 1, std::memory_order_release);
    slot_->turn.store(signature.sequence + 1, std::memory_order_release);
  }

 private:
  BoardSlot* slot_ = nullptr;
};

struct Mismatch {
  uint64_t sequence;
  /// "operation 17 differs: rank 0 calls AllReduce(...); ranks 1-3 call Broadcast(...)", or, when
  /// the collective is the same, "operation 17 differs in count, root: ...".
  std::string text;
};

/// The readers' half. Any thread.
class Board {
 public:
  Board() = default;
  /// One slot per rank.
  explicit Board(const std::vector<std::span<const std::byte>>& slots);

  /// The first operation, as far as the slots remember, on which two ranks disagree.
  std::optional<Mismatch> compare() const;
  /// True if `laggards` is empty. Does not allocate.
  bool all_began(uint64_t sequence, Rank self) const;
  /// Ranks (without `self`) that have not published operation `sequence` yet.
  std::vector<Rank> laggards(uint64_t sequence, Rank self) const;
  /// "operation 40 AllReduce waits for rank 5 (pid 123 on host h); its last operation is 39"; empty
  /// if nobody is behind.
  std::string describe_laggards(const CallSignature& waiting, Rank self) const;
  /// "rank 5 (pid 123 on host h)".
  std::string describe_rank(Rank rank) const;
  /// The signature of that operation at a rank, if its slot still has it.
  std::optional<CallSignature> signature(Rank rank, uint64_t sequence) const;
  /// The newest signature of a rank; none before its first.
  std::optional<CallSignature> last(Rank rank) const;
  RankState state(Rank rank) const;
  /// The mark of a rank's last long wait, and how often the rank has told of it.
  std::pair<uint64_t, uint64_t> wait_of(Rank rank) const;
  /// "rank 0 waits in AllReduce(...); ranks 1, 2 wait in Recv of 4000 bytes from rank 0".
  std::string describe_waits() const;

 private:
  std::string describe_wait(Rank rank) const;
  /// True if all ranks whose slots have that operation called the same.
  bool agree(uint64_t sequence) const;

  std::vector<const BoardSlot*> slots_;
};

}  // namespace accl
