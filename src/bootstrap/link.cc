#include "src/bootstrap/link.h"

#include <sys/epoll.h>

#include <utility>

namespace accl {

std::shared_ptr<Link> Link::create(Reactor& reactor, Connection connection) {
  return std::shared_ptr<Link>(new Link(reactor, std::move(connection)));
}

Link::Link(Reactor& reactor, Connection connection)
    : reactor_(reactor), connection_(std::move(connection)) {}

Link::~Link() { unwatch(); }

Status Link::start(OnFrame on_frame, OnClose on_close) {
  on_frame_ = std::move(on_frame);
  on_close_ = std::move(on_close);
  const std::weak_ptr<Link> weak = weak_from_this();
  ACCL_TRY(reactor_.add(connection_.fd(), EPOLLIN, [weak](uint32_t events) {
    if (const auto self = weak.lock()) self->handle(events);
  }));
  watching_ = true;
  write_events_ = false;
  update_events();
  if (connection_.holds_bytes() || connection_.at_end()) {
    reactor_.post([weak] {
      if (const auto self = weak.lock()) self->handle(EPOLLIN);
    });
  }
  return {};
}

void Link::handle(uint32_t events) {
  if (!watching_) return;
  if ((events & EPOLLOUT) != 0) {
    Status status = connection_.flush();
    if (!status.ok()) return lost(std::move(status));
    update_events();
  }
  if (draining_) {
    // Only what is queued counts now; the end of the connection ends it as well.
    if (!connection_.wants_write() || (events & (EPOLLHUP | EPOLLERR)) != 0) close();
    return;
  }
  if ((events & ~uint32_t{EPOLLOUT}) != 0) read();
}

void Link::read() {
  Status status = connection_.receive();
  while (watching_ && !draining_) {
    auto frame = connection_.next();
    if (!frame.ok()) return lost(std::move(frame.status()));
    if (!*frame) break;
    const OnFrame on_frame = on_frame_;  // the call may close us and so drop the member
    on_frame(std::move(**frame));
  }
  if (!watching_ || draining_) return;
  if (!status.ok()) return lost(std::move(status));
  if (connection_.at_end()) lost({});
}

void Link::lost(Status cause) {
  const OnClose on_close = std::move(on_close_);
  close();
  if (on_close) on_close(std::move(cause));
}

void Link::send(const Packet& packet) {
  if (!watching_ || draining_) return;
  Status status = connection_.send(packet);
  if (status.ok()) return update_events();
  // Not from here: the caller may be in the middle of a change that on_close makes too.
  reactor_.post([weak = weak_from_this(), shared = std::make_shared<Status>(std::move(status))] {
    const auto self = weak.lock();
    if (self && self->watching_ && !self->draining_) self->read();
    if (self && self->watching_ && !self->draining_) self->lost(std::move(*shared));
  });
}

void Link::update_events() {
  const bool wanted = connection_.wants_write();
  if (wanted == write_events_) return;
  write_events_ = wanted;
  reactor_.modify(connection_.fd(), wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Link::unwatch() {
  if (watching_) reactor_.remove(connection_.fd());
  watching_ = false;
  reactor_.cancel(std::exchange(timer_, 0));
}

void Link::close() {
  const auto keep = weak_from_this().lock();
  unwatch();
  on_frame_ = nullptr;
  on_close_ = nullptr;
  connection_ = Connection();
}

void Link::close_after_flush(uint64_t limit_ms) {
  if (!watching_ || !connection_.wants_write()) return close();
  draining_ = true;
  on_frame_ = nullptr;
  on_close_ = nullptr;
  reactor_.modify(connection_.fd(), EPOLLOUT);
  // The timer keeps the link alive; there is nobody else any more.
  timer_ = reactor_.after(limit_ms, [self = shared_from_this()] {
    self->timer_ = 0;
    self->close();
  });
}

Connection Link::detach() {
  unwatch();
  on_frame_ = nullptr;
  on_close_ = nullptr;
  return std::exchange(connection_, Connection());
}

}  // namespace accl
