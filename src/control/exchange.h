// The exchanges of init, as one rank sees them: all-gather, broadcast and barrier over the tree.
//
// Entries are flooded: each goes once over each connection, and every rank collects what it needs,
// so nothing depends on who calls first. Numbered by turn; all ranks make the same calls. State
// only, no I/O: what is to be sent is handed to `Send`. The reactor's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "src/base/socket.h"
#include "src/control/control.h"
#include "src/control/messages.h"

namespace accl {

class Exchanges {
 public:
  enum class Kind { kAllGather, kBroadcast };
  /// Sends to all neighbours but `except` (-1: to all).
  using Send = std::function<void(const Packet& packet, Rank except)>;

  Exchanges(Rank rank, int ranks, Send send) : rank_(rank), ranks_(ranks), send_(std::move(send)) {}

  /// This rank's call: what it gives (null: nothing, it only receives).
  void call(uint32_t turn, Kind kind, std::shared_ptr<const Blob> blob, const SharedFds& fds);
  /// An entry has come from neighbour `from`. False: it makes no sense, the peer is broken.
  bool take(Frame frame, Rank from);
  /// The result, by rank, once this rank has called and everything is here.
  std::optional<std::vector<Contribution>> take_result(uint32_t turn);
  /// Ranks whose entry has not come, at a call that waits.
  std::vector<Rank> missing(uint32_t turn) const;

 private:
  struct Given {
    std::shared_ptr<const Blob> blob;
    std::vector<SharedFds> parts;  ///< in order; some connection may still have to send them
    size_t parts_wanted = 1;
    bool complete() const { return parts.size() == parts_wanted; }
  };
  struct State {
    std::optional<Kind> called;
    std::map<Rank, Given> given;
  };

  bool satisfied(const State& state) const;

  const Rank rank_;
  const int ranks_;
  const Send send_;
  std::map<uint32_t, State> states_;
};

/// Barriers: up the tree when a rank and all below it have come, down when all have.
class Barriers {
 public:
  explicit Barriers(size_t children) : children_(children) {}
  /// This rank has come, or a child with all below it. True: it is time to tell the parent (at the
  /// root: everybody).
  bool arrive(uint32_t turn) {
    const bool all = ++arrived_[turn] == children_ + 1;
    if (all) arrived_.erase(turn);
    return all;
  }

 private:
  const size_t children_;
  std::map<uint32_t, size_t> arrived_;
};

/// Duplicates of `fds`, close-on-exec; system_error if there are no more descriptors.
Result<std::vector<Fd>> duplicate(const std::vector<int>& fds);

}  // namespace accl
