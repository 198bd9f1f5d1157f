// The data connections of a communicator: made when a plan first sends to a rank of another host,
// accepted whenever a peer makes one.
//
// Owned by its communicator; the connections are made and accepted in the reactor's thread, the
// ends are for the thread that drives the communicator.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "src/base/status.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/dial.h"
#include "src/bootstrap/link.h"
#include "src/comm/member.h"
#include "transport/socket/mesh.h"
#include "transport/transport.h"

namespace accl {

class Sockets : public std::enable_shared_from_this<Sockets> {
 public:
  Sockets(Bootstrap& bootstrap, const Secret& secret, Rank rank);
  ~Sockets();

  /// Peers may connect from now on, by the ticket that this returns. system_error if the reactor
  /// does not answer.
  Result<uint32_t> open();
  /// All ranks are known.
  void start(const std::vector<Member>& members, int streams);
  /// No connection is made or accepted any more.
  void close();

  /// remote_error if the connection could not be made is a state of the end.
  Result<std::unique_ptr<SendEnd>> open_send(Rank peer, int stream);
  Result<std::unique_ptr<RecvEnd>> open_recv(Rank peer, int stream);

 private:
  void connect(Rank peer);
  void welcome(Connection connection);
  void introduced(uint64_t number, const Frame& frame);
  void accept(Connection connection, Rank from, int number);

  Bootstrap& bootstrap_;
  const Secret secret_;
  const Rank rank_;
  uint32_t ticket_ = 0;
  std::vector<Member> members_;
  std::vector<bool> connected_;  ///< by rank: this rank has begun to connect to it
  std::shared_ptr<socket::Mesh> mesh_;

  // The reactor's.
  std::vector<std::shared_ptr<Dial>> dials_;
  std::vector<std::pair<uint64_t, std::shared_ptr<Link>>> guests_;  ///< have not said who they are
  uint64_t next_guest_ = 1;

  std::mutex mutex_;
  struct Early {
    Connection connection;
    Rank from;
    int number;
  };
  bool started_ = false;      ///< guarded by mutex_
  std::vector<Early> early_;  ///< guarded by mutex_: came before start()
};

}  // namespace accl
