#include "src/comm/communicator.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/comm/sockets.h"
#include "src/engine/executor.h"

namespace accl {
namespace {

// ACCL_ISA as the kernel table takes it.
Isa isa_limit(IsaLimit setting) {
  switch (setting) {
    case IsaLimit::kScalar:
      return Isa::kScalar;
    case IsaLimit::kAvx2:
      return Isa::kAvx2;
    case IsaLimit::kAuto:
    case IsaLimit::kAvx512:
      break;
  }
  return Isa::kAvx512;
}

// The numbers of a communicator's operators. They start anew after 2^18 communicators.
int next_op_base() {
  static std::atomic<uint32_t> made{0};
  const uint32_t number = made.fetch_add(1, std::memory_order_relaxed) % (1U << 18);
  return kFirstUserOp + static_cast<int>(number * kMaxUserOps);
}

std::string key_text(const UniqueId& id) {
  const KeyId key = key_id_of(id.secret());
  return fmt::format("{:02x}{:02x}{:02x}{:02x}", static_cast<uint8_t>(key[0]),
                     static_cast<uint8_t>(key[1]), static_cast<uint8_t>(key[2]),
                     static_cast<uint8_t>(key[3]));
}

}  // namespace

Communicator::Communicator(const JoinRequest& request, const Process& process)
    : config_(request.config),
      process_(process),
      engine_(process.engine),
      rank_(request.rank),
      size_(request.ranks),
      device_(request.device),
      name_(request.name),
      key_(key_text(request.id)),
      isa_(best_isa(isa_limit(request.config.isa))),
      op_base_(next_op_base()) {}

Communicator::~Communicator() { close(); }

// Without memory for the message, what is open stays so until the process ends.
static void close_sockets(Sockets& sockets) {
  try {
    sockets.close();
  } catch (const std::bad_alloc&) {
  }
}

void Communicator::close() {
  if (closed_.exchange(true)) return;
  engine_.remove(this);
  if (sockets_) close_sockets(*sockets_);
  if (!control_) return;
  if (board_writer_) board_writer_.set_state(failed() ? RankState::kFailed : RankState::kLeft);
  control_->leave();
}

void Communicator::drop(Communicator* communicator) {
  if (communicator->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete communicator;
}

Status Communicator::failure() const {
  if (!failed()) [[likely]]
    return {};
  const std::lock_guard lock(failure_mutex_);
  return failure_.copy();
}

void Communicator::fail(Status error) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failed()) return;
    const LogScope scope(device_);
    ACCL_LOG(kWarn, kInit, "rank {}: {}", rank_, error.text());
    failure_ = std::move(error);
    failure_.set_logged();
    failed_.store(true, std::memory_order_release);
  }
  engine_.kick();
}

void Communicator::fail_and_tell(Status error) {
  if (control_ && !failed()) control_->propose(Code::kRemote, error.text());
  fail(std::move(error));
}

void Communicator::note_failed_stream(cudaStream_t stream) {
  const std::lock_guard lock(failure_mutex_);
  if (std::find(failed_streams_.begin(), failed_streams_.end(), stream) == failed_streams_.end()) {
    failed_streams_.push_back(stream);
  }
}

std::vector<cudaStream_t> Communicator::take_failed_streams() {
  const std::lock_guard lock(failure_mutex_);
  return std::move(failed_streams_);
}

// A rank may exit as soon as its own part is done. What it has sent lies in shared memory, so the
// others get a moment to finish what they are at.
void Communicator::note_death(const std::string& text) {
  const std::lock_guard lock(failure_mutex_);
  if (dead_since_ns_.load(std::memory_order_relaxed) != 0) return;
  death_text_ = text;
  dead_since_ns_.store(now_ns(), std::memory_order_release);
}

void Communicator::fail_if_orphaned() {
  constexpr uint64_t kMomentNs = 100 * kNsPerMs;
  const uint64_t since = dead_since_ns_.load(std::memory_order_acquire);
  if (failed() || now_ns() - since < kMomentNs) return;
  fail(remote_error(death_text()));
}

std::string Communicator::death_text() const {
  const std::lock_guard lock(failure_mutex_);
  return death_text_;
}

// A rank that aborts because another has died is not the cause.
void Communicator::heard_abort(Rank from) {
  std::string text = death_text();
  if (text.empty()) text = fmt::format("rank {} called ncclCommAbort", from);
  fail(remote_error(std::move(text)));
}

void Communicator::abort() {
  fail(invalid_usage("this communicator was aborted by ncclCommAbort"));
  if (control_) control_->flood(kAbortMessage, {});
}

// Point-to-point operations hold a program of their own and are kept apart.
Operation* Communicator::take_free(bool p2p) {
  Operation*& first = p2p ? free_p2p_ : free_;
  if (first == nullptr) {
    pool_.push_back(std::make_unique<Operation>());
    first = pool_.back().get();
    if (p2p) first->call.collective = Collective::kPointToPoint;
  }
  make_room(*first, room_);  // it stays in the list if there is no memory
  Operation* op = first;
  first = op->next;
  op->next = nullptr;
  return op;
}

void Communicator::put_back(Operation* op) {
  Operation*& first = op->is_p2p() ? free_p2p_ : free_;
  op->next = first;
  first = op;
}

void Communicator::release(Operation* operation) {
  const std::lock_guard lock(mutex_);
  operation->state.store(OperationState::kFree, std::memory_order_relaxed);
  put_back(operation);
}

void Communicator::submit(Operation* operation) {
  operation->failed = false;
  operation->state.store(OperationState::kQueued, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  operation->next = nullptr;
  (tail_ ? tail_->next : head_) = operation;
  tail_ = operation;
  queued_.fetch_add(1, std::memory_order_release);
}

// The operation's turn has come: it gets its number, and the peers can see what this rank does.
void Communicator::begin(Operation& op) {
  if (!op.is_p2p()) {
    op.call.sequence = ++sequence_;
    op.signature = hash(op.call);
    if (control_) board_writer_.publish(op.call);
  }
  if (op.scalar_at != nullptr) {  // the work before it in its stream may have written it
    set_scale(op.math, {.type = op.scalar_type, .immediate = false, .address = op.scalar_at});
  }
  start(op);
  Record& record = recorder_.begin(++operations_);
  record = {.sequence = op.call.sequence,
            .count = op.call.count,
            .started_cycles = cycles(),
            .plan = op.plan->id,
            .signature = op.signature,
            .root = op.call.root,
            .collective = op.call.collective,
            .type = op.call.type,
            .op = op.call.op,
            .algorithm = op.plan->algorithm,
            .transports = op.plan->transports,
            .state = RecordState::kRunning,
            .channels = static_cast<uint16_t>(op.plan->channels)};
  current_ = &op;
  head_waits_since_ns_ = 0;
  late_reported_ = false;
}

void Communicator::end(Operation& op) {
  if (current_ != &op) return;  // failed before its turn came
  if (wait_told_) [[unlikely]] {
    board_writer_.go_on();
    wait_told_ = false;
  }
  Record& record = recorder_.begin(operations_);
  record.ended_cycles = cycles();
  record.state = failed() ? RecordState::kFailed : RecordState::kDone;
  current_ = nullptr;
}

void Communicator::finish_head(Operation& op) {
  end(op);
  {
    const std::lock_guard lock(mutex_);
    head_ = op.next;
    if (head_ == nullptr) tail_ = nullptr;
    queued_.fetch_sub(1, std::memory_order_release);
  }
  // From here on the operation belongs to whoever waits for it.
  op.state.store(OperationState::kDone, std::memory_order_release);
}

// An exception would leave the communicator borrowed for ever.
Advance Communicator::advance(Operation& op) {
  try {
    return accl::advance(op);
  } catch (const std::bad_alloc&) {
    fail_and_tell(system_error("out of memory"));
    return Advance::kBlocked;
  }
}

// The user may free his buffers once a failed operation has ended, and a peer of this process may
// be in the middle of reading one: a moment is enough for that, and waiting for more would be for
// ever.
void Communicator::await_return(Operation& op) {
  constexpr uint64_t kMomentNs = 50 * kNsPerMs;
  const uint64_t deadline = now_ns() + kMomentNs;
  while (!is_returned(op) && now_ns() < deadline) sched_yield();
}

Drive Communicator::drive() {
  Drive result = Drive::kIdle;
  while (queued_.load(std::memory_order_acquire) > 0) {
    Operation* op = current_;
    if (op == nullptr) {
      const std::lock_guard lock(mutex_);
      op = head_;
    }
    if (failed()) {
      if (op == current_) await_return(*op);
      op->failed = true;
      finish_head(*op);
      result = Drive::kMoved;
      continue;
    }
    if (!op->ready()) return result;
    if (current_ == nullptr) begin(*op);
    const Advance step = advance(*op);
    if (step == Advance::kBlocked) return result == Drive::kIdle ? Drive::kBlocked : result;
    result = Drive::kMoved;
    head_waits_since_ns_ = 0;
    if (step == Advance::kMoved) return result;
    finish_head(*op);
  }
  return result;
}

Plan* Communicator::small_plan(const CollectiveCall& call) const {
  const int wanted = size_class(call.count * size_of(call.type));
  if (wanted >= kSmallClasses || call.root > 0 || call.op >= kFirstUserOp) return nullptr;
  return small_plans_[static_cast<size_t>(call.collective)][static_cast<size_t>(wanted)].load(
      std::memory_order_acquire);
}

Communicator::Small Communicator::run_small(const CollectiveCall& call, bool bounded,
                                            Operation** left) {
  Plan* plan = small_plan(call);
  if (plan == nullptr || !try_borrow()) return Small::kNotNow;
  if (has_work() || failed() || small_ == nullptr) {
    give_back();
    return Small::kNotNow;
  }
  Operation& op = *small_;
  fill(op, call, *plan, builtin_arithmetic(call));
  begin(op);
  Patience waiting = patience();
  Advance step = Advance::kBlocked;
  while ((step = advance(op)) != Advance::kDone) {
    if (step == Advance::kMoved) {
      waiting.moved();
      continue;
    }
    const uint64_t now = waiting.idle();
    if (now != 0) look_around(now);
    if (failed()) [[unlikely]]
      break;
    if (bounded && waiting.has_spun()) {
      queue_current(op);
      *left = &op;
      give_back();
      return Small::kLeft;
    }
  }
  end(op);
  give_back();
  return step == Advance::kDone ? Small::kDone : Small::kFailed;
}

// An operation begun outside of the queue becomes its (only) head.
void Communicator::queue_current(Operation& op) {
  op.failed = false;
  op.holders.store(1, std::memory_order_relaxed);
  op.awaited.store(0, std::memory_order_relaxed);
  op.state.store(OperationState::kQueued, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  op.next = head_;
  head_ = &op;
  if (tail_ == nullptr) tail_ = &op;
  queued_.fetch_add(1, std::memory_order_release);
  small_ = nullptr;  // another one takes its place, if there is memory for it
  try {
    small_ = take_free(false);
    small_room_ = room_;
  } catch (const std::bad_alloc&) {
  }
}

void Communicator::fail_queued() {
  const uint64_t deadline = now_ns() + kNsPerSecond;
  while (has_work() && now_ns() < deadline) {
    if (try_borrow()) {
      static_cast<void>(drive());
      give_back();
    }
    sched_yield();
  }
}

Status Communicator::drain() {
  Patience waiting = patience();
  while (has_work()) {
    Drive moved = Drive::kBlocked;
    if (try_borrow()) {
      moved = drive();
      if (moved != Drive::kMoved) {
        if (const uint64_t now = waiting.idle()) look_around(now);
      }
      give_back();
    } else {
      static_cast<void>(waiting.idle());
    }
    if (moved == Drive::kMoved) waiting.moved();
  }
  return failure();
}

Result<int> Communicator::add_scalar(const Scalar& scalar) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < scalars_.size(); i++) {
    if (scalars_[i]) continue;
    scalars_[i] = scalar;
    return user_op(i);
  }
  if (scalars_.size() >= kMaxUserOps) {
    return invalid_usage(
        fmt::format("this communicator has {} live operators made by ncclRedOpCreatePreMulSum, the "
                    "most there may be: destroy some",
                    scalars_.size()));
  }
  scalars_.push_back(scalar);
  return user_op(scalars_.size() - 1);
}

const Scalar* Communicator::find_scalar(int op) const {
  const int index = op - op_base_;
  if (index < 0 || static_cast<size_t>(index) >= scalars_.size()) return nullptr;
  const auto& entry = scalars_[static_cast<size_t>(index)];
  return entry ? &*entry : nullptr;
}

Status Communicator::remove_scalar(int op) {
  const std::lock_guard lock(mutex_);
  if (find_scalar(op) == nullptr) {
    return invalid_argument(
        fmt::format("operator {} is not a live operator of this communicator", op));
  }
  scalars_[static_cast<size_t>(op - op_base_)].reset();
  return {};
}

Status Communicator::check_op(CollectiveCall& call) const {
  const int op = call.op;
  if (op >= 0 && op < kFirstUserOp) [[likely]]
    return {};
  const std::lock_guard lock(mutex_);
  const Scalar* scalar = find_scalar(op);
  if (scalar == nullptr) {
    return invalid_argument(fmt::format(
        "op {} is neither ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg nor a live operator of this "
        "communicator",
        op));
  }
  if (scalar->type != call.type) {
    return invalid_argument(fmt::format("op {} was made for {} and is used with {}", op,
                                        name_of(scalar->type), name_of(call.type)));
  }
  call.scalar = *scalar;
  return {};
}

}  // namespace accl
