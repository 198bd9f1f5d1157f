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
#include "src/bootstrap/contact.h"
#include "src/bootstrap/unique_id.h"

namespace accl {

class Door;
class TreeWiring;
struct DoorOptions;
struct Service;

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
  bool tcp_only = false;  ///< as if all other processes were in other network namespaces
};

/// This process's place in a tree without a root process: its members know each other.
struct TreePlace {
  Rank rank = 0;
  int ranks = 1;
  Contact parent;              ///< where the parent's process is; rank 0 has none
  uint32_t parent_ticket = 0;  ///< of the parent's open_tree()
  uint64_t deadline_ns = 0;    ///< see now_ns()
  const std::atomic<bool>* abort = nullptr;
};

class Bootstrap {
 public:
  /// system_error if a socket is refused, or the range has no free port.
  static Result<std::unique_ptr<Bootstrap>> create(Reactor& reactor, const DoorOptions& options);
  static Result<std::unique_ptr<Bootstrap>> create(Reactor& reactor);
  ~Bootstrap();
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;

  Reactor& reactor() { return reactor_; }
  /// How this process is reached.
  const Contact& contact() const;

  /// Makes an id and, until all its ranks have met, serves it in this process.
  Result<UniqueId> create_id();
  /// Blocks until all ranks have joined and are wired. Errors: invalid_argument (rank out of
  /// range), invalid_usage (ranks disagree, a rank twice, an id used before), remote_error
  /// (time-out with the missing ranks, a rank or the id's process died, aborted): the same text on
  /// all ranks concerned.
  Result<Wiring> join(const JoinOptions& options);

  /// A tree by unix sockets alone, over which descriptors can travel. Its members tell each other
  /// where they are and the tickets of open_tree(), then each calls wire() once. remote_error if a
  /// neighbour cannot be reached or does not come in time.
  class Tree {
   public:
    ~Tree();
    uint32_t ticket() const { return ticket_; }

   private:
    friend class Bootstrap;
    explicit Tree(Bootstrap& owner, const Secret& secret);
    Bootstrap& owner_;
    std::shared_ptr<TreeWiring> wiring_;
    uint32_t ticket_ = 0;
  };
  Result<std::unique_ptr<Tree>> open_tree(const Secret& secret);
  Result<Wiring> wire(Tree& tree, const TreePlace& place);

  /// Serves visitors who know the secret, from the reactor's thread; returns the ticket, 0 if the
  /// reactor does not answer.
  uint32_t serve(const Service& service);
  /// No call of the service starts after this (unless the reactor hangs).
  void stop(const Secret& secret, uint32_t ticket);

 private:
  explicit Bootstrap(Reactor& reactor);

  Reactor& reactor_;
  std::shared_ptr<Door> door_;
};

/// The tree's shape, for whoever needs it: pure.
Rank tree_parent(Rank rank);
std::vector<Rank> tree_children(Rank rank, int ranks);

}  // namespace accl
