#include "src/comm/sockets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/log.h"
#include "src/bootstrap/door.h"
#include "src/bootstrap/messages.h"
#include "src/bootstrap/wire.h"

namespace accl {
namespace {

constexpr uint16_t kIntroduction = 96;  // the first frame: who connects, and which connection it is
constexpr size_t kIntroductionBytes = 64;
constexpr uint64_t kConnectPatienceMs = 10'000;

}  // namespace

Sockets::Sockets(Bootstrap& bootstrap, const Secret& secret, Rank rank)
    : bootstrap_(bootstrap), secret_(secret), rank_(rank) {}

Sockets::~Sockets() = default;

Result<uint32_t> Sockets::open() {
  ticket_ = bootstrap_.serve({secret_, [weak = weak_from_this()](Connection connection) {
                                if (const auto self = weak.lock()) {
                                  self->welcome(std::move(connection));
                                }
                              }});
  if (ticket_ == 0) return system_error("the engine's thread did not answer");
  return ticket_;
}

void Sockets::start(const std::vector<Member>& members, int streams) {
  members_ = members;
  connected_.resize(members.size());
  std::vector<std::string> names;
  int connections = 1;
  for (size_t i = 0; i < members.size(); i++) {
    names.push_back(describe_process(static_cast<Rank>(i), members[i].pid, members[i].host));
    connections = std::max(connections, members[i].connections);
  }
  mesh_ = std::make_shared<socket::Mesh>(names, connections, streams);
  const std::lock_guard lock(mutex_);
  started_ = true;
  for (Early& early : early_) accept(std::move(early.connection), early.from, early.number);
  early_.clear();
}

void Sockets::close() {
  if (ticket_ != 0) bootstrap_.stop(secret_, std::exchange(ticket_, 0));
  bootstrap_.reactor().post([self = shared_from_this()] {
    for (const auto& dial : self->dials_) dial->cancel();
    for (const auto& [number, link] : self->guests_) link->close();
    self->dials_.clear();
    self->guests_.clear();
  });
}

Result<std::unique_ptr<SendEnd>> Sockets::open_send(Rank peer, int stream) {
  if (!connected_[static_cast<size_t>(peer)]) {
    connected_[static_cast<size_t>(peer)] = true;
    bootstrap_.reactor().post([self = shared_from_this(), peer] { self->connect(peer); });
  }
  return mesh_->open_send(peer, stream);
}

Result<std::unique_ptr<RecvEnd>> Sockets::open_recv(Rank peer, int stream) {
  return mesh_->open_recv(peer, stream);
}

void Sockets::connect(Rank peer) {
  const Member& there = members_[static_cast<size_t>(peer)];
  for (int number = 0; number < mesh_->connections(); number++) {
    const Dial::Target target{.contact = there.contact,
                              .secret = secret_,
                              .ticket = there.data_ticket,
                              .way = Dial::Way::kTcp,
                              .patience_ms = kConnectPatienceMs};
    dials_.push_back(Dial::start(
        bootstrap_.reactor(), target,
        [weak = weak_from_this(), peer, number](Result<Connection> connection) {
          const auto self = weak.lock();
          if (!self) return;
          if (!connection.ok()) {
            const Member& member = self->members_[static_cast<size_t>(peer)];
            return self->mesh_->fail(
                peer, remote_error(fmt::format("no connection to {}: {}",
                                               describe_process(peer, member.pid, member.host),
                                               connection.status().text())));
          }
          WireWriter introduction;
          introduction.number(self->rank_).number(number);
          // A fresh connection takes so few bytes at once; if not, it is lost.
          const Status sent = connection->send(kIntroduction, introduction.bytes());
          if (!sent.ok() || connection->wants_write()) {
            return self->mesh_->fail(peer, remote_error("a fresh connection was lost"));
          }
          ACCL_LOG(kInfo, kNet, "rank {} to rank {}: connection {} via NET/Socket to {}",
                   self->rank_, peer, number, describe(connection->peer()));
          self->mesh_->attach_out(peer, number, connection->release().fd);
        }));
  }
}

void Sockets::welcome(Connection connection) {
  connection.set_limits(kIntroductionBytes, false);
  const uint64_t number = next_guest_++;
  const auto link = Link::create(bootstrap_.reactor(), std::move(connection));
  const std::weak_ptr<Sockets> weak = weak_from_this();
  const auto forget = [weak, number] {
    const auto self = weak.lock();
    if (!self) return;
    std::erase_if(self->guests_, [number](const auto& guest) { return guest.first == number; });
  };
  guests_.emplace_back(number, link);
  const Status started = link->start(
      [weak, number](const Frame& frame) {
        if (const auto self = weak.lock()) self->introduced(number, frame);
      },
      [forget](const Status&) { forget(); });
  if (!started.ok()) forget();
}

void Sockets::introduced(uint64_t number, const Frame& frame) {
  const auto found = std::find_if(guests_.begin(), guests_.end(),
                                  [number](const auto& guest) { return guest.first == number; });
  if (found == guests_.end()) return;
  const std::shared_ptr<Link> link = found->second;
  guests_.erase(found);
  WireReader reader(frame.payload);
  const auto from = reader.number<Rank>();
  const auto connection = reader.number<int32_t>();
  if (frame.kind != kIntroduction || !reader.done()) return link->close();
  const std::lock_guard lock(mutex_);
  if (!started_) {
    early_.push_back({link->detach(), from, connection});
  } else {
    accept(link->detach(), from, connection);
  }
}

void Sockets::accept(Connection connection, Rank from, int number) {
  const bool known = from >= 0 && static_cast<size_t>(from) < members_.size() && number >= 0 &&
                     number < mesh_->connections();
  if (!known) return;  // it knows the secret and talks nonsense: it is closed
  auto [fd, early] = connection.release();
  mesh_->attach_in(from, number, std::move(fd), std::move(early));
}

}  // namespace accl
