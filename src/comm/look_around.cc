// What a rank does that has waited for a while: find out why, and say so.

#include <fmt/format.h>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/base/process.h"
#include "src/bootstrap/rank_list.h"
#include "src/comm/communicator.h"
#include "src/engine/executor.h"

namespace accl {
namespace {

// Ranks that are merely late need not be suspected.
constexpr uint64_t kSuspectNs = 20 * kNsPerMs;
// A disagreement is told with all ranks' calls in it if they come within this time.
constexpr uint64_t kWaitForAllNs = 300 * kNsPerMs;
// From here on a wait is told on the board.
constexpr uint64_t kLongWaitNs = 300 * kNsPerMs;
constexpr uint64_t kDeathCheckNs = 100 * kNsPerMs;
constexpr uint64_t kDeathNewsNs = 300 * kNsPerMs;
constexpr uint64_t kWarnNs = 60 * kNsPerSecond;

}  // namespace

// Texts take memory; where there is none, the next look may find some.
void Communicator::look_around(uint64_t now) {
  try {
    find_trouble(now);
  } catch (const std::bad_alloc&) {
  }
}

void Communicator::find_trouble(uint64_t now) {
  check_peers();
  const Operation* op = borrowed_operation();
  if (op == nullptr || failed()) return;
  if (head_waits_since_ns_ == 0 || head_waits_since_ns_ > now) {
    head_waits_since_ns_ = now;
    return;
  }
  const uint64_t waited = now - head_waits_since_ns_;
  if (waited < kSuspectNs || size_ == 1) return;
  if (find_mismatch(*op, waited)) return;
  if (now >= next_death_check_ns_) {
    next_death_check_ns_ = now + kDeathCheckNs;
    if (find_dead_peer(*op, now)) return;
  }
  if (waited >= kLongWaitNs && find_standstill(*op, now)) return;
  report_late(*op, waited);
}

// Ranks that call different things may not even meet on a stream, so the board is asked.
bool Communicator::find_mismatch(const Operation& op, uint64_t waited) {
  if (mismatch_proposed_) return true;
  if (op.is_p2p()) return find_wrong_size(op);
  if (hosts_.count() > 1) tell_call(op.call);
  const bool all_here = board_.all_began(op.call.sequence, rank_);
  if (!all_here && waited < kWaitForAllNs) return false;
  const std::optional<Mismatch> mismatch = board_.compare();
  if (!mismatch) return false;
  mismatch_proposed_ = true;
  control_->propose(Code::kInvalidUsage, label() + ": " + mismatch->text);
  return true;
}

// Other hosts cannot look: they are told, once for each operation.
void Communicator::tell_call(const CallSignature& call) {
  if (told_sequence_.exchange(call.sequence, std::memory_order_relaxed) == call.sequence) return;
  control_->flood(kCallMessage, wire_of(call));
}

// A rank of another host waits. If this rank called something else, its own call may be over (a
// root has only to send), so it tells as well.
void Communicator::heard_call(Rank from, std::span<const std::byte> payload) {
  const std::optional<CallSignature> call = signature_of(payload);
  if (!call || hosts_.same(from, rank_)) return;
  remote_board_->told(from, *call);
  const std::optional<CallSignature> mine = board_.signature(rank_, call->sequence);
  if (mine && !(*mine == *call)) tell_call(*mine);
  // Or it is behind: then its last call is what the others want to know.
  const std::optional<CallSignature> last = board_.last(rank_);
  if (!mine && last && last->sequence < call->sequence) tell_call(*last);
}

// A message has arrived where another size is expected.
bool Communicator::find_wrong_size(const Operation& op) {
  for (WaitPoint at = wait_point(op, 0); at.lane < op.lanes.size();
       at = wait_point(op, at.lane + 1)) {
    if (at.recv == nullptr || !at.recv->mismatched(at.signature)) continue;
    mismatch_proposed_ = true;
    control_->propose(
        Code::kInvalidUsage,
        fmt::format("Recv on rank {} from rank {} expects {} bytes, and the matching Send has {}",
                    rank_, at.peer, at.bytes, describe_point_to_point(at.recv->arrived())));
    return true;
  }
  return false;
}

bool Communicator::find_dead_peer(const Operation& op, uint64_t now) {
  const Member& mine = members_[static_cast<size_t>(rank_)];
  for (WaitPoint at = wait_point(op, 0); at.lane < op.lanes.size();
       at = wait_point(op, at.lane + 1)) {
    Status broken;
    if (at.recv) broken = at.recv->status();
    if (at.send && broken.ok()) broken = at.send->status();
    if (!broken.ok()) {
      // If the peer has died, Control says so in a moment, in better words.
      if (broken_since_ns_ == 0) broken_since_ns_ = now;
      if (now - broken_since_ns_ < kDeathNewsNs) return true;
      control_->propose(broken.code(), fmt::format("rank {}: {}", rank_, broken.text()));
      return true;
    }
    if (at.peer < 0 || at.peer == rank_) continue;
    const Member& peer = members_[static_cast<size_t>(at.peer)];
    if (peer.machine != mine.machine || peer.pid_namespace != mine.pid_namespace) continue;
    if (peer.process == mine.process) continue;
    if (process_start_time(peer.pid) == peer.start_time) continue;
    control_->report_death(
        at.peer, fmt::format("rank {} (pid {} on host {}) died", at.peer, peer.pid, peer.host));
    return true;
  }
  return false;
}

// A point-to-point call meets a collective, or all send before they receive: everybody waits, and
// for good.
bool Communicator::find_standstill(const Operation& op, uint64_t now) {
  // Messages between hosts may be on their way.
  if (hosts_.count() > 1) return false;
  // A rank without staging waits for another communicator's operations.
  if (process_.staging.exhausted()) {
    board_writer_.go_on();
    return false;
  }
  const WaitPoint at = wait_point(op, 0);
  Wait wait{.mark = operations_ + 1};
  for (const LaneState& lane : op.lanes) {
    wait.mark = wait.mark * 0x100000001b3 + lane.step + lane.round + lane.done_bytes;
  }
  if (wait.mark == 0) wait.mark = 1;
  if (op.is_p2p()) {
    wait.what = at.receives ? Wait::For::kRecv : Wait::For::kSend;
    wait.peer = at.peer;
    wait.bytes = at.bytes < 0xffffffff ? static_cast<uint32_t>(at.bytes) : 0;
  }
  board_writer_.tell(wait);
  wait_told_ = true;
  if (!standstill_.observe(board_, now)) return false;
  mismatch_proposed_ = true;
  control_->propose(Code::kInvalidUsage,
                    label() + ": no rank can go on: " + board_.describe_waits());
  return true;
}

// Somebody is late: a warning after a minute, an error only if the user has asked for one.
void Communicator::report_late(const Operation& op, uint64_t waited) {
  const uint64_t limit = static_cast<uint64_t>(config_.op_timeout_ms) * kNsPerMs;
  const bool over = limit > 0 && waited >= limit;
  if (!over && (late_reported_ || waited < kWarnNs)) return;
  late_reported_ = true;
  std::string text = op.is_p2p() ? "" : board_.describe_laggards(op.call, rank_);
  if (text.empty()) {
    const WaitPoint at = wait_point(op, 0);
    text = fmt::format("rank {} waits in {} ({}, lane {} step {} round {}) for rank {}", rank_,
                       op.is_p2p() ? "Send/Recv" : describe(op.call),
                       at.receives ? "for a message" : "for room to send", at.lane, at.at.step,
                       at.at.round, at.peer);
  }
  text += fmt::format(" (for {} s)", waited / kNsPerSecond);
  if (over) {
    control_->propose(Code::kRemote, "time-out: " + label() + ": " + text + ", ACCL_OP_TIMEOUT");
  } else {
    const LogScope scope(device_);
    ACCL_LOG(kWarn, kColl, "{}: {}", label(), text);
  }
}

std::string Communicator::label() const {
  return name_.empty() ? "communicator " + key_ : fmt::format("communicator {} '{}'", key_, name_);
}

std::string Communicator::describe_transports() const {
  std::string text;
  for (const TransportKind kind : kTransportKinds) {
    std::vector<Rank> peers;
    for (Rank peer = 0; peer < size_; peer++) {
      if (transport(peer) == kind) peers.push_back(peer);
    }
    if (peers.empty()) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name_of(kind), describe_ranks(peers));
  }
  return text;
}

}  // namespace accl
