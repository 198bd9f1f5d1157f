#include "src/bootstrap/tree_wiring.h"

#include <unistd.h>

#include <utility>

#include "src/base/tcp.h"

namespace accl {

TreeWiring::TreeWiring(Reactor& reactor, std::shared_ptr<Door> door, const Secret& secret)
    : reactor_(reactor), door_(std::move(door)), secret_(secret), host_(host_name()) {}

TreeWiring::~TreeWiring() = default;

uint32_t TreeWiring::open() {
  ticket_ = door_->serve({secret_, [weak = weak_from_this()](Connection connection) {
                            if (const auto self = weak.lock()) self->welcome(std::move(connection));
                          }});
  return ticket_;
}

void TreeWiring::go(Rank rank, int ranks, const Address& parent, Dial::Way way, Wired wired) {
  rank_ = rank;
  wired_ = std::move(wired);
  for (const Rank child : tree_children(rank, ranks)) children_.insert(child);
  if (rank != 0) {
    parent_ = tree_parent(rank);
    const Dial::Target target{
        .contact = parent.contact, .secret = secret_, .ticket = parent.ticket, .way = way};
    dial_ = Dial::start(reactor_, target, [weak = weak_from_this()](Result<Connection> connection) {
      const auto self = weak.lock();
      if (!self) return;
      if (!connection.ok()) {
        if (const Wired told = std::exchange(self->wired_, nullptr)) {
          told(std::move(connection.status()));
        }
        return;
      }
      if (connection->send(self->own_kin()).ok()) self->welcome(std::move(*connection));
    });
  }
  for (auto& [number, said] : std::exchange(early_, {})) frame(number, said);
  check();
}

void TreeWiring::welcome(Connection connection) {
  // A neighbour that is wired already may go on at once, with descriptors where they can travel.
  connection.set_limits(kBootstrapPayloadBytes, !is_tcp(connection.fd()));
  const uint64_t number = next_kin_++;
  const auto link = Link::create(reactor_, std::move(connection));
  const std::weak_ptr<TreeWiring> weak = weak_from_this();
  kin_[number] = link;
  const Status started = link->start(
      [weak, number](const Frame& said) {
        if (const auto self = weak.lock()) self->frame(number, said);
      },
      [weak, number](const Status&) {
        if (const auto self = weak.lock()) self->kin_.erase(number);
      });
  if (!started.ok()) kin_.erase(number);
}

void TreeWiring::frame(uint64_t number, const Frame& frame) {
  if (rank_ < 0) {
    early_[number].kind = frame.kind;
    early_[number].payload = frame.payload;
    return;
  }
  const auto found = kin_.find(number);
  if (found == kin_.end()) return;
  const std::shared_ptr<Link> link = found->second;
  kin_.erase(found);
  const std::optional<Kin> kin = kin_of(frame);
  if (!kin) return link->close();
  const bool child = children_.erase(kin->rank) != 0;
  const bool parent = !child && kin->rank == parent_ && neighbours_.count(parent_) == 0;
  if (!child && !parent) return link->close();
  if (child) link->send(own_kin());
  neighbours_[kin->rank] = Neighbour{kin->rank, kin->pid, kin->host, link->detach()};
  check();
}

void TreeWiring::check() {
  const bool has_parent = parent_ < 0 || neighbours_.count(parent_) != 0;
  if (!children_.empty() || !has_parent) return;
  if (const Wired told = std::exchange(wired_, nullptr)) told({});
}

std::vector<Neighbour> TreeWiring::take() {
  std::vector<Neighbour> taken;
  // The parent has the lowest rank of all neighbours, so it comes first.
  for (auto& [rank, neighbour] : std::exchange(neighbours_, {})) {
    taken.push_back(std::move(neighbour));
  }
  return taken;
}

std::vector<Rank> TreeWiring::missing() const {
  std::vector<Rank> ranks(children_.begin(), children_.end());
  if (parent_ >= 0 && neighbours_.count(parent_) == 0) ranks.insert(ranks.begin(), parent_);
  return ranks;
}

Packet TreeWiring::own_kin() const { return packet_of(Kin{rank_, getpid(), host_}); }

void TreeWiring::close() {
  wired_ = nullptr;
  if (ticket_ != 0) door_->stop(secret_, std::exchange(ticket_, 0));
  if (dial_) dial_->cancel();
  for (const auto& [number, link] : kin_) link->close();
  kin_.clear();
  early_.clear();
  neighbours_.clear();
}

}  // namespace accl
