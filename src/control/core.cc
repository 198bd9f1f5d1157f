#include "src/control/core.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/base/clock.h"
#include "src/bootstrap/messages.h"
#include "src/bootstrap/rank_list.h"

namespace accl {
namespace {

constexpr uint64_t kLookMs = 10;
constexpr uint64_t kFlushLimitMs = 5'000;
// A killed process closes its sockets a moment before it counts as ended.
constexpr uint64_t kDyingMs = 500;
constexpr size_t kMaxHeard = 256;
constexpr size_t kMaxQueuedBytes = 4 * 1024 * 1024;
constexpr int kMaxLastReads = 64;

}  // namespace

ControlCore::ControlCore(Reactor& reactor, Rank rank, int ranks)
    : reactor_(reactor),
      rank_(rank),
      ranks_(ranks),
      exchanges_(rank, ranks, [this](const Packet& packet, Rank except) { send(packet, except); }) {
}

ControlCore::~ControlCore() {
  for (auto& [rank, node] : nodes_) drop(node);
}

std::string ControlCore::describe(const Node& node) const {
  return describe_process(node.who.rank, node.who.pid, node.who.host);
}

ControlCore::Node* ControlCore::parent() {
  if (rank_ == 0) return nullptr;
  const auto found = nodes_.find(tree_parent(rank_));
  return found != nodes_.end() && found->second.link ? &found->second : nullptr;
}

void ControlCore::begin(Wiring wiring) {
  size_t children = 0;
  for (const Neighbour& neighbour : wiring.neighbours) children += neighbour.rank > rank_ ? 1 : 0;
  barriers_.emplace(children);
  reactor_.keep(shared_from_this());
  for (Neighbour& neighbour : wiring.neighbours) begin_node(std::move(neighbour));
}

void ControlCore::begin_node(Neighbour who) {
  const Rank rank = who.rank;
  const std::weak_ptr<ControlCore> weak = weak_from_this();
  who.link.set_limits(kControlPayloadBytes, true);
  // Threads of one process cannot outlive each other; the connection alone tells.
  // What the peer says of its pid may be true in another namespace only; the kernel's word counts.
  const bool same_process = peer_credentials(who.link.fd()).pid == getpid();
  Fd pidfd = same_process ? Fd() : peer_pidfd(who.link.fd());
  Node& node = nodes_[rank];
  node.link = Link::create(reactor_, std::exchange(who.link, Connection()));
  node.who = std::move(who);
  node.pidfd = std::move(pidfd);
  node.same_process = same_process;
  const Status started = node.link->start(
      [weak, rank](Frame frame) {
        if (const auto self = weak.lock()) self->take(rank, std::move(frame));
      },
      [weak, rank](const Status&) {
        if (const auto self = weak.lock()) self->lost(rank);
      });
  if (!started.ok()) return broken(rank, started.text());
  if (!node.pidfd) return;
  const Status watched = reactor_.add(node.pidfd.get(), EPOLLIN, [weak, rank](uint32_t) {
    if (const auto self = weak.lock()) self->process_gone(rank);
  });
  if (!watched.ok()) node.pidfd.reset();
}

void ControlCore::drop(Node& node) {
  if (node.link) node.link->close();
  node.link = nullptr;
  if (node.pidfd) reactor_.remove(node.pidfd.get());
  node.pidfd.reset();
  reactor_.cancel(std::exchange(node.timer, 0));
}

void ControlCore::send(const Packet& packet, Rank except) {
  for (auto& [rank, node] : nodes_) {
    if (rank != except && node.link) node.link->send(packet);
  }
}

void ControlCore::take(Rank from, Frame frame) {
  switch (static_cast<ControlKind>(frame.kind)) {
    case ControlKind::kEntry: {
      const std::optional<Entry> entry = entry_of(frame);
      const uint32_t turn = entry ? entry->turn : 0;
      if (!exchanges_.take(std::move(frame), from)) return broken(from, "a wrong exchange");
      return look_for_result(turn);
    }
    case ControlKind::kBarrierUp:
    case ControlKind::kBarrierDown: {
      const std::optional<uint32_t> turn = turn_of(frame);
      if (!turn) return broken(from, "a wrong barrier");
      if (static_cast<ControlKind>(frame.kind) == ControlKind::kBarrierUp) return arrive(*turn);
      return finish_barrier(*turn);
    }
    case ControlKind::kGoodbye:
    case ControlKind::kSubtreeGone:
    case ControlKind::kAllGone:
      return take_leaving(from, frame);
    default:
      return take_flood(from, frame);
  }
}

void ControlCore::take_flood(Rank from, const Frame& frame) {
  const auto kind = static_cast<ControlKind>(frame.kind);
  if (kind == ControlKind::kMessage) {
    const std::optional<Message> message = message_of(frame);
    if (!message || message->from < 0 || message->from >= ranks_) {
      return broken(from, "a wrong message");
    }
    send(Connection::make_packet(frame.kind, frame.payload), from);
    if (has_callbacks_ && callbacks_.on_message && !silent.load()) {
      callbacks_.on_message(message->from, message->kind, message->payload);
    } else if (!has_callbacks_ && heard_.size() < kMaxHeard) {
      heard_.push_back(
          {message->from, message->kind, Blob(message->payload.begin(), message->payload.end())});
    }
    return;
  }
  const std::optional<Notice> notice = notice_of(frame);
  if (notice && kind == ControlKind::kDeath && notice->number >= 0 && notice->number < ranks_) {
    return death(*notice, from);
  }
  const bool known_code =
      notice && notice->number >= 0 && notice->number <= static_cast<int32_t>(Code::kInProgress);
  if (known_code && kind == ControlKind::kProposal) return propose(*notice);
  if (known_code && kind == ControlKind::kVerdict) return decide(*notice, from);
  broken(from, "a message of no known kind");
}

void ControlCore::take_leaving(Rank from, const Frame& frame) {
  Node& node = nodes_.at(from);
  const auto kind = static_cast<ControlKind>(frame.kind);
  node.left = true;
  if (kind == ControlKind::kSubtreeGone) {
    node.gone = true;
    check_gone();
  }
  if (kind == ControlKind::kAllGone && left_) all_gone();
}

void ControlCore::broken(Rank rank, const std::string& why) {
  Node& node = nodes_.at(rank);
  drop(node);
  node.gone = true;
  if (!node.left) death({rank, describe(node) + " broke the control connection: " + why}, rank);
  if (proposal_ && parent() == nullptr) decide(*proposal_, -1);
  check_gone();
}

/// The connection has ended.
void ControlCore::lost(Rank rank) {
  Node& node = nodes_.at(rank);
  if (node.left || !node.pidfd) {
    const bool left = node.left;
    drop(node);
    node.gone = true;
    if (!left) {
      death({rank,
             describe(node) +
                 (node.same_process ? " closed its control connection without leaving" : " died")},
            rank);
    }
    if (proposal_ && parent() == nullptr) decide(*proposal_, -1);
    return check_gone();
  }
  if (process_ended(node.pidfd.get())) return process_gone(rank);
  node.link = nullptr;
  node.timer = reactor_.after(kDyingMs, [weak = weak_from_this(), rank] {
    const auto self = weak.lock();
    if (self) self->nodes_.at(rank).timer = 0;
    if (self) self->broken(rank, "it has closed it without leaving");
  });
}

/// The process of a neighbour has ended; what it sent before may still be unread.
void ControlCore::process_gone(Rank rank) {
  Node& node = nodes_.at(rank);
  for (int i = 0; i < kMaxLastReads && node.link && node.link->open(); ++i) node.link->poll();
  if (!node.pidfd) return;  // the reading has dealt with it
  drop(node);
  node.gone = true;
  if (!node.left) death({rank, describe(node) + " died"}, rank);
  if (proposal_ && parent() == nullptr) decide(*proposal_, -1);
  check_gone();
}

void ControlCore::death(const Notice& death, Rank heard_from) {
  if (!deaths_.emplace(death.number, death.text).second) return;
  send(packet_of(ControlKind::kDeath, death), heard_from);
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = death.text;
    changed_.notify_all();
  }
  if (has_callbacks_ && callbacks_.on_death && !silent.load()) {
    callbacks_.on_death(death.number, death.text);
  }
}

void ControlCore::flood(uint16_t kind, const Blob& payload) {
  const Packet packet = packet_of(Message{rank_, kind, payload});
  for (auto& [rank, node] : nodes_) {
    if (node.link && node.link->queued_bytes() < kMaxQueuedBytes) node.link->send(packet);
  }
}

void ControlCore::propose(const Notice& verdict) {
  if (verdict_) return;
  Node* up = parent();
  if (up == nullptr) return decide(verdict, -1);
  if (proposal_) return;  // one is on its way already
  proposal_ = verdict;
  up->link->send(packet_of(ControlKind::kProposal, verdict));
}

void ControlCore::decide(const Notice& verdict, Rank heard_from) {
  if (verdict_) return;
  verdict_ = verdict;
  proposal_.reset();
  send(packet_of(ControlKind::kVerdict, verdict), heard_from);
  if (has_callbacks_ && callbacks_.on_verdict && !silent.load()) {
    callbacks_.on_verdict(static_cast<Code>(verdict.number), verdict.text);
  }
}

void ControlCore::set_callbacks(ControlCallbacks callbacks) {
  callbacks_ = std::move(callbacks);
  has_callbacks_ = true;
  replay();
}

void ControlCore::replay() {
  const std::vector<Heard> heard = std::exchange(heard_, {});
  for (const Heard& one : heard) {
    if (callbacks_.on_message && !silent.load()) {
      callbacks_.on_message(one.from, one.kind, one.payload);
    }
  }
  const std::map<Rank, std::string> deaths = deaths_;
  for (const auto& [rank, text] : deaths) {
    if (callbacks_.on_death && !silent.load()) callbacks_.on_death(rank, text);
  }
  if (verdict_ && callbacks_.on_verdict && !silent.load()) {
    callbacks_.on_verdict(static_cast<Code>(verdict_->number), verdict_->text);
  }
}

void ControlCore::exchange(uint32_t turn, Exchanges::Kind kind,
                           const std::shared_ptr<const Blob>& blob, const SharedFds& fds) {
  exchanges_.call(turn, kind, blob, fds);
  look_for_result(turn);
}

void ControlCore::look_for_result(uint32_t turn) {
  auto result = exchanges_.take_result(turn);
  if (!result) return;
  const std::lock_guard lock(mutex_);
  results_[turn] = std::move(*result);
  changed_.notify_all();
}

void ControlCore::barrier(uint32_t turn) { arrive(turn); }

void ControlCore::arrive(uint32_t turn) {
  if (!barriers_->arrive(turn)) return;
  if (rank_ == 0) return finish_barrier(turn);
  if (Node* up = parent()) up->link->send(packet_of(ControlKind::kBarrierUp, turn));
}

void ControlCore::finish_barrier(uint32_t turn) {
  send(packet_of(ControlKind::kBarrierDown, turn), rank_ == 0 ? -1 : tree_parent(rank_));
  const std::lock_guard lock(mutex_);
  results_[turn].clear();
  changed_.notify_all();
}

Result<std::vector<Contribution>> ControlCore::wait(uint32_t turn, uint64_t deadline_ns,
                                                    const std::atomic<bool>* abort) {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto found = results_.find(turn);
    if (found != results_.end()) {
      std::vector<Contribution> result = std::move(found->second);
      results_.erase(found);
      return result;
    }
    if (failure_) return remote_error(*failure_);
    if (abort != nullptr && abort->load()) return remote_error("initialisation was aborted");
    if (now_ns() > deadline_ns) break;
    changed_.wait_for(lock, std::chrono::milliseconds(kLookMs));
  }
  lock.unlock();
  auto missing = std::make_shared<std::vector<Rank>>();
  const auto ask = [self = shared_from_this(), missing, turn] {
    *missing = self->exchanges_.missing(turn);
  };
  std::string text = "initialisation timed out";
  if (run_in(reactor_, ask, 1'000) && !missing->empty()) {
    text += ": waiting for " + describe_ranks(*missing) + " of " + std::to_string(ranks_);
  }
  return remote_error(std::move(text));
}

void ControlCore::leave() {
  if (std::exchange(left_, true)) return;
  callbacks_ = {};
  has_callbacks_ = true;  // nothing is kept for later any more
  send(packet_of(ControlKind::kGoodbye), -1);
  check_gone();
}

/// Lingering ends when all below us have left and whoever is above says that all have.
void ControlCore::check_gone() {
  if (!left_ || over_) return;
  for (const auto& [rank, node] : nodes_) {
    if (rank > rank_ && !node.gone) return;
  }
  Node* up = parent();
  if (up == nullptr) return all_gone();
  if (!std::exchange(told_gone_, true)) up->link->send(packet_of(ControlKind::kSubtreeGone));
}

void ControlCore::all_gone() {
  if (std::exchange(over_, true)) return;
  for (auto& [rank, node] : nodes_) {
    if (rank > rank_ && node.link) node.link->send(packet_of(ControlKind::kAllGone));
    if (node.link) node.link->close_after_flush(kFlushLimitMs);
    node.link = nullptr;
    drop(node);
  }
  reactor_.let_go(this);
}

}  // namespace accl
