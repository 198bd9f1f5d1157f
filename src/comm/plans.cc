// Plans of a communicator: chosen by the tuner, lowered, bound to connections, kept.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "src/base/log.h"
#include "src/comm/communicator.h"
#include "src/engine/executor.h"
#include "src/plan/verify.h"

namespace accl {
namespace {

// A message list of one round: nothing limits the size when no peer is involved.
constexpr size_t kAloneChunkBytes = size_t{1} << 30;
// Above this size a result is not likely to be read from the caches: it is written around them.
constexpr size_t kNontemporalBytes = size_t{16} << 20;

// Bytes that the size class of a call is made from: those of a vector, or of one block.
size_t class_bytes(const CollectiveCall& call) { return call.count * size_of(call.type); }

// "shm", "local,shm"; "none" for a rank alone.
std::string transport_names(uint8_t transports) {
  std::string names;
  for (const TransportKind kind : kTransportKinds) {
    if ((transports & static_cast<uint8_t>(kind)) == 0) continue;
    if (!names.empty()) names += ',';
    names += name_of(kind);
  }
  return names.empty() ? "none" : names;
}

// "128 KiB"; what is no whole number of a unit is told in the next smaller one.
std::string size_text(size_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && bytes % 1024 == 0; bytes /= 1024) unit++;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

// The sizes that share a plan.
std::string class_text(int number) {
  if (number <= 1) return size_text(static_cast<size_t>(number));
  const std::string least = size_text(size_t{1} << (number - 1));
  if (number == kSizeClasses - 1) return least + " or more";
  return fmt::format("{} to {}", least, size_text(size_t{1} << number));
}

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce;
}

// In a debug build no program runs that the checker has not proven for all ranks together.
#ifdef NDEBUG
constexpr bool kProves = false;
#else
constexpr bool kProves = true;
#endif
constexpr int kMostRanksProven = 64;  // the proof of more takes seconds

[[maybe_unused]] Status prove(ProgramSpec spec, bool copies) {
  if (spec.ranks > kMostRanksProven) return {};
  std::vector<Program> programs;
  for (spec.rank = 0; spec.rank < spec.ranks; spec.rank++) {
    programs.push_back(ACCL_TRY(make_program(spec)));
  }
  for (const bool in_place : {false, true}) {
    if (in_place && spec.collective == Collective::kAllToAll) continue;
    const auto defect = verify({.collective = spec.collective,
                                .ranks = spec.ranks,
                                .root = spec.root,
                                .in_place = in_place,
                                .by_reference = !copies,
                                .programs = programs});
    if (!defect) continue;
    return internal_error(fmt::format("the program of {} {} on {} ranks is wrong: {}: {}",
                                      name_of(spec.algorithm), name_of(spec.collective), spec.ranks,
                                      name_of(defect->kind), defect->text));
  }
  return {};
}

size_t round_elements(const Plan& plan, size_t element_bytes) {
  const size_t chunk = plan.chunk_bytes >> std::countr_zero(element_bytes);  // a power of two
  const Program& p = plan.program;
  const int split = std::max(p.in_layout == Layout::kSplit ? p.in_chunks : 1,
                             p.out_layout == Layout::kSplit ? p.out_chunks : 1);
  return chunk * static_cast<size_t>(split);
}

}  // namespace

Arithmetic Communicator::builtin_arithmetic(const CollectiveCall& call) const {
  Arithmetic math;
  const bool reduces = call.collective == Collective::kAllReduce ||
                       call.collective == Collective::kReduceScatter ||
                       call.collective == Collective::kReduce;
  if (!reduces) {
    math.kernel = copy_kernel(isa_);  // counts bytes
    return math;
  }
  math.element_bytes = size_of(call.type);
  ReduceOp op = ReduceOp::kSum;
  if (call.op < kOpAvg) op = static_cast<ReduceOp>(call.op);
  math.kernel = reduce_kernel(call.type, op, isa_);
  if (call.op == kOpAvg) {
    if (is_float(call.type)) {
      math.scale = size_ > 1;
      math.scale_by = 1.0 / size_;
    } else {
      math.divide_by = static_cast<uint32_t>(size_);
    }
  }
  return math;
}

void Communicator::set_scale(Arithmetic& math, const Scalar& scalar) {
  math.scale = true;
  math.scale_by = is_float(scalar.type) ? scalar.as_double() : 1.0;
  math.scale_by_int = is_float(scalar.type) ? 1 : scalar.as_int();
}

void Communicator::scale(Operation& op, const Scalar& scalar) {
  if (scalar.immediate) return set_scale(op.math, scalar);
  op.math.scale = true;
  op.scalar_at = scalar.address;
  op.scalar_type = scalar.type;
}

void Communicator::fill(Operation& op, const CollectiveCall& call, Plan& plan,
                        const Arithmetic& math) {
  op.call = {.sequence = 0,
             .collective = call.collective,
             .count = call.count,
             .type = call.type,
             .op = static_cast<uint8_t>(std::min(call.op, kFirstUserOp)),
             .root = call.root};
  op.plan = &plan;
  op.in = static_cast<const std::byte*>(call.in);
  op.out = static_cast<std::byte*>(call.out);
  op.math = math;
  op.scalar_at = nullptr;
  op.elements = call.count * size_of(call.type) / math.element_bytes;
  op.round_count = round_elements(plan, math.element_bytes);
  op.rounds = op.elements <= op.round_count
                  ? 1
                  : static_cast<uint32_t>((op.elements + op.round_count - 1) / op.round_count);
  op.nontemporal = op.elements * math.element_bytes >= kNontemporalBytes;
}

Result<Operation*> Communicator::prepare(const CollectiveCall& call) {
  const std::lock_guard lock(mutex_);
  Plan* plan = ACCL_TRY(plan_for(call.collective, class_bytes(call), std::max(call.root, 0)));
  grow_small();
  Operation* op = take_free(false);
  fill(*op, call, *plan, builtin_arithmetic(call));
  if (call.op >= kFirstUserOp) scale(*op, call.scalar);
  return op;
}

// The operations of the pool get the room of the largest call when they are taken, run_small's
// here, unless another thread is using it just now.
void Communicator::grow_small() {
  if (small_room_ == room_ || !try_borrow()) return;
  try {
    if (small_ != nullptr) make_room(*small_, room_);
    small_room_ = room_;
  } catch (const std::bad_alloc&) {
    // Later, when there is memory.
  }
  give_back();
}

// run_small must not allocate: its operation has room for a plan before it may use it. The
// operation is the borrower's; while another thread has the loan, the plan stays unpublished for
// this time.
void Communicator::publish_small(std::atomic<Plan*>& place, Plan* plan) {
  if (!try_borrow()) return;
  try {
    if (small_ == nullptr) small_ = take_free(false);
    make_room(*small_, room_);
    small_room_ = room_;
  } catch (const std::bad_alloc&) {
    give_back();
    return;
  }
  place.store(plan, std::memory_order_release);
  give_back();
}

Result<Operation*> Communicator::prepare(std::span<const PointToPointCall> calls) {
  const std::lock_guard lock(mutex_);
  Operation* op = take_free(true);
  op->call = {.collective = Collective::kPointToPoint, .count = calls.size()};
  op->in = nullptr;
  op->out = nullptr;
  op->math = {.kernel = copy_kernel(isa_)};
  op->scalar_at = nullptr;
  op->round_count = 1;
  op->rounds = 1;
  op->nontemporal = false;
  Plan& plan = op->p2p;
  plan.collective = Collective::kPointToPoint;
  plan.chunk_bytes = shm::kMaxMessage;
  op->plan = &plan;
  op->extents.clear();
  transfers_.clear();
  for (const PointToPointCall& c : calls) {
    transfers_.push_back({c.peer, c.send});
    op->extents.push_back(
        {static_cast<std::byte*>(c.data), c.bytes, point_to_point_signature(c.bytes)});
  }
  point_to_point(transfers_, plan.program);
  if (Status bound = bind(plan); !bound.ok()) {
    put_back(op);
    return bound;
  }
  room_.cover(plan);
  make_room(*op, room_);
  grow_small();
  return op;
}

Result<Plan*> Communicator::plan_for(Collective collective, size_t bytes, Rank root) {
  const auto kind = static_cast<size_t>(collective);
  const auto wanted = static_cast<size_t>(size_class(bytes));
  std::vector<CachedPlan>& candidates = plans_[kind][wanted];
  Plan* plan = nullptr;
  for (const CachedPlan& cached : candidates) {
    if (cached.root == root) plan = cached.plan.get();
  }
  if (plan == nullptr) {
    std::unique_ptr<Plan> made = ACCL_TRY(make_plan(collective, bytes, root));
    plan = made.get();
    candidates.push_back({root, std::move(made)});
    room_.cover(*plan);
  }
  if (root == 0 && wanted < small_plans_[kind].size()) {
    std::atomic<Plan*>& place = small_plans_[kind][wanted];
    if (place.load(std::memory_order_relaxed) == nullptr) publish_small(place, plan);
  }
  return plan;
}

Result<std::unique_ptr<Plan>> Communicator::make_plan(Collective collective, size_t bytes,
                                                      Rank root) {
  const LogScope scope(device_);
  report_unfit(collective);
  const Choice choice = choose({.collective = collective,
                                .bytes = bytes,
                                .ranks = size_,
                                .oversubscribed = oversubscribed_,
                                .hosts = hosts_.count(),
                                .host_groups = hosts_.are_groups(),
                                .forced = forced_});
  auto plan = std::make_unique<Plan>();
  plan->id = next_plan_id_++;
  plan->collective = collective;
  plan->algorithm = choice.algorithm;
  plan->root = root;
  plan->chunk_bytes = size_ == 1 ? kAloneChunkBytes : choice.chunk_bytes;
  const ProgramSpec spec{.collective = collective,
                         .algorithm = choice.algorithm,
                         .ranks = size_,
                         .rank = rank_,
                         .root = root,
                         .groups = choice.groups};
  plan->copies = needs_copies(spec, true);
  plan->program = ACCL_TRY(make_program(spec));
  if constexpr (kProves) ACCL_TRY(prove(spec, plan->copies));
  const int needed = std::max(1, plan->program.streams());
  const int room = streams() - 1;
  if (needed > room) {
    return internal_error(fmt::format("{} of {} needs {} streams of {}", name_of(choice.algorithm),
                                      name_of(collective), needed, room));
  }
  plan->channels = size_ == 1 ? 1 : std::min(choice.channels, room / needed);
  ACCL_TRY(bind(*plan));
  const size_t scratch = static_cast<size_t>(plan->program.scratch_chunks) *
                         static_cast<size_t>(plan->channels) * plan->chunk_bytes;
  if (scratch > 0) plan->scratch.reset(new std::byte[scratch]);
  report(*plan, bytes);
  return plan;
}

void Communicator::report(const Plan& plan, size_t bytes) const {
  ACCL_LOG(kInfo, kTuning, "{} rank {}: {} of {}{}: {}, {} channel{}, chunks of {}, via {}",
           label(), rank_, name_of(plan.collective), class_text(size_class(bytes)),
           has_root(plan.collective) ? fmt::format(", root {}", plan.root) : "",
           name_of(plan.algorithm), plan.channels, plan.channels == 1 ? "" : "s",
           size_text(plan.chunk_bytes), transport_names(plan.transports));
}

// A setting that does not fit a collective is no reason to fail the job: said once, then left out
// of account.
void Communicator::report_unfit(Collective collective) {
  if (!forced_ || supports(forced_for(*forced_, collective), collective)) return;
  bool& told = unfit_told_[static_cast<size_t>(collective)];
  if (std::exchange(told, true)) return;
  ACCL_LOG(kInfo, kTuning, "{} rank {}: NCCL_ALGO {} cannot do {}: the library chooses", label(),
           rank_, name_of(*forced_), name_of(collective));
}

// Opens the connections that the program's ports name and that are not open yet.
Status Communicator::bind(Plan& plan) {
  const size_t ports = plan.ports();
  const bool p2p = plan.collective == Collective::kPointToPoint;
  const int streams = plan.program.streams();
  plan.sends.assign(ports * static_cast<size_t>(plan.channels), nullptr);
  plan.recvs.assign(ports * static_cast<size_t>(plan.channels), nullptr);
  plan.transports = 0;
  plan.buffers = false;
  for (int channel = 0; channel < plan.channels; channel++) {
    for (const Lane& lane : plan.program.lanes) {
      for (const Step& step : lane) {
        for (const int port : {static_cast<int>(step.recv), static_cast<int>(step.send)}) {
          if (port < 0) continue;
          const Port& at = plan.program.ports[static_cast<size_t>(port)];
          const int stream = p2p ? 0 : 1 + channel * streams + at.stream;
          const size_t index = static_cast<size_t>(channel) * ports + static_cast<size_t>(port);
          plan.transports |= static_cast<uint8_t>(transport(at.peer));
          if (port == step.recv && !plan.recvs[index]) {
            plan.recvs[index] = ACCL_TRY(recv_end(at.peer, stream));
          }
          if (port == step.send && !plan.sends[index]) {
            plan.sends[index] = ACCL_TRY(send_end(at.peer, stream));
            plan.buffers |= plan.sends[index]->buffers();
          }
        }
      }
    }
  }
  return {};
}

}  // namespace accl
