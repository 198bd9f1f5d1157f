// The socket transport: a rank's connections to all ranks that it reaches by TCP.
//
// One per communicator. Whoever makes the connections hands them in from any thread (attach_*,
// fail); the ends belong to the thread that drives the communicator and must not outlive the Mesh.
// A rank that waits for one peer still sends what the others wait for: every end that finds nothing
// to read flushes what is unsent anywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/fd.h"
#include "src/base/status.h"
#include "src/base/type.h"
#include "transport/socket/incoming.h"
#include "transport/socket/outgoing.h"
#include "transport/transport.h"

namespace accl::socket {

class Mesh {
 public:
  /// `peers`: how texts name each rank, such as "rank 1 (pid 7 on host h)". `connections` in each
  /// direction between two ranks.
  Mesh(const std::vector<std::string>& peers, int connections, int streams);

  int connections() const { return connections_; }
  /// A connection that this rank made, or that `peer` made and over which `early` has come already.
  void attach_out(Rank peer, int connection, Fd fd);
  void attach_in(Rank peer, int connection, Fd fd, std::vector<std::byte> early);
  /// `peer` cannot be reached: its streams fail.
  void fail(Rank peer, const Status& why);

  /// The ends of stream `stream`; each is opened once. The Mesh outlives them.
  std::unique_ptr<accl::SendEnd> open_send(Rank peer, int stream);
  std::unique_ptr<accl::RecvEnd> open_recv(Rank peer, int stream);

  /// Sends what waits, to anybody.
  void flush();

 private:
  struct Peer {
    Outgoing out;
    Incoming in;
  };
  Peer& peer(Rank rank) { return *peers_[static_cast<size_t>(rank)]; }

  const int connections_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::mutex mutex_;                ///< ends are opened while others are driven
  std::vector<Outgoing*> senders_;  ///< guarded by mutex_: that have an open end
};

}  // namespace accl::socket
