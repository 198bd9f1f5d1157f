// The working part of Control: one rank's node of the tree, living in the reactor's thread.
//
// Everything here is for the reactor's thread, except wait() and what its comment names. Internal
// to Control.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/base/reactor.h"
#include "src/bootstrap/link.h"
#include "src/control/control.h"
#include "src/control/exchange.h"
#include "src/control/messages.h"

namespace accl {

class ControlCore : public std::enable_shared_from_this<ControlCore> {
 public:
  ControlCore(Reactor& reactor, Rank rank, int ranks);
  ~ControlCore();

  void begin(Wiring wiring);
  void set_callbacks(ControlCallbacks callbacks);
  void exchange(uint32_t turn, Exchanges::Kind kind, const std::shared_ptr<const Blob>& blob,
                const SharedFds& fds);
  void barrier(uint32_t turn);
  void flood(uint16_t kind, const Blob& payload);
  void propose(const Notice& verdict);
  void death(const Notice& death, Rank heard_from);
  void leave();

  /// The init thread: waits for the result of a turn, until `deadline_ns`, `abort` or a death.
  Result<std::vector<Contribution>> wait(uint32_t turn, uint64_t deadline_ns,
                                         const std::atomic<bool>* abort);
  /// Any thread: no callback starts after this (leave() then also waits for one that runs).
  std::atomic<bool> silent{false};

 private:
  struct Node {
    Neighbour who;
    std::shared_ptr<Link> link;  ///< null: gone
    Fd pidfd;
    Reactor::TimerId timer = 0;
    bool same_process = false;
    bool left = false;  ///< has said goodbye
    bool gone = false;  ///< so have all below it (or the connection has ended)
  };
  struct Heard {
    Rank from;
    uint16_t kind;
    Blob payload;
  };

  void begin_node(Neighbour who);
  void take(Rank from, Frame frame);
  void take_flood(Rank from, const Frame& frame);
  void take_leaving(Rank from, const Frame& frame);
  void broken(Rank rank, const std::string& why);
  void lost(Rank rank);
  void process_gone(Rank rank);
  void drop(Node& node);
  void send(const Packet& packet, Rank except);
  void arrive(uint32_t turn);
  void finish_barrier(uint32_t turn);
  void look_for_result(uint32_t turn);
  void decide(const Notice& verdict, Rank heard_from);
  void check_gone();
  void all_gone();
  void replay();
  Node* parent();
  std::string describe(const Node& node) const;

  Reactor& reactor_;
  const Rank rank_;
  const int ranks_;
  std::map<Rank, Node> nodes_;
  Exchanges exchanges_;
  std::optional<Barriers> barriers_;
  ControlCallbacks callbacks_;
  bool has_callbacks_ = false;
  std::vector<Heard> heard_;  ///< before there were callbacks
  std::map<Rank, std::string> deaths_;
  std::optional<Notice> verdict_;
  std::optional<Notice> proposal_;  ///< passed on, not decided yet
  bool left_ = false;
  bool told_gone_ = false;
  bool over_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint32_t, std::vector<Contribution>> results_;  ///< guarded by mutex_
  std::optional<std::string> failure_;                     ///< guarded by mutex_: first death
};

}  // namespace accl
