// A Connection that a Reactor drives: frames arrive as calls, what is queued goes out by itself.
//
// Owned by shared_ptr, because a callback may drop the last other reference. The reactor's thread
// only.
#pragma once

#include <functional>
#include <memory>

#include "src/base/reactor.h"
#include "src/base/socket.h"
#include "src/base/status.h"

namespace accl {

class Link : public std::enable_shared_from_this<Link> {
 public:
  using OnFrame = std::function<void(Frame frame)>;
  /// The connection is lost; ok: the peer has closed it in good order. Called at most once.
  using OnClose = std::function<void(Status cause)>;

  static std::shared_ptr<Link> create(Reactor& reactor, Connection connection);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Begins to watch; frames that have arrived before are reported soon, not from within this call.
  Status start(OnFrame on_frame, OnClose on_close);
  /// Queues a packet. Loss is reported by on_close, later.
  void send(const Packet& packet);
  void send(uint16_t kind, std::span<const std::byte> payload) {
    send(Connection::make_packet(kind, payload));
  }
  /// Reads now what has arrived, as if the reactor had called.
  void poll() {
    const auto keep = shared_from_this();  // a callback may drop the last other reference
    if (watching_ && !draining_) read();
  }
  /// No callback any more; the connection goes at once.
  void close();
  /// No callback any more; the connection goes when its queue is sent, or after `limit_ms`.
  void close_after_flush(uint64_t limit_ms);
  /// No callback any more; the connection is the caller's again, with what it holds.
  Connection detach();

  bool open() const { return watching_; }
  size_t queued_bytes() const { return connection_.queued_bytes(); }
  int fd() const { return connection_.fd(); }

 private:
  Link(Reactor& reactor, Connection connection);
  void handle(uint32_t events);
  void read();
  void lost(Status cause);
  void unwatch();
  void update_events();

  Reactor& reactor_;
  Connection connection_;
  OnFrame on_frame_;
  OnClose on_close_;
  Reactor::TimerId timer_ = 0;
  bool watching_ = false;
  bool draining_ = false;
  bool write_events_ = false;
};

}  // namespace accl
