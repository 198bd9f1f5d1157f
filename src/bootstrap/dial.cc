#include "src/bootstrap/dial.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/base/tcp.h"

namespace accl {
namespace {

constexpr uint64_t kMaxPauseMs = 200;
// An address that does not answer must not keep us from the next one.
constexpr uint64_t kAttemptMs = 2'000;
// Somebody who accepts and says nothing speaks another protocol.
constexpr uint64_t kSilenceMs = 5'000;

// The unix socket reaches only within a network namespace.
bool is_near(const Contact& contact) { return contact.network == network_tag(); }

std::vector<std::optional<SocketAddress>> places_of(const Dial::Target& target) {
  std::vector<std::optional<SocketAddress>> places;
  const bool by_unix =
      target.way == Dial::Way::kUnix || (target.way == Dial::Way::kAny && is_near(target.contact));
  if (by_unix) places.emplace_back();
  if (target.way != Dial::Way::kUnix && !(by_unix && target.way == Dial::Way::kAny)) {
    places.insert(places.end(), target.contact.addresses.begin(), target.contact.addresses.end());
  }
  return places;
}

}  // namespace

std::shared_ptr<Dial> Dial::start(Reactor& reactor, const Target& target, Done done) {
  std::shared_ptr<Dial> dial(new Dial(reactor, target, std::move(done)));
  reactor.post([weak = std::weak_ptr<Dial>(dial)] {
    if (const auto self = weak.lock()) self->attempt();
  });
  return dial;
}

Dial::Dial(Reactor& reactor, const Target& target, Done done)
    : reactor_(reactor),
      target_(target),
      done_(std::move(done)),
      places_(places_of(target)),
      give_up_ns_(now_ns() + target.patience_ms * kNsPerMs) {}

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

// The next address, at once; after the last one a pause, and the first again.
void Dial::failed(Status why) {
  if (why.code() == Code::kSystem) return finish(std::move(why));
  last_failure_ = why.text();
  // The unix socket of a living process answers; there is nothing to hope for.
  const bool hope = places_.size() > 1 || places_[0].has_value();
  place_ = (place_ + 1) % places_.size();
  if (place_ == 0) {
    if (!hope || now_ns() >= give_up_ns_) return finish(std::move(why));
    if (std::has_single_bit(++failures_)) {  // few lines, however long it takes
      ACCL_LOG(kInfo, kBootstrap, "Bootstrap : {}; trying again", why.text());
    }
    return again();
  }
  drop();
  attempt();
}

Result<Fd> Dial::connect() {
  if (places_[place_]) return connect_tcp(*places_[place_]);
  return connect_abstract(door_name(target_.contact.door));
}

void Dial::attempt() {
  if (!done_) return;
  if (places_.empty()) {
    return finish(remote_error("the peer has no address that can be reached from here"));
  }
  auto fd = connect();
  if (!fd.ok()) return failed(std::move(fd.status()));
  if (!*fd) return again();
  connection_ = Connection(std::move(*fd));
  const uint32_t events = places_[place_] ? EPOLLOUT : EPOLLIN;
  Status status = reactor_.add(connection_.fd(), events, [weak = weak_from_this()](uint32_t) {
    const auto self = weak.lock();
    if (!self) return;
    if (!self->handshake_) return self->connected();
    self->go_on();
  });
  if (!status.ok()) return finish(std::move(status));
  if (!places_[place_]) return connected();
  timer_ = reactor_.after(kAttemptMs, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->timer_ = 0;
    self->failed(remote_error("cannot connect to " + describe(*self->places_[self->place_]) +
                              ": no answer"));
  });
}

void Dial::connected() {
  if (places_[place_]) {
    Status status = connect_result(connection_.fd(), *places_[place_]);
    if (!status.ok()) return failed(std::move(status));
    reactor_.modify(connection_.fd(), EPOLLIN);
    reactor_.cancel(timer_);
    timer_ = reactor_.after(kSilenceMs, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->timer_ = 0;
      self->failed(
          remote_error(describe(*self->places_[self->place_]) +
                       " accepts connections and says nothing: it speaks another protocol"));
    });
  }
  auto nonce = random_secret();
  if (!nonce.ok()) return finish(std::move(nonce.status()));
  handshake_ =
      Handshake::client(target_.secret, {key_id_of(target_.secret), target_.ticket}, *nonce);
  go_on();
}

void Dial::go_on() {
  Status status = handshake_->advance(connection_);
  if (!status.ok()) {
    if (places_[place_]) {
      last_failure_ = describe(*places_[place_]) + ": " + status.text();
    }
    if (!handshake_->answered()) return again();
    if (handshake_->unknown() && target_.service_may_be_late) return again();
    return finish(std::move(status));
  }
  if (!handshake_->done()) return;
  reactor_.remove(connection_.fd());
  finish(std::exchange(connection_, Connection()));
}

}  // namespace accl
