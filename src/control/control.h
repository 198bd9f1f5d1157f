// Control: the tree of connections between the ranks of a communicator that lives on after init.
//
// It carries what is not data: the exchanges of init, abort, the verdict on a failed operation, and
// the news that a rank has died. One per (communicator, rank), owned by the communicator, driven by
// the process's Reactor; no thread of its own. The facade is for any thread; the blocking calls of
// init are for one thread at a time and never for the reactor's. The callbacks run in the reactor's
// thread and must not block.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/reactor.h"
#include "src/base/socket.h"
#include "src/base/status.h"
#include "src/base/type.h"
#include "src/bootstrap/bootstrap.h"

namespace accl {

class ControlCore;

/// What one rank gave to an exchange.
struct Contribution {
  Blob blob;
  std::vector<Fd> fds;  ///< the receiver's own, close-on-exec
};

struct ControlCallbacks {
  /// A flooded message; `kind` is the communicator's business.
  std::function<void(Rank from, uint16_t kind, std::span<const std::byte> payload)> on_message;
  /// The first verdict that rank 0 has accepted: the same on all ranks. At most once.
  std::function<void(Code code, const std::string& text)> on_verdict;
  /// A rank has died (or broken its connection without leaving): once per rank, the same text on
  /// all ranks, such as "rank 2 (pid 1234 on host name) died".
  std::function<void(Rank rank, const std::string& text)> on_death;
};

class Control {
 public:
  /// Takes over the connections. Empty callbacks are not called; set_callbacks() may follow.
  static Result<std::unique_ptr<Control>> start(Reactor& reactor, Wiring wiring);
  /// leave(), if that has not been called.
  ~Control();

  Rank rank() const { return rank_; }
  int ranks() const { return ranks_; }

  /// From when on the callbacks are called. What was heard before (a death during init, say) is
  /// told to them at once, in the reactor's thread.
  void set_callbacks(ControlCallbacks callbacks);

  /// Deadline (monotonic ns, see now_ns()) and abort flag of the blocking calls below.
  void set_patience(uint64_t deadline_ns, const std::atomic<bool>* abort);

  /// Every rank gives `mine` (at most 16 MiB) and receives what all gave, by rank. All ranks call
  /// the same sequence of exchanges. Errors: remote_error for a death, a time-out that names the
  /// ranks missing, or the abort flag.
  Result<std::vector<Blob>> all_gather(std::span<const std::byte> mine);
  /// The same with file descriptors, which remain the caller's and arrive as duplicates.
  Result<std::vector<Contribution>> all_gather(std::span<const std::byte> mine,
                                               std::span<const int> fds);
  /// Rank 0 gives, the others receive (rank 0 gets its own back, descriptors duplicated).
  Result<Contribution> broadcast(std::span<const std::byte> blob, std::span<const int> fds);
  /// Returns when all ranks have called it.
  Status barrier();

  /// Tells all other ranks, best effort, in the order of the calls; at most 64 KiB. Never blocks.
  void flood(uint16_t kind, std::span<const std::byte> payload);
  /// Proposes what all ranks are to be told; rank 0 takes the first proposal and floods it
  /// (on_verdict, here too). Parts of a broken tree decide for themselves. Never blocks.
  void propose(Code code, const std::string& text);
  /// The same as on_death reports: tells the others what the data path found out about a rank.
  void report_death(Rank rank, const std::string& text);

  /// Says goodbye: after it no callback runs and the end of this process is not a death. Returns at
  /// once or, if the reactor is slow, within 1 s. What is left of the connections lingers in the
  /// reactor, forwarding for the others, until all ranks have left. The caller must hold no lock
  /// that a callback takes. Idempotent.
  void leave();

 private:
  Control(Reactor& reactor, std::shared_ptr<ControlCore> core, Rank rank, int ranks);

  Reactor& reactor_;
  std::shared_ptr<ControlCore> core_;
  const Rank rank_;
  const int ranks_;
  uint64_t deadline_ns_;
  const std::atomic<bool>* abort_ = nullptr;
  uint32_t next_turn_ = 1;
  bool left_ = false;
};

}  // namespace accl
