#include "src/bootstrap/rendezvous.h"

#include <fmt/format.h>

#include <utility>

#include "src/base/log.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/rank_list.h"

namespace accl {
namespace {

constexpr uint64_t kFlushLimitMs = 5'000;
constexpr int kMaxRanks = 1 << 20;

std::string describe_member(const Hello& hello) {
  return describe_process(hello.rank, hello.pid, hello.host);
}

}  // namespace

Rendezvous::~Rendezvous() {
  for (auto& [rank, member] : members_) reactor_.cancel(member.timer);
}

void Rendezvous::welcome(Connection connection) {
  connection.set_limits(kBootstrapPayloadBytes, false);
  const uint64_t number = next_guest_++;
  const auto link = Link::create(reactor_, std::move(connection));
  const std::weak_ptr<Rendezvous> weak = weak_from_this();
  guests_[number] = link;
  const Status status = link->start(
      [weak, number](const Frame& frame) {
        if (const auto self = weak.lock()) self->first_frame(number, frame);
      },
      [weak, number](const Status&) {
        if (const auto self = weak.lock()) self->guests_.erase(number);
      });
  if (!status.ok()) guests_.erase(number);
}

void Rendezvous::first_frame(uint64_t number, const Frame& frame) {
  const auto found = guests_.find(number);
  if (found == guests_.end()) return;
  const std::shared_ptr<Link> link = found->second;
  guests_.erase(found);
  std::optional<Hello> hello = hello_of(frame);
  if (!hello) return link->close();
  if (phase_ == Phase::kCollecting) {
    Status status = check(*hello);
    if (!status.ok()) fail(status);
  }
  if (phase_ == Phase::kWiring) {
    // All seats are taken, so this one is a second use of the id; the first goes on undisturbed.
    link->send(packet_of_refuse(invalid_usage(
        "the unique id is already in use by a communicator of " + std::to_string(members_.size()) +
        " ranks: every communicator needs an id of its own")));
    return link->close_after_flush(kFlushLimitMs);
  }
  if (phase_ == Phase::kOver) {
    link->send(packet_of_refuse(outcome_));
    return link->close_after_flush(kFlushLimitMs);
  }
  const Rank rank = hello->rank;
  const uint64_t timeout_ms = hello->timeout_ms;
  const std::weak_ptr<Rendezvous> weak = weak_from_this();
  Connection connection = link->detach();
  const auto member_link = Link::create(reactor_, std::move(connection));
  const Status started = member_link->start(
      [weak, rank](const Frame& later) {
        if (const auto self = weak.lock()) self->later_frame(rank, later);
      },
      [weak, rank](const Status&) {
        const auto self = weak.lock();
        if (!self || self->phase_ == Phase::kOver) return;
        self->fail(remote_error(describe_member(self->members_.at(rank).hello) +
                                " left during initialisation: it died or gave up"));
      });
  if (!started.ok()) return fail(started);
  if (!reminder_) {
    reminder_.emplace(reactor_, [this](uint64_t waited_ms) {
      ACCL_LOG(kWarn, kInit, "initialisation has been waiting for {} s for {}", waited_ms / 1000,
               missing());
    });
  }
  Member& member = members_[rank];
  member = {std::move(*hello), member_link, 0, false};
  member.timer = reactor_.after(timeout_ms, [weak, timeout_ms] {
    if (const auto self = weak.lock()) self->time_out(timeout_ms);
  });
  if (static_cast<int>(members_.size()) == member.hello.ranks) assign();
}

Status Rendezvous::check(const Hello& hello) const {
  if (hello.ranks < 1 || hello.ranks > kMaxRanks) {
    return invalid_usage(describe_member(hello) + " says that there are " +
                         std::to_string(hello.ranks) + " ranks");
  }
  if (!members_.empty()) {
    const Hello& first = members_.begin()->second.hello;
    if (hello.version != first.version) {
      return invalid_usage("the ranks have different library versions: " + describe_member(first) +
                           " has " + first.version + ", " + describe_member(hello) + " has " +
                           hello.version);
    }
    if (hello.ranks != first.ranks) {
      return invalid_usage("the ranks disagree on how many they are: " + describe_member(first) +
                           " says " + std::to_string(first.ranks) + ", " + describe_member(hello) +
                           " says " + std::to_string(hello.ranks));
    }
  }
  if (hello.rank < 0 || hello.rank >= hello.ranks) {
    return invalid_usage(describe_member(hello) + " is out of range: the communicator has " +
                         std::to_string(hello.ranks) + " ranks");
  }
  const auto twin = members_.find(hello.rank);
  if (twin != members_.end()) {
    const Hello& other = twin->second.hello;
    return invalid_usage("rank " + std::to_string(hello.rank) + " joined twice: pid " +
                         std::to_string(other.pid) + " on host " + other.host + " and pid " +
                         std::to_string(hello.pid) + " on host " + hello.host);
  }
  return {};
}

void Rendezvous::assign() {
  phase_ = Phase::kWiring;
  for (auto& [rank, member] : members_) {
    const Address parent = rank == 0 ? Address{} : members_.at(tree_parent(rank)).hello.address;
    member.link->send(packet_of_assign(parent));
  }
}

void Rendezvous::later_frame(Rank rank, const Frame& frame) {
  if (phase_ != Phase::kWiring) return;
  if (frame.kind != static_cast<uint16_t>(BootstrapKind::kWired)) {
    return fail(remote_error(describe_member(members_.at(rank).hello) +
                             " broke the protocol of initialisation"));
  }
  members_.at(rank).wired = true;
  for (const auto& [other, member] : members_) {
    if (!member.wired) return;
  }
  complete();
}

void Rendezvous::complete() {
  outcome_ = invalid_usage("the unique id was used before, for a communicator of " +
                           std::to_string(members_.size()) +
                           " ranks: every communicator needs an id of its own");
  for (auto& [rank, member] : members_) member.link->send(packet_of(BootstrapKind::kComplete));
  end();
}

// Those that have not come yet; once all have, those whose connections are not made.
std::string Rendezvous::missing() const {
  const int ranks = members_.begin()->second.hello.ranks;
  std::vector<Rank> missing;
  for (Rank rank = 0; rank < ranks; ++rank) {
    const auto found = members_.find(rank);
    if (found == members_.end()) missing.push_back(rank);
    if (found != members_.end() && phase_ == Phase::kWiring && !found->second.wired) {
      missing.push_back(rank);
    }
  }
  return describe_ranks(missing) + " of " + std::to_string(ranks);
}

void Rendezvous::time_out(uint64_t timeout_ms) {
  if (phase_ == Phase::kOver || members_.empty()) return;
  fail(remote_error("initialisation timed out after " + describe_ms(timeout_ms) + ": waiting for " +
                    missing()));
}

void Rendezvous::fail(const Status& why) {
  outcome_ = why.copy();
  for (auto& [rank, member] : members_) member.link->send(packet_of_refuse(why));
  end();
}

void Rendezvous::end() {
  phase_ = Phase::kOver;
  reminder_.reset();
  for (auto& [rank, member] : members_) {
    reactor_.cancel(member.timer);
    member.link->close_after_flush(kFlushLimitMs);
  }
  members_.clear();
}

}  // namespace accl
