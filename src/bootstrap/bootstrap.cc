#include "src/bootstrap/bootstrap.h"

#include <utility>

#include "src/bootstrap/door.h"
#include "src/bootstrap/join.h"
#include "src/bootstrap/rendezvous.h"

namespace accl {
namespace {

constexpr uint64_t kShutLimitMs = 1'000;

}  // namespace

Result<std::unique_ptr<Bootstrap>> Bootstrap::create(Reactor& reactor) {
  std::unique_ptr<Bootstrap> bootstrap(new Bootstrap(reactor));
  bootstrap->door_ = ACCL_TRY(Door::open(reactor));
  return bootstrap;
}

Bootstrap::Bootstrap(Reactor& reactor) : reactor_(reactor) {}

Bootstrap::~Bootstrap() {
  if (door_)
    run_in(
        reactor_, [door = door_] { door->shut(); }, kShutLimitMs);
}

Result<UniqueId> Bootstrap::create_id() {
  const UniqueId id = ACCL_TRY(UniqueId::create(door_->nonce()));
  reactor_.post([this_reactor = &reactor_, door = door_, secret = id.secret()] {
    const auto rendezvous = std::make_shared<Rendezvous>(*this_reactor);
    door->serve_root({secret, [rendezvous](Connection connection) {
                        rendezvous->welcome(std::move(connection));
                      }});
  });
  return id;
}

Result<Wiring> Bootstrap::join(const JoinOptions& options) {
  if (options.ranks < 1) {
    return invalid_argument("the number of ranks is " + std::to_string(options.ranks) +
                            ", but must be at least 1");
  }
  if (options.rank < 0 || options.rank >= options.ranks) {
    return invalid_argument("rank " + std::to_string(options.rank) +
                            " is out of range: the communicator has " +
                            std::to_string(options.ranks) + " ranks");
  }
  ACCL_TRY(UniqueId::parse(options.id.bytes()));
  return std::make_shared<Join>(reactor_, door_, options)->run();
}

Rank tree_parent(Rank rank) { return rank & (rank - 1); }

std::vector<Rank> tree_children(Rank rank, int ranks) {
  std::vector<Rank> children;
  for (Rank bit = 1; (rank == 0 || bit < (rank & -rank)) && rank + bit < ranks; bit *= 2) {
    children.push_back(rank + bit);
  }
  return children;
}

}  // namespace accl
