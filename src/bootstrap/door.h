// The door: where a process listens, and through which all its communicators are reached: an
// abstract unix socket for its own network namespace, one TCP port per address family for others.
//
// A visitor proves that it knows the secret of a service (handshake.h) before anything else is
// read. Until then it gets one descriptor, at most one small frame of memory, and five seconds; the
// number of such visitors is bounded, and the oldest goes when there are too many. Dial (dial.h) is
// the other side.
//
// The reactor's thread only, except open() and the const accessors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/base/reactor.h"
#include "src/base/socket.h"
#include "src/base/status.h"
#include "src/base/tcp.h"
#include "src/bootstrap/contact.h"
#include "src/bootstrap/handshake.h"
#include "src/bootstrap/unique_id.h"

namespace accl {

/// What is served: who knows `secret` and asks for the ticket is given to `welcome`.
struct Service {
  Secret secret{};
  std::function<void(Connection connection)> welcome;
};

struct DoorOptions {
  /// Where peers on other hosts find this process, the best first; ports are not looked at. None:
  /// it is reached within its network namespace only.
  std::vector<SocketAddress> addresses;
  PortRange ports;
};

class Door : public std::enable_shared_from_this<Door> {
 public:
  static constexpr size_t kMaxVisitors = 256;
  static constexpr uint64_t kVisitLimitMs = 5'000;
  static constexpr uint32_t kRootTicket = 0;  ///< of the process that made the id

  /// Any thread; the door answers once the reactor runs.
  /// system_error if a socket is refused or the ports are all taken.
  static Result<std::shared_ptr<Door>> open(Reactor& reactor, const DoorOptions& options = {});
  ~Door();
  /// How this process is reached.
  const Contact& contact() const { return contact_; }
  /// Listens on one more socket.
  void add(Fd listener);

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

  Door(Reactor& reactor, std::vector<Fd> listeners, Contact contact);
  void arm();
  void arm(int listener);
  void accept_all(int listener);
  void admit(Fd fd);
  void go_on(uint64_t number);
  void refuse(uint64_t number, const std::string& why);
  Visitor release(uint64_t number);

  Reactor& reactor_;
  std::vector<Fd> listeners_;
  const Contact contact_;
  std::map<std::pair<KeyId, uint32_t>, Service> services_;
  uint32_t next_ticket_ = 1;
  std::map<uint64_t, Visitor> visitors_;  ///< by order of arrival
  uint64_t next_visitor_ = 1;
  Reactor::TimerId rest_timer_ = 0;
  std::string last_refusal_;
};

}  // namespace accl
