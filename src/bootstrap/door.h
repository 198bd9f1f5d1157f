// The door: the one listening socket of a process, through which all its communicators are reached.
//
// A visitor proves that it knows the secret of a service (handshake.h) before anything else is
// read. Until then it gets one descriptor, at most one small frame of memory, and five seconds; the
// number of such visitors is bounded, and the oldest goes when there are too many. Dial is the
// other side.
//
// The reactor's thread only, except open() and the const accessors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "src/base/reactor.h"
#include "src/base/socket.h"
#include "src/base/status.h"
#include "src/bootstrap/handshake.h"
#include "src/bootstrap/unique_id.h"

namespace accl {

/// What is served: who knows `secret` and asks for the ticket is given to `welcome`.
struct Service {
  Secret secret{};
  std::function<void(Connection connection)> welcome;
};

class Door : public std::enable_shared_from_this<Door> {
 public:
  static constexpr size_t kMaxVisitors = 256;
  static constexpr uint64_t kVisitLimitMs = 5'000;
  static constexpr uint32_t kRootTicket = 0;  ///< of the process that made the id

  /// Any thread; the door answers once the reactor runs.
  static Result<std::shared_ptr<Door>> open(Reactor& reactor);
  ~Door();
  const Nonce& nonce() const { return nonce_; }

  /// Serves the root of an id.
  void serve_root(const Service& service) { services_[{key_id_of(service.secret), 0}] = service; }
  /// Serves something else with that secret; returns its ticket.
  uint32_t serve(const Service& service);
  void stop(const Secret& secret, uint32_t ticket);
  /// Stops everything; no callback any more.
  void shut();

  size_t visitors() const { return visitors_.size(); }
  /// What became of the last visitor that did not pass, for the log and tests.
  const std::string& last_refusal() const { return last_refusal_; }

 private:
  struct Visitor {
    Connection connection;
    Handshake handshake;
    Reactor::TimerId timer = 0;
  };

  Door(Reactor& reactor, Fd listener, const Nonce& nonce);
  void arm();
  void accept_all();
  void admit(Fd fd);
  void go_on(uint64_t number);
  void refuse(uint64_t number, const std::string& why);
  Visitor release(uint64_t number);

  Reactor& reactor_;
  Fd listener_;
  Nonce nonce_;
  std::map<std::pair<KeyId, uint32_t>, Service> services_;
  uint32_t next_ticket_ = 1;
  std::map<uint64_t, Visitor> visitors_;  ///< by order of arrival
  uint64_t next_visitor_ = 1;
  Reactor::TimerId rest_timer_ = 0;
  std::string last_refusal_;
};

/// Connects to a service of a door; tries again while the door is too busy to answer.
class Dial : public std::enable_shared_from_this<Dial> {
 public:
  using Done = std::function<void(Result<Connection> connection)>;

  /// Where to go.
  struct Target {
    Nonce door{};
    Secret secret{};
    uint32_t ticket = 0;
  };

  /// `done` is called once, from the reactor, unless cancel() comes first.
  static std::shared_ptr<Dial> start(Reactor& reactor, const Target& target, Done done);
  ~Dial();
  void cancel();

 private:
  Dial(Reactor& reactor, const Target& target, Done done);
  void attempt();
  void go_on();
  void again();
  void finish(Result<Connection> result);
  void unwatch();
  void drop();

  Reactor& reactor_;
  Target target_;
  Done done_;
  Connection connection_;
  std::optional<Handshake> handshake_;
  Reactor::TimerId timer_ = 0;
  uint64_t pause_ms_ = 5;
};

}  // namespace accl
