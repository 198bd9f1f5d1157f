// Bootstrap: how processes that share a unique id become the ranks of a communicator.
//
// One per process, owned by the engine beside its Reactor, which must outlive it and must be
// running whenever one of the blocking calls is made. create_id() and join() are for any thread
// except the reactor's. Strangers at the door get bounded memory and time and never disturb a
// healthy init.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/reactor.h"
#include "src/base/socket.h"
#include "src/base/status.h"
#include "src/base/type.h"
#include "src/bootstrap/unique_id.h"

namespace accl {

class Door;

/// A rank at the other end of a connection of the tree.
struct Neighbour {
  Rank rank = -1;
  int pid = 0;       ///< as it says itself
  std::string host;  ///< as it says itself
  Connection link;   ///< authenticated; frames may already have arrived
};

/// A rank's place in the communicator: the binomial tree with rank 0 as its root, in which the
/// parent of r is r without its lowest set bit.
struct Wiring {
  Rank rank = 0;
  int ranks = 1;
  std::vector<Neighbour> neighbours;  ///< the parent first (except at rank 0), then the children
};

/// What a rank says when it joins.
struct JoinOptions {
  UniqueId id;
  Rank rank = 0;
  int ranks = 1;
  uint64_t timeout_ms = 300'000;             ///< Config::init_timeout
  const std::atomic<bool>* abort = nullptr;  ///< true ends the call early; may be null
  std::string version;                       ///< of the library; all ranks must say the same
};

class Bootstrap {
 public:
  static Result<std::unique_ptr<Bootstrap>> create(Reactor& reactor);
  ~Bootstrap();

  /// Makes an id and, until all its ranks have met, serves it in this process.
  Result<UniqueId> create_id();
  /// Blocks until all ranks have joined and are wired. Errors: invalid_argument (rank out of
  /// range), invalid_usage (ranks disagree, a rank twice, an id used before), remote_error
  /// (time-out with the missing ranks, a rank or the id's process died, aborted): the same text on
  /// all ranks concerned.
  Result<Wiring> join(const JoinOptions& options);

 private:
  explicit Bootstrap(Reactor& reactor);

  Reactor& reactor_;
  std::shared_ptr<Door> door_;
};

/// The tree's shape, for whoever needs it: pure.
Rank tree_parent(Rank rank);
std::vector<Rank> tree_children(Rank rank, int ranks);

}  // namespace accl
