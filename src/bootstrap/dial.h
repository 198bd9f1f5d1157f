// Connects to a service of a door (door.h): by its unix socket if the process is in this network
// namespace, else by its TCP addresses, one after the other, and round again while there is hope.
//
// The reactor's thread only, except start().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/reactor.h"
#include "src/base/socket.h"
#include "src/base/status.h"
#include "src/bootstrap/contact.h"
#include "src/bootstrap/handshake.h"

namespace accl {

class Dial : public std::enable_shared_from_this<Dial> {
 public:
  using Done = std::function<void(Result<Connection> connection)>;
  enum class Way { kAny, kUnix, kTcp };

  /// Where to go.
  struct Target {
    Contact contact;
    Secret secret{};
    uint32_t ticket = 0;
    Way way = Way::kAny;
    /// For how long it is tried again when nobody answers at any address. A door that is too busy
    /// to answer is tried for ever.
    uint64_t patience_ms = 3'000;
    bool service_may_be_late = false;  ///< a door without the service is tried again, too
  };

  /// `done` is called once, from the reactor, unless cancel() comes first. remote_error: nobody
  /// answers, with the last address and cause.
  static std::shared_ptr<Dial> start(Reactor& reactor, const Target& target, Done done);
  ~Dial();
  void cancel();
  /// Why the last attempt failed; empty: none has.
  const std::string& last_failure() const { return last_failure_; }

 private:
  Dial(Reactor& reactor, const Target& target, Done done);
  void attempt();
  Result<Fd> connect();
  void connected();
  void go_on();
  void failed(Status why);
  void again();
  void finish(Result<Connection> result);
  void unwatch();
  void drop();

  Reactor& reactor_;
  const Target target_;
  Done done_;
  std::vector<std::optional<SocketAddress>> places_;  ///< none: the unix socket
  size_t place_ = 0;
  uint64_t give_up_ns_ = 0;
  Connection connection_;
  std::optional<Handshake> handshake_;
  Reactor::TimerId timer_ = 0;
  uint64_t pause_ms_ = 5;
  uint64_t failures_ = 0;
  std::string last_failure_;
};

}  // namespace accl
