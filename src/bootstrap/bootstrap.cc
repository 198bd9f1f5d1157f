#include "src/bootstrap/bootstrap.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "src/base/clock.h"
#include "src/bootstrap/door.h"
#include "src/bootstrap/join.h"
#include "src/bootstrap/rendezvous.h"
#include "src/bootstrap/tree_wiring.h"

namespace accl {
namespace {

constexpr uint64_t kShutLimitMs = 1'000;
constexpr uint64_t kAnswerLimitMs = 5'000;
constexpr std::chrono::milliseconds kLook{10};

}  // namespace

Result<std::unique_ptr<Bootstrap>> Bootstrap::create(Reactor& reactor, const DoorOptions& options) {
  std::unique_ptr<Bootstrap> bootstrap(new Bootstrap(reactor));
  bootstrap->door_ = ACCL_TRY(Door::open(reactor, options));
  return bootstrap;
}

Result<std::unique_ptr<Bootstrap>> Bootstrap::create(Reactor& reactor) {
  return create(reactor, DoorOptions{});
}

const Contact& Bootstrap::contact() const { return door_->contact(); }

Bootstrap::Bootstrap(Reactor& reactor) : reactor_(reactor) {}

Bootstrap::~Bootstrap() {
  if (door_)
    run_in(
        reactor_, [door = door_] { door->shut(); }, kShutLimitMs);
}

Result<UniqueId> Bootstrap::create_id() {
  const UniqueId id = ACCL_TRY(UniqueId::create(door_->contact()));
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

Bootstrap::Tree::Tree(Bootstrap& owner, const Secret& secret)
    : owner_(owner), wiring_(std::make_shared<TreeWiring>(owner.reactor_, owner.door_, secret)) {}

// Without memory for the message the service stays open until the process ends.
Bootstrap::Tree::~Tree() {
  try {
    owner_.reactor_.post([wiring = wiring_] { wiring->close(); });
  } catch (const std::bad_alloc&) {
  }
}

Result<std::unique_ptr<Bootstrap::Tree>> Bootstrap::open_tree(const Secret& secret) {
  std::unique_ptr<Tree> tree(new Tree(*this, secret));
  const auto ticket = std::make_shared<std::atomic<uint32_t>>(0);
  const bool done = run_in(
      reactor_, [wiring = tree->wiring_, ticket] { ticket->store(wiring->open()); },
      kAnswerLimitMs);
  if (!done) return system_error("the engine's thread did not answer");
  tree->ticket_ = ticket->load();
  return tree;
}

Result<Wiring> Bootstrap::wire(Tree& tree, const TreePlace& place) {
  struct Outcome {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Status> status;
    std::vector<Neighbour> neighbours;
  };
  const auto outcome = std::make_shared<Outcome>();
  reactor_.post([outcome, wiring = tree.wiring_, place] {
    wiring->go(place.rank, place.ranks, {place.parent, place.parent_ticket}, Dial::Way::kUnix,
               [outcome, weak = std::weak_ptr<TreeWiring>(wiring)](Status status) {
                 const std::lock_guard lock(outcome->mutex);
                 const auto self = weak.lock();
                 if (self && status.ok()) outcome->neighbours = self->take();
                 outcome->status = std::move(status);
                 outcome->changed.notify_all();
               });
  });
  std::unique_lock lock(outcome->mutex);
  while (!outcome->status) {
    if (place.abort != nullptr && place.abort->load()) {
      return remote_error("initialisation was aborted");
    }
    if (now_ns() > place.deadline_ns) {
      return remote_error("initialisation timed out: the ranks of this host do not connect");
    }
    outcome->changed.wait_for(lock, kLook);
  }
  if (!outcome->status->ok()) return std::move(*outcome->status);
  return Wiring{place.rank, place.ranks, std::move(outcome->neighbours)};
}

uint32_t Bootstrap::serve(const Service& service) {
  const auto ticket = std::make_shared<std::atomic<uint32_t>>(0);
  static_cast<void>(run_in(
      reactor_, [door = door_, ticket, service] { ticket->store(door->serve(service)); },
      kAnswerLimitMs));
  return ticket->load();
}

void Bootstrap::stop(const Secret& secret, uint32_t ticket) {
  static_cast<void>(run_in(
      reactor_, [door = door_, secret, ticket] { door->stop(secret, ticket); }, kAnswerLimitMs));
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
