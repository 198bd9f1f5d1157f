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
constexpr uint64_t kMaxPauseMs = 200;

}  // namespace

Result<std::shared_ptr<Door>> Door::open(Reactor& reactor) {
  const Nonce nonce = ACCL_TRY(random_secret());
  Fd listener = ACCL_TRY(listen_abstract(door_name(nonce)));
  std::shared_ptr<Door> door(new Door(reactor, std::move(listener), nonce));
  reactor.post([weak = std::weak_ptr<Door>(door)] {
    if (const auto self = weak.lock()) self->arm();
  });
  return door;
}

Door::Door(Reactor& reactor, Fd listener, const Nonce& nonce)
    : reactor_(reactor), listener_(std::move(listener)), nonce_(nonce) {}

Door::~Door() = default;

void Door::shut() {
  reactor_.cancel(std::exchange(rest_timer_, 0));
  while (!visitors_.empty()) release(visitors_.begin()->first);
  if (listener_) reactor_.remove(listener_.get());
  listener_.reset();
  services_.clear();
}

void Door::arm() {
  if (!listener_) return;
  const Status status = reactor_.add(listener_.get(), EPOLLIN, [weak = weak_from_this()](uint32_t) {
    if (const auto self = weak.lock()) self->accept_all();
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

void Door::accept_all() {
  for (int i = 0; i < kAcceptsPerCall; ++i) {
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      admit(std::move(fd));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    // Out of descriptors or memory: look away for a while instead of spinning.
    reactor_.remove(listener_.get());
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
    const PeerCredentials peer = peer_credentials(visitor.connection.fd());
    ACCL_LOG(kInfo, kBootstrap, "Bootstrap : refused a connection of pid {} (uid {}): {}", peer.pid,
             peer.uid, why);
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

std::shared_ptr<Dial> Dial::start(Reactor& reactor, const Target& target, Done done) {
  std::shared_ptr<Dial> dial(new Dial(reactor, target, std::move(done)));
  reactor.post([weak = std::weak_ptr<Dial>(dial)] {
    if (const auto self = weak.lock()) self->attempt();
  });
  return dial;
}

Dial::Dial(Reactor& reactor, const Target& target, Done done)
    : reactor_(reactor), target_(target), done_(std::move(done)) {}

Dial::~Dial() { unwatch(); }

void Dial::cancel() {
  done_ = nullptr;
  drop();
}

void Dial::unwatch() {
  if (connection_.fd() >= 0) reactor_.remove(connection_.fd());
  reactor_.cancel(std::exchange(timer_, 0));
}

// Not for the destructor: a fresh Connection takes memory.
void Dial::drop() {
  unwatch();
  connection_ = Connection();
  handshake_.reset();
}

void Dial::finish(Result<Connection> result) {
  const Done done = std::exchange(done_, nullptr);
  drop();
  if (done) done(std::move(result));
}

void Dial::again() {
  drop();
  timer_ = reactor_.after(pause_ms_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->timer_ = 0;
      self->attempt();
    }
  });
  pause_ms_ = std::min(pause_ms_ * 2, kMaxPauseMs);
}

void Dial::attempt() {
  if (!done_) return;
  auto fd = connect_abstract(door_name(target_.door));
  if (!fd.ok()) return finish(std::move(fd.status()));
  if (!*fd) return again();
  auto nonce = random_secret();
  if (!nonce.ok()) return finish(std::move(nonce.status()));
  connection_ = Connection(std::move(*fd));
  handshake_ =
      Handshake::client(target_.secret, {key_id_of(target_.secret), target_.ticket}, *nonce);
  Status status = reactor_.add(connection_.fd(), EPOLLIN, [weak = weak_from_this()](uint32_t) {
    if (const auto self = weak.lock()) self->go_on();
  });
  if (!status.ok()) return finish(std::move(status));
  go_on();
}

void Dial::go_on() {
  Status status = handshake_->advance(connection_);
  if (!status.ok()) {
    if (!handshake_->answered()) return again();
    return finish(std::move(status));
  }
  if (!handshake_->done()) return;
  reactor_.remove(connection_.fd());
  finish(std::exchange(connection_, Connection()));
}

}  // namespace accl
