#include "src/bootstrap/door.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "src/base/clock.h"
#include "src/base/log.h"

namespace accl {
namespace {

constexpr int kAcceptsPerCall = 64;
constexpr uint64_t kRestMs = 100;

std::string describe_peer(int fd) {
  if (const auto address = peer_address(fd)) return describe(*address);
  const PeerCredentials peer = peer_credentials(fd);
  return fmt::format("pid {} (uid {})", peer.pid, peer.uid);
}

}  // namespace

Result<std::shared_ptr<Door>> Door::open(Reactor& reactor, const DoorOptions& options) {
  Contact contact;
  contact.door = ACCL_TRY(random_secret());
  contact.network = network_tag();
  std::vector<Fd> listeners;
  listeners.push_back(ACCL_TRY(listen_abstract(door_name(contact.door))));
  std::map<int, uint16_t> ports;  // by family
  for (const SocketAddress& address : options.addresses) {
    if (contact.addresses.size() == Contact::kMaxAddresses) break;
    if (ports.count(address.family) == 0) {
      // On all addresses: a peer's packets may come to a secondary one.
      const SocketAddress any{.family = address.family};
      Fd listener = ACCL_TRY(listen_tcp(any, options.ports));
      const auto at = local_address(listener.get());
      if (!at) return system_error("a listening socket has no address");
      ports[address.family] = at->port;
      listeners.push_back(std::move(listener));
    }
    contact.addresses.push_back(address.with_port(ports[address.family]));
  }
  std::shared_ptr<Door> door(new Door(reactor, std::move(listeners), std::move(contact)));
  reactor.post([weak = std::weak_ptr<Door>(door)] {
    if (const auto self = weak.lock()) self->arm();
  });
  return door;
}

Door::Door(Reactor& reactor, std::vector<Fd> listeners, Contact contact)
    : reactor_(reactor), listeners_(std::move(listeners)), contact_(std::move(contact)) {}

Door::~Door() = default;

void Door::shut() {
  reactor_.cancel(std::exchange(rest_timer_, 0));
  while (!visitors_.empty()) release(visitors_.begin()->first);
  for (const Fd& listener : listeners_) reactor_.remove(listener.get());
  listeners_.clear();
  services_.clear();
}

void Door::add(Fd listener) {
  arm(listener.get());
  listeners_.push_back(std::move(listener));
}

void Door::arm() {
  for (const Fd& listener : listeners_) arm(listener.get());
}

void Door::arm(int listener) {
  const auto status =
      reactor_.add(listener, EPOLLIN, [weak = weak_from_this(), listener](uint32_t) {
        if (const auto self = weak.lock()) self->accept_all(listener);
      });
  if (!status.ok()) ACCL_LOG(kWarn, kBootstrap, "Bootstrap : {}", status.text());
}

uint32_t Door::serve(const Service& service) {
  const KeyId key = key_id_of(service.secret);
  while (next_ticket_ == kRootTicket || services_.count({key, next_ticket_}) != 0) ++next_ticket_;
  services_[{key, next_ticket_}] = service;
  return next_ticket_++;
}

void Door::stop(const Secret& secret, uint32_t ticket) {
  services_.erase({key_id_of(secret), ticket});
}

void Door::accept_all(int listener) {
  for (int i = 0; i < kAcceptsPerCall; ++i) {
    Fd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      if (is_tcp(fd.get())) tune_tcp(fd.get());
      admit(std::move(fd));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    // Out of descriptors or memory: look away for a while instead of spinning.
    for (const Fd& other : listeners_) reactor_.remove(other.get());
    rest_timer_ = reactor_.after(kRestMs, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->arm();
    });
    return;
  }
}

void Door::admit(Fd fd) {
  if (visitors_.size() >= kMaxVisitors) {
    refuse(visitors_.begin()->first, "too many visitors that have not proven who they are");
  }
  const Result<Secret> nonce = random_secret();
  if (!nonce.ok()) return;
  const uint64_t number = next_visitor_++;
  const std::weak_ptr<Door> weak = weak_from_this();
  const int raw = fd.get();
  auto lookup = [this](const Request& request) -> std::optional<Secret> {
    const auto found = services_.find({request.key, request.ticket});
    if (found == services_.end()) return std::nullopt;
    return found->second.secret;
  };
  visitors_.emplace(number,
                    Visitor{Connection(std::move(fd)), Handshake::server(lookup, *nonce), 0});
  const Status status = reactor_.add(raw, EPOLLIN, [weak, number](uint32_t) {
    if (const auto self = weak.lock()) self->go_on(number);
  });
  if (!status.ok()) {
    refuse(number, status.text());
    return;
  }
  visitors_.at(number).timer = reactor_.after(kVisitLimitMs, [weak, number] {
    if (const auto self = weak.lock()) {
      self->refuse(number, "the peer did not finish the handshake in time");
    }
  });
  go_on(number);
}

void Door::go_on(uint64_t number) {
  const auto found = visitors_.find(number);
  if (found == visitors_.end()) return;
  const Status status = found->second.handshake.advance(found->second.connection);
  if (!status.ok()) {
    refuse(number, status.text());
    return;
  }
  if (!found->second.handshake.done()) return;
  Visitor visitor = release(number);
  const Request request = visitor.handshake.request();
  const auto service = services_.find({request.key, request.ticket});
  if (service == services_.end()) return;
  const auto welcome = service->second.welcome;  // the call may stop the service
  welcome(std::move(visitor.connection));
}

void Door::refuse(uint64_t number, const std::string& why) {
  static RateLimit limit(kNsPerSecond);
  last_refusal_ = why;
  const Visitor visitor = release(number);
  if (log_enabled(LogLevel::kInfo, Subsystem::kBootstrap) && limit.pass(now_ns())) {
    ACCL_LOG(kInfo, kBootstrap, "Bootstrap : refused a connection of {}: {}",
             describe_peer(visitor.connection.fd()), why);
  }
}

Door::Visitor Door::release(uint64_t number) {
  const auto found = visitors_.find(number);
  Visitor visitor = std::move(found->second);
  visitors_.erase(found);
  reactor_.remove(visitor.connection.fd());
  reactor_.cancel(visitor.timer);
  return visitor;
}

}  // namespace accl
