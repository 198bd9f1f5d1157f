#include "src/api/group.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "accl/device.h"
#include "src/api/turns.h"
#include "src/base/clock.h"
#include "src/base/thread.h"

namespace accl {
namespace {

// What one group has made of its calls: an operation and the streams it belongs to.
struct Issue {
  Communicator* communicator = nullptr;
  Operation* operation = nullptr;
  std::vector<cudaStream_t> streams;  // without repetition; NULL: the caller waits
  bool caller_waits = false;
};

struct Group {
  Status error;
  std::vector<Call> calls;
  std::vector<std::function<Status(bool)>> inits;
  // Reused from group to group, so that groups do not allocate.
  std::vector<Issue> issues;
  size_t issue_count = 0;
  std::vector<PointToPointCall> transfers;

  Issue& next_issue(Communicator* communicator) {
    if (issue_count == issues.size()) issues.emplace_back();
    Issue& issue = issues[issue_count++];
    issue.communicator = communicator;
    issue.operation = nullptr;
    issue.streams.clear();
    issue.caller_waits = false;
    return issue;
  }
};

// Apart from the rest, because every call looks at it.
constinit thread_local int group_depth = 0;
constinit thread_local Group* group_made = nullptr;

// The calling thread's group, freed by a key's destructor: a thread_local object registers its own
// with the C library, which ends the process if there is no memory for that. Throws bad_alloc.
Group& this_group() {
  if (group_made != nullptr) [[likely]]
    return *group_made;
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    const auto end = [](void* ended) {
      delete static_cast<Group*>(ended);
      group_made = nullptr;
    };
    if (pthread_key_create(&made, end) != 0) throw std::bad_alloc();
    return made;
  }();
  auto made = std::make_unique<Group>();
  if (pthread_setspecific(key, made.get()) != 0) throw std::bad_alloc();
  group_made = made.release();
  return *group_made;
}

void add_stream(Issue& issue, cudaStream_t stream) {
  if (std::find(issue.streams.begin(), issue.streams.end(), stream) == issue.streams.end()) {
    issue.streams.push_back(stream);
  }
  if (stream == nullptr) issue.caller_waits = true;
}

// Sends to oneself need a receive of the same group, in order and of the same size.
Status check_self(Rank self, const std::vector<PointToPointCall>& transfers) {
  size_t recv = 0;
  const auto next = [&](size_t from, bool send) {
    while (from < transfers.size() &&
           (transfers[from].peer != self || transfers[from].send != send)) {
      from++;
    }
    return from;
  };
  size_t send = next(0, true);
  recv = next(0, false);
  for (; send < transfers.size() && recv < transfers.size();
       send = next(send + 1, true), recv = next(recv + 1, false)) {
    if (transfers[send].bytes == transfers[recv].bytes) continue;
    return invalid_usage(fmt::format("rank {} sends {} bytes to itself and receives {} bytes", self,
                                     transfers[send].bytes, transfers[recv].bytes));
  }
  if (send == recv || (send >= transfers.size() && recv >= transfers.size())) return {};
  return invalid_usage(fmt::format(
      "rank {} {} itself without a matching {} in the same group: it would wait for ever", self,
      send < transfers.size() ? "sends to" : "receives from",
      send < transfers.size() ? "ncclRecv" : "ncclSend"));
}

Status prepare_transfers(std::span<const Call> calls, Communicator* communicator) {
  Issue& issue = this_group().next_issue(communicator);
  this_group().transfers.clear();
  for (const Call& call : calls) {
    if (call.communicator != communicator || !call.is_point_to_point) continue;
    this_group().transfers.push_back(call.transfer);
    add_stream(issue, call.stream);
  }
  ACCL_TRY(check_self(communicator->rank(), this_group().transfers));
  issue.operation = ACCL_TRY(communicator->prepare(this_group().transfers));
  return {};
}

Status prepare_all(std::span<const Call> calls) {
  for (const Call& call : calls) {
    if (call.is_point_to_point) continue;
    Issue& issue = this_group().next_issue(call.communicator);
    issue.operation = ACCL_TRY(call.communicator->prepare(call.collective));
    add_stream(issue, call.stream);
  }
  for (size_t i = 0; i < calls.size(); i++) {
    if (!calls[i].is_point_to_point) continue;
    const auto same = [&](const Call& c) {
      return c.is_point_to_point && c.communicator == calls[i].communicator;
    };
    const bool first = std::none_of(calls.begin(), calls.begin() + static_cast<ptrdiff_t>(i), same);
    if (first) ACCL_TRY(prepare_transfers(calls, calls[i].communicator));
  }
  return {};
}

std::span<Issue> issues() { return {this_group().issues.data(), this_group().issue_count}; }

void make_turns() {
  for (Issue& issue : issues()) {
    Operation& op = *issue.operation;
    op.turns.clear();
    for (const cudaStream_t stream : issue.streams) {
      op.turns.push_back({.communicator = issue.communicator,
                          .operation = &op,
                          .stream = stream,
                          .reached = true});
    }
  }
}

// All that takes memory, so that nothing is queued unless everything can be.
Status prepare_to_submit(std::span<const Call> calls) {
  try {
    ACCL_TRY(prepare_all(calls));
    make_turns();
    return {};
  } catch (const std::bad_alloc&) {
    return system_error("out of memory");
  }
}

// Queues every operation; those whose streams are busy get their turn later.
Status submit_all() {
  Status result;
  for (Issue& issue : issues()) {
    Operation& op = *issue.operation;
    op.holders.store(1, std::memory_order_relaxed);
    op.awaited.store(1, std::memory_order_relaxed);  // until all its streams are looked at
    issue.communicator->submit(&op);
    for (Turn& turn : op.turns) {
      if (acclStreamIsIdle(turn.stream)) continue;
      turn.reached = false;
      op.awaited.fetch_add(1, std::memory_order_relaxed);
      Status entered = enter_stream(turn);
      if (entered.ok()) continue;
      op.awaited.fetch_sub(1, std::memory_order_relaxed);
      issue.communicator->fail_and_tell(entered.copy());
      entered.set_logged();
      result = std::move(entered);
    }
    op.awaited.fetch_sub(1, std::memory_order_release);
  }
  return result;
}

bool drive_once(Communicator& communicator, uint64_t look_ns) {
  communicator.driven_by_callers.fetch_add(1, std::memory_order_relaxed);
  if (!communicator.try_borrow()) return false;
  const Drive moved = communicator.drive();
  if (moved != Drive::kMoved && look_ns != 0) communicator.look_around(look_ns);
  communicator.give_back();
  return moved == Drive::kMoved;
}

// Round-robin over the group's operations: until those that the caller waits for are done, and for
// the others no longer than a spin without progress.
void drive_all() {
  Patience waiting = this_group().issues[0].communicator->patience();
  uint64_t look_ns = 0;
  for (;;) {
    bool moved = false;
    bool must_wait = false;
    bool open = false;
    for (Issue& issue : issues()) {
      if (issue.operation->done()) continue;
      must_wait |= issue.caller_waits;
      open |= issue.operation->ready();
      moved |= drive_once(*issue.communicator, look_ns);
    }
    if (!must_wait && (!open || waiting.has_spun())) return;
    look_ns = 0;
    if (moved) {
      waiting.moved();
    } else {
      look_ns = waiting.idle();
    }
  }
}

// An operation that is under way has no stream to stand in: nobody would ever see its end.
void give_up(Communicator& communicator, const Status& why) {
  communicator.fail_and_tell(why.copy());
  communicator.fail_queued();
}

// What is not done yet holds up its streams from here on.
Status leave_rest() {
  Status result;
  for (Issue& issue : issues()) {
    Operation& op = *issue.operation;
    Communicator& communicator = *issue.communicator;
    const bool done = op.done();
    if (done && op.failed && result.ok()) result = communicator.failure();
    for (size_t i = 0; !done && i < op.turns.size(); i++) {
      if (op.turns[i].stream == nullptr || op.turns[i].entered) continue;
      Status entered = enter_stream(op.turns[i]);
      if (entered.ok()) continue;
      give_up(communicator, entered);
      result = std::move(entered);
    }
    if (!done) communicator.wake_engine();
    let_go(communicator, op);
  }
  return result;
}

Status execute(std::span<const Call> calls) {
  this_group().issue_count = 0;
  if (Status prepared = prepare_to_submit(calls); !prepared.ok()) {
    for (Issue& issue : issues()) {
      if (issue.operation) issue.communicator->release(issue.operation);
    }
    return prepared;
  }
  Status submitted = submit_all();
  drive_all();
  Status left = leave_rest();
  return submitted.ok() ? std::move(left) : std::move(submitted);
}

// Calls hold their communicators while they run: abort waits for them.
Status execute_held(std::vector<Call>& calls) {
  size_t held = 0;
  Status result;
  for (Call& call : calls) {
    call.handle->users.fetch_add(1, std::memory_order_seq_cst);
    held++;
    call.communicator = call.handle->communicator.load(std::memory_order_seq_cst);
    if (call.communicator != nullptr) continue;
    result = invalid_argument("a communicator of this group was destroyed before ncclGroupEnd");
    break;
  }
  if (result.ok()) result = execute(calls);
  for (size_t i = 0; i < held; i++) {
    calls[i].handle->users.fetch_sub(1, std::memory_order_release);
  }
  return result;
}

Status run_inits(std::vector<std::function<Status(bool)>>& inits) {
  if (inits.size() == 1) return inits[0](true);
  std::vector<Status> results(inits.size());
  {
    std::vector<Thread> threads;
    for (size_t i = 0; i < inits.size(); i++) {
      auto started =
          Thread::start("accl-init", [&results, &inits, i] { results[i] = inits[i](true); });
      if (!started.ok()) {
        results[i] = std::move(started.status());
        static_cast<void>(inits[i](false));
        continue;
      }
      threads.push_back(std::move(*started));
    }
  }
  for (Status& result : results) {
    if (!result.ok()) return std::move(result);
  }
  return {};
}

// The shortest way: one small collective, nothing before it on its stream.
bool run_small(const Call& call, Status* result) {
  if (call.is_point_to_point) return false;
  if (call.stream != nullptr && !acclStreamIsIdle(call.stream)) return false;
  Operation* left = nullptr;
  switch (call.communicator->run_small(call.collective, call.stream != nullptr, &left)) {
    case Communicator::Small::kNotNow:
      return false;
    case Communicator::Small::kDone:
      return true;
    case Communicator::Small::kFailed:
      *result = call.communicator->failure();
      return true;
    case Communicator::Small::kLeft:
      break;
  }
  left->turns.clear();
  left->turns.push_back({.communicator = call.communicator,
                         .operation = left,
                         .stream = call.stream,
                         .reached = true});
  *result = enter_stream(left->turns[0]);
  if (!result->ok()) give_up(*call.communicator, *result);
  let_go(*call.communicator, *left);
  call.communicator->wake_engine();
  return true;
}

}  // namespace

void group_start() { group_depth++; }

bool in_group() { return group_depth > 0; }

void group_failed(const Status& why) { this_group().error = why.copy(); }

void group_refused(const Status& why) {
  group_failed(why);
  this_group().error.set_logged();
}

Status group_end() {
  if (group_depth == 0) return invalid_usage("without a matching ncclGroupStart");
  if (--group_depth > 0) return {};
  Group& group = this_group();
  // Whatever happens, the next group starts empty.
  struct Emptied {
    Group& group;
    ~Emptied() {
      group.error = {};
      group.inits.clear();
      group.calls.clear();
    }
  } const emptied{group};
  Status result = group.error.copy();
  for (const auto& init : group.inits) {
    if (!result.ok()) static_cast<void>(init(false));
  }
  if (result.ok() && !group.inits.empty()) result = run_inits(group.inits);
  if (result.ok() && !group.calls.empty()) result = execute_held(group.calls);
  return result;
}

Status submit(const Call& call) {
  if (group_depth > 0) {
    try {
      this_group().calls.push_back(call);
      return {};
    } catch (const std::bad_alloc&) {
      Status why = system_error("out of memory");
      group_failed(why);
      return why;
    }
  }
  Status result;
  if (run_small(call, &result)) return result;
  return execute({&call, 1});
}

Status submit_init(std::function<Status(bool)> init) {
  if (group_depth == 0) return init(true);
  this_group().inits.push_back(std::move(init));
  return {};
}

}  // namespace accl
