// One rank's connections to its parent and children in a binomial tree: opened before it is known
// who they are, so that children may come early.
//
// The reactor's thread only. Internal to Bootstrap.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/base/reactor.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/dial.h"
#include "src/bootstrap/door.h"
#include "src/bootstrap/link.h"
#include "src/bootstrap/messages.h"

namespace accl {

class TreeWiring : public std::enable_shared_from_this<TreeWiring> {
 public:
  /// Called once: ok if all connections stand, else why the parent cannot be reached.
  using Wired = std::function<void(Status status)>;

  TreeWiring(Reactor& reactor, std::shared_ptr<Door> door, const Secret& secret);
  ~TreeWiring();

  /// Children may come from now on, by the ticket that this returns.
  uint32_t open();
  /// This rank's place, and where its parent is (rank 0 has none): connects.
  void go(Rank rank, int ranks, const Address& parent, Dial::Way way, Wired wired);
  /// Once wired: the parent first, then the children.
  std::vector<Neighbour> take();
  /// Neighbours that are not connected yet.
  std::vector<Rank> missing() const;
  /// Why the last attempt to reach the parent failed; empty: none did.
  std::string last_failure() const { return dial_ ? dial_->last_failure() : std::string(); }
  /// No callback any more; everything that is not taken is closed.
  void close();

 private:
  void welcome(Connection connection);
  void frame(uint64_t number, const Frame& frame);
  void check();
  Packet own_kin() const;

  Reactor& reactor_;
  const std::shared_ptr<Door> door_;
  const Secret secret_;
  const std::string host_;
  Rank rank_ = -1;  ///< -1: not known yet
  Rank parent_ = -1;
  std::set<Rank> children_;  ///< that have not come yet
  uint32_t ticket_ = 0;
  Wired wired_;
  std::shared_ptr<Dial> dial_;
  std::map<uint64_t, std::shared_ptr<Link>> kin_;  ///< have not said who they are yet
  std::map<uint64_t, Frame> early_;                ///< what they said before go()
  uint64_t next_kin_ = 1;
  std::map<Rank, Neighbour> neighbours_;
};

}  // namespace accl
