// One rank's way through bootstrap: hello to the root, connections to parent and children, the end.
//
// The init thread owns it and waits; all the work is done in the reactor's thread. Internal to
// Bootstrap.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "src/base/reactor.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/dial.h"
#include "src/bootstrap/door.h"
#include "src/bootstrap/link.h"
#include "src/bootstrap/messages.h"
#include "src/bootstrap/reminder.h"
#include "src/bootstrap/tree_wiring.h"

namespace accl {

class Join : public std::enable_shared_from_this<Join> {
 public:
  Join(Reactor& reactor, std::shared_ptr<Door> door, const JoinOptions& options);
  ~Join();

  /// Any thread but the reactor's: does it all.
  Result<Wiring> run();

 private:
  void start();
  void dial_root();
  void root_connected(Connection connection);
  void root_frame(const Frame& frame);
  void root_lost(const Status& cause);
  void assigned(const Address& parent);
  void wired(Status status);
  void out_of_time();
  std::string maker() const;
  std::string awaited() const;
  void finish(Result<Wiring> result);
  void release();

  Reactor& reactor_;
  const std::shared_ptr<Door> door_;
  const JoinOptions options_;
  const std::string host_;
  const std::shared_ptr<TreeWiring> tree_;
  uint32_t ticket_ = 0;  ///< of our service to the children
  std::shared_ptr<Dial> dial_;
  std::shared_ptr<Link> root_;
  Reactor::TimerId timer_ = 0;
  std::optional<Reminder> reminder_;  ///< until the end
  bool assigned_ = false;
  bool wired_ = false;
  bool over_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Result<Wiring>> result_;  ///< guarded by mutex_
};

}  // namespace accl
