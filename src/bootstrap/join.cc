#include "src/bootstrap/join.h"

#include <unistd.h>

#include <chrono>
#include <new>
#include <utility>

#include "src/base/clock.h"
#include "src/bootstrap/rank_list.h"

namespace accl {
namespace {

// The root's time-out names the missing ranks, so it goes first.
constexpr uint64_t kGraceMs = 1'000;
constexpr uint64_t kLookMs = 10;

}  // namespace

Join::Join(Reactor& reactor, std::shared_ptr<Door> door, const JoinOptions& options)
    : reactor_(reactor),
      door_(std::move(door)),
      options_(options),
      host_(host_name()),
      secret_(options.id.secret()) {
  if (options_.rank != 0) parent_ = tree_parent(options_.rank);
  for (const Rank child : tree_children(options_.rank, options_.ranks)) children_.insert(child);
}

Join::~Join() = default;

Result<Wiring> Join::run() {
  reactor_.post([self = shared_from_this()] {
    try {
      self->start();
    } catch (const std::bad_alloc&) {
      self->finish(system_error("out of memory"));
    }
  });
  // The reactor keeps the time; this limit is for a reactor that does not run.
  const uint64_t limit_ns = now_ns() + (options_.timeout_ms + 2 * kGraceMs) * kNsPerMs;
  std::unique_lock lock(mutex_);
  while (!result_) {
    const bool aborted = options_.abort != nullptr && options_.abort->load();
    if (aborted || now_ns() > limit_ns) {
      reactor_.post([self = shared_from_this()] { self->release(); });
      if (aborted) return remote_error("initialisation was aborted");
      return system_error(
          "initialisation timed out: the engine's thread did not answer, it hangs or has run out "
          "of memory");
    }
    changed_.wait_for(lock, std::chrono::milliseconds(kLookMs));
  }
  return std::move(*result_);
}

void Join::start() {
  const std::weak_ptr<Join> weak = weak_from_this();
  timer_ = reactor_.after(options_.timeout_ms + kGraceMs, [weak] {
    if (const auto self = weak.lock()) self->out_of_time();
  });
  if (!children_.empty()) {
    ticket_ = door_->serve({secret_, [weak](Connection connection) {
                              if (const auto self = weak.lock()) {
                                self->child_connected(std::move(connection));
                              }
                            }});
  }
  dial_root();
}

void Join::dial_root() {
  const Dial::Target target{options_.id.door(), secret_, Door::kRootTicket};
  dial_ = Dial::start(reactor_, target, [weak = weak_from_this()](Result<Connection> connection) {
    const auto self = weak.lock();
    if (!self) return;
    if (!connection.ok()) {
      const Status& why = connection.status();
      const std::string maker =
          "the process that made the unique id (" + self->options_.id.origin() + ")";
      // Only a refusal says something about the other end.
      if (why.code() == Code::kSystem) {
        return self->finish(Status(why.code(), "cannot connect to " + maker + ": " + why.text()));
      }
      return self->finish(Status(
          why.code(), maker +
                          " does not serve it: it has ended, or the id comes from another host or "
                          "network namespace (" +
                          why.text() + ")"));
    }
    connection->set_limits(kBootstrapPayloadBytes, false);
    self->root_ = Link::create(self->reactor_, std::move(*connection));
    Status started = self->root_->start(
        [weak](const Frame& frame) {
          if (const auto locked = weak.lock()) locked->root_frame(frame);
        },
        [weak](const Status& cause) {
          if (const auto locked = weak.lock()) locked->root_lost(cause);
        });
    if (!started.ok()) return self->finish(std::move(started));
    self->root_->send(packet_of(Hello{self->options_.version, self->options_.rank,
                                      self->options_.ranks, self->options_.timeout_ms, getpid(),
                                      self->host_, Address{self->door_->nonce(), self->ticket_}}));
  });
}

void Join::root_lost(const Status& cause) {
  std::string text = "the process that made the unique id (" + options_.id.origin() +
                     ") ended during initialisation";
  if (!cause.ok()) text += ": " + cause.text();
  finish(remote_error(std::move(text)));
}

void Join::root_frame(const Frame& frame) {
  switch (static_cast<BootstrapKind>(frame.kind)) {
    case BootstrapKind::kAssign:
      if (const auto parent = assign_of(frame); parent && !assigned_) return assigned(*parent);
      break;
    case BootstrapKind::kRefuse:
      return finish(refusal_of(frame));
    case BootstrapKind::kComplete:
      if (wired_) {
        Wiring wiring{options_.rank, options_.ranks, {}};
        // The parent has the lowest rank of all neighbours, so it comes first.
        for (auto& [rank, neighbour] : neighbours_) {
          wiring.neighbours.push_back(std::move(neighbour));
        }
        return finish(std::move(wiring));
      }
      break;
    default:
      break;
  }
  finish(remote_error("the process that made the unique id (" + options_.id.origin() +
                      ") broke the protocol of initialisation"));
}

void Join::assigned(const Address& parent) {
  assigned_ = true;
  if (parent_ >= 0) {
    dial_ = Dial::start(reactor_, {parent.door, secret_, parent.ticket},
                        [weak = weak_from_this()](Result<Connection> connection) {
                          if (const auto self = weak.lock()) {
                            self->parent_connected(std::move(connection));
                          }
                        });
  }
  check_wired();
}

void Join::parent_connected(Result<Connection> connection) {
  // If the parent is gone the root tells everybody, in better words than ours.
  if (!connection.ok()) return;
  const Packet packet = own_kin();
  const Status sent = connection->send(packet);
  if (sent.ok()) child_connected(std::move(*connection));
}

void Join::child_connected(Connection connection) {
  connection.set_limits(kBootstrapPayloadBytes, false);
  const uint64_t number = next_kin_++;
  const auto link = Link::create(reactor_, std::move(connection));
  const std::weak_ptr<Join> weak = weak_from_this();
  kin_[number] = link;
  const Status started = link->start(
      [weak, number](const Frame& frame) {
        if (const auto self = weak.lock()) self->kin_frame(number, frame);
      },
      [weak, number](const Status&) {
        if (const auto self = weak.lock()) self->kin_.erase(number);
      });
  if (!started.ok()) kin_.erase(number);
}

void Join::kin_frame(uint64_t number, const Frame& frame) {
  const auto found = kin_.find(number);
  if (found == kin_.end()) return;
  const std::shared_ptr<Link> link = found->second;
  kin_.erase(found);
  const std::optional<Kin> kin = kin_of(frame);
  if (!kin) return link->close();
  const bool child = children_.erase(kin->rank) != 0;
  const bool parent = !child && kin->rank == parent_ && neighbours_.count(parent_) == 0;
  if (!child && !parent) return link->close();
  if (child) link->send(own_kin());
  neighbours_[kin->rank] = Neighbour{kin->rank, kin->pid, kin->host, link->detach()};
  check_wired();
}

void Join::check_wired() {
  const bool has_parent = parent_ < 0 || neighbours_.count(parent_) != 0;
  if (wired_ || !assigned_ || !children_.empty() || !has_parent) return;
  wired_ = true;
  root_->send(packet_of(BootstrapKind::kWired));
}

std::vector<Rank> Join::missing() const {
  std::vector<Rank> ranks(children_.begin(), children_.end());
  if (parent_ >= 0 && neighbours_.count(parent_) == 0) ranks.insert(ranks.begin(), parent_);
  return ranks;
}

void Join::out_of_time() {
  std::string text = "initialisation timed out after " + describe_ms(options_.timeout_ms) + ": ";
  if (assigned_ && !wired_) {
    text += "waiting for connections with " + describe_ranks(missing());
  } else {
    text += "no answer from the process that made the unique id (" + options_.id.origin() + ")";
  }
  finish(remote_error(std::move(text)));
}

Packet Join::own_kin() const { return packet_of(Kin{options_.rank, getpid(), host_}); }

void Join::finish(Result<Wiring> result) {
  if (over_) return;
  release();
  const std::lock_guard lock(mutex_);
  result_.emplace(std::move(result));
  changed_.notify_all();
}

void Join::release() {
  over_ = true;
  reactor_.cancel(std::exchange(timer_, 0));
  if (ticket_ != 0) door_->stop(secret_, std::exchange(ticket_, 0));
  if (dial_) dial_->cancel();
  if (root_) root_->close();
  for (const auto& [number, link] : kin_) link->close();
  kin_.clear();
  neighbours_.clear();
}

}  // namespace accl
