#include "bench/perf/driver.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "src/base/clock.h"

namespace accl::perf {
namespace {

constexpr double kNsPerMicrosecond = 1e3;

Reduce how_to_combine(Average average) {
  switch (average) {
    case Average::kRankZero:
      return Reduce::kFirst;
    case Average::kMin:
      return Reduce::kMin;
    case Average::kMax:
      return Reduce::kMax;
    case Average::kMean:
      break;
  }
  return Reduce::kMean;
}

/// The call's operator; of kMulSum only the rank's own handle will do.
ncclRedOp_t plain_operator(Operator op) {
  switch (op) {
    case Operator::kProd:
      return ncclProd;
    case Operator::kMax:
      return ncclMax;
    case Operator::kMin:
      return ncclMin;
    case Operator::kAvg:
      return ncclAvg;
    case Operator::kSum:
    case Operator::kMulSum:
      break;
  }
  return ncclSum;
}

size_t next_size(const Options& options, size_t bytes) {
  if (options.step_factor <= 1) return bytes + options.step_bytes;
  // Zero times anything is zero: go on with one element of the largest type.
  return bytes == 0 ? 8 : bytes * static_cast<size_t>(options.step_factor);
}

}  // namespace

Driver::Driver(const Context& context, int thread)
    : context_(context),
      options_(context.options),
      test_(context.test),
      thread_(thread),
      ranks_(static_cast<size_t>(context.options.devices)) {
  for (int i = 0; i < options_.devices; ++i)
    ranks_[static_cast<size_t>(i)].rank = member() * options_.devices + i;
}

int Driver::member() const { return context_.process * options_.threads + thread_; }

void Driver::meet() {
  if (!context_.team.barrier()) leave(context_);
}

double Driver::combine(double value, Reduce how) {
  if (!context_.team.reduce(member(), value, how)) leave(context_);
  return value;
}

void Driver::pin() {
  if (!options_.pin || options_.processes == 1) return;
  if (static_cast<size_t>(options_.members()) > context_.cores.size()) return;
  const int core = context_.cores[static_cast<size_t>(member())];
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CPU_SET(static_cast<size_t>(core), &mine);
  if (sched_setaffinity(0, sizeof mine, &mine) == 0) core_ = core;
}

void Driver::limit_bytes() {
  const auto pages = static_cast<double>(sysconf(_SC_AVPHYS_PAGES));
  const double free_bytes = pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  // Two buffers, and as much again for the library and the system.
  const double share = combine(free_bytes / options_.ranks() / 3, Reduce::kMin);
  max_bytes_ = options_.max_bytes;
  if (share < static_cast<double>(max_bytes_)) {
    max_bytes_ = static_cast<size_t>(share) & ~size_t{4095};
    if (member() == 0)
      fmt::print("#\n# Reducing maxBytes to {} due to memory limitation\n", max_bytes_);
  }
  if (max_bytes_ < options_.min_bytes)
    fail(context_, kInvalidUsage, "not enough memory for the smallest size");
}

void Driver::describe(const RankState& rank) {
  RankLine& line = context_.team.line(rank.rank);
  line.pid = getpid();
  line.device = rank.device;
  line.core = core_;
  const std::string host = host_name();
  const std::string name = core_ >= 0 ? fmt::format("host device, core {}", core_) : "host device";
  host.copy(line.host.data(), line.host.size() - 1);
  name.copy(line.name.data(), line.name.size() - 1);
}

void Driver::prepare() {
  pin();
  limit_bytes();
  int devices = 0;
  check(context_, acclGetDeviceCount(&devices));
  const Counts widest = test_.counts(max_bytes_, 1, options_.ranks());
  buffer_bytes_ = std::max({widest.send, widest.recv, size_t{1}}) +
                  static_cast<size_t>(options_.unalign) * sizeof(double);
  for (RankState& rank : ranks_) {
    // All processes are on this host and a device may have many ranks.
    rank.device = (options_.first_device + rank.rank) % devices;
    check(context_, acclSetDevice(rank.device));
    if (!options_.stream_null) check(context_, acclStreamCreate(&rank.stream));
    for (std::byte** buffer : {&rank.send, &rank.recv}) {
      void* memory = nullptr;
      check(context_, ncclMemAlloc(&memory, buffer_bytes_));
      std::memset(memory, 0, buffer_bytes_);  // so that no page is the system's shared zero page
      *buffer = static_cast<std::byte*>(memory);
    }
    describe(rank);
  }
  if (member() == 0) {
    ncclUniqueId id;
    check(context_, ncclGetUniqueId(&id));
    std::memcpy(context_.team.unique_id(), &id, sizeof id);
  }
  meet();
  if (context_.report != nullptr && thread_ == 0) {
    int version = 0;
    check(context_, ncclGetVersion(&version));
    context_.report->show_header(context_.team, version);
  }
}

void Driver::connect(const Context& context, const std::vector<Driver*>& drivers) {
  ncclUniqueId id;
  std::memcpy(&id, context.team.unique_id(), sizeof id);
  check(context, ncclGroupStart());
  for (Driver* driver : drivers) {
    for (RankState& rank : driver->ranks_) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      if (context.options.cta_policy) config.CTAPolicy = *context.options.cta_policy;
      check(context, acclSetDevice(rank.device));
      check(context,
            ncclCommInitRankConfig(&rank.comm, context.options.ranks(), id, rank.rank, &config));
    }
  }
  check(context, ncclGroupEnd());
}

void Driver::register_buffers() {
  for (RankState& rank : ranks_) {
    for (std::byte* buffer : {rank.send, rank.recv}) {
      if (options_.local_register == 1)
        check(context_, ncclCommRegister(rank.comm, buffer, buffer_bytes_,
                                         &rank.registrations.emplace_back(nullptr)));
      if (options_.local_register == 2)
        check(context_,
              ncclCommWindowRegister(rank.comm, buffer, buffer_bytes_,
                                     &rank.windows.emplace_back(nullptr), NCCL_WIN_COLL_SYMMETRIC));
    }
    if (!options_.memory_report) continue;
    std::uint64_t bytes = 0;
    check(context_, ncclCommMemStats(rank.comm, ncclStatGpuMemTotal, &bytes));
    fmt::print("# Rank {:2} Memory used: {} bytes\n", rank.rank, bytes);
  }
}

Totals Driver::run() {
  Totals totals;
  std::vector<int> roots = {test_.rooted ? options_.root : -1};
  if (test_.rooted && options_.root < 0) {
    roots.clear();
    for (int root = 0; root < options_.ranks(); ++root) roots.push_back(root);
  }
  for (const DataType type : chosen_types(options_))
    for (const Operator op : chosen_operators(options_, test_))
      for (const int root : roots) sweep({type, op, root}, totals);
  return totals;
}

void Driver::sweep(const Case& what, Totals& totals) {
  if (what.op == Operator::kMulSum) {
    for (RankState& rank : ranks_) {
      std::uint64_t scalar = mul_sum_scalar_bits(what.type, rank.rank);
      check(context_,
            ncclRedOpCreatePreMulSum(&rank.mul_sum, &scalar, static_cast<ncclDataType_t>(what.type),
                                     ncclScalarHostImmediate, rank.comm));
    }
  }
  meet();
  warm_up(what);
  for (int cycle = 0; options_.run_cycles == 0 || cycle < options_.run_cycles; ++cycle) {
    for (size_t bytes = options_.min_bytes; bytes <= max_bytes_;) {
      measure_size(what, bytes, totals);
      bytes = next_size(options_, bytes);
      if (options_.min_bytes == options_.max_bytes) break;
    }
  }
  if (what.op == Operator::kMulSum)
    for (RankState& rank : ranks_) check(context_, ncclRedOpDestroy(rank.mul_sum, rank.comm));
}

Counts Driver::counts_for(const Case& what, size_t bytes) const {
  const size_t element_bytes = size_of(what.type);
  return test_.counts(bytes / element_bytes, element_bytes, options_.ranks());
}

void Driver::warm_up(const Case& what) {
  for (size_t bytes = options_.min_bytes; bytes <= max_bytes_; bytes = bytes == 0 ? 8 : bytes * 2) {
    const Counts counts = counts_for(what, bytes);
    for (int i = 0; i < options_.warmup_iters; ++i) start(what, counts, false, i);
    complete();
  }
}

void Driver::measure_size(const Case& what, size_t bytes, Totals& totals) {
  Report* report = thread_ == 0 ? context_.report : nullptr;
  const Counts counts = counts_for(what, bytes);
  if (report != nullptr) {
    const bool named = test_.reduces;
    report->begin_row({.bytes = std::max(counts.send, counts.recv) * size_of(what.type),
                       .count = counts.param,
                       .type = accl::name_of(what.type),
                       .op = named ? name_of(what.op) : "none",
                       .root = what.root});
  }
  for (const bool in_place : {false, true}) {
    Measurement measured;
    measured.available = !in_place || test_.in_place;
    if (measured.available) {
      measured = measure(what, bytes, in_place);
      totals.wrong += measured.wrong;
      totals.bus_gbps_sum += measured.bus_gbps;
      ++totals.halves;
    }
    if (report != nullptr) report->add_half(measured);
  }
  if (report != nullptr) report->end_row();
}

Measurement Driver::measure(const Case& what, size_t bytes, bool in_place) {
  const Counts counts = counts_for(what, bytes);
  if (options_.check > 0) fill(what, counts, in_place, 99);
  start(what, counts, in_place, 0);  // a first one outside of the clock
  complete();

  Measurement result;
  result.time_us = time_loop(what, counts, in_place, result.per_iteration);
  const double volume = test_.bytes(counts.param, size_of(what.type), options_.ranks());
  result.alg_gbps = result.time_us > 0 ? volume / result.time_us / 1e3 : 0;
  result.bus_gbps = result.alg_gbps * test_.bus_factor(options_.ranks());
  result.checked = options_.check > 0;
  for (int i = 0; i < options_.check && result.wrong == 0; ++i)
    result.wrong = validate(what, counts, in_place, ++seed_);
  return result;
}

double Driver::time_loop(const Case& what, const Counts& counts, bool in_place,
                         PerIteration& detail) {
  std::vector<double> times_us;
  times_us.reserve(options_.per_iter_timing ? static_cast<size_t>(options_.iters) : 0);
  meet();
  const std::uint64_t begin_ns = now_ns();
  for (int iteration = 0; iteration < options_.iters; ++iteration) {
    const std::uint64_t iteration_ns = now_ns();
    if (options_.agg_iters > 1) check(context_, ncclGroupStart());
    for (int i = 0; i < options_.agg_iters; ++i)
      start(what, counts, in_place, iteration * options_.agg_iters + i);
    if (options_.agg_iters > 1) check(context_, ncclGroupEnd());
    if (options_.blocking == Blocking::kOuterWaitAndBarrier || options_.per_iter_timing) complete();
    if (options_.blocking == Blocking::kOuterWaitAndBarrier) meet();
    if (options_.per_iter_timing)
      times_us.push_back(static_cast<double>(now_ns() - iteration_ns) / kNsPerMicrosecond /
                         options_.agg_iters);
  }
  const std::uint64_t enqueued_ns = now_ns();
  complete();
  const std::uint64_t end_ns = options_.cpu_time ? enqueued_ns : now_ns();
  const double calls = static_cast<double>(options_.iters) * options_.agg_iters;
  const double mine_us = static_cast<double>(end_ns - begin_ns) / kNsPerMicrosecond / calls;
  const double time_us = combine(mine_us, how_to_combine(options_.average));
  if (options_.per_iter_timing) {
    for (double& time : times_us) time = combine(time, Reduce::kMax);
    times_us.erase(times_us.begin(), times_us.begin() + options_.per_iter_skip);
    detail = summarize(std::move(times_us), options_.per_iter_skip);
  }
  return time_us;
}

void Driver::fill(const Case& what, const Counts& counts, bool in_place, std::uint64_t seed) {
  const Problem problem{what.type, what.op, options_.ranks(), seed};
  const size_t element_bytes = size_of(what.type);
  const size_t lead_bytes = static_cast<size_t>(options_.unalign) * element_bytes;
  for (RankState& rank : ranks_) {
    std::byte* input = rank.send + lead_bytes;
    poison(rank.recv + lead_bytes, counts.recv * element_bytes);
    if (in_place)
      input = rank.recv + lead_bytes +
              counts.send_in_place * static_cast<size_t>(rank.rank) * element_bytes;
    fill_input(problem, rank.rank, 0, counts.send, input);
  }
}

std::uint64_t Driver::validate(const Case& what, const Counts& counts, bool in_place,
                               std::uint64_t seed) {
  fill(what, counts, in_place, seed);
  start(what, counts, in_place, 0);
  complete();
  const Problem problem{what.type, what.op, options_.ranks(), seed};
  const size_t element_bytes = size_of(what.type);
  std::uint64_t wrong = 0;
  for (RankState& rank : ranks_) {
    const std::byte* output = rank.recv + static_cast<size_t>(options_.unalign) * element_bytes;
    if (in_place) output += counts.recv_in_place * static_cast<size_t>(rank.rank) * element_bytes;
    for (const Piece& piece : test_.output(counts, options_.ranks(), rank.rank, what.root)) {
      wrong += piece.rank == Piece::kReduced
                   ? count_wrong_reduced(problem, piece.first, piece.count, output)
                   : count_wrong_copied(problem, piece.rank, piece.first, piece.count, output);
      output += piece.count * element_bytes;
    }
  }
  return static_cast<std::uint64_t>(combine(static_cast<double>(wrong), Reduce::kSum));
}

void Driver::start(const Case& what, const Counts& counts, bool in_place, int iteration) {
  // Successive iterations walk through the buffers, so that small sizes are not always in cache.
  const size_t bytes = std::max(counts.send, counts.recv) * size_of(what.type);
  const size_t steps = bytes > 0 ? std::max<size_t>(max_bytes_ / bytes, 1) : 1;
  const size_t shift = bytes * (static_cast<size_t>(iteration) % steps);
  if (options_.devices > 1) check(context_, ncclGroupStart());
  for (RankState& rank : ranks_) call_rank(what, counts, in_place, rank, shift);
  if (options_.devices > 1) check(context_, ncclGroupEnd());
  if (options_.blocking == Blocking::kNo || options_.blocking == Blocking::kOuterWaitAndBarrier)
    return;
  complete();
  if (options_.blocking == Blocking::kWaitAndBarrier) meet();
}

void Driver::call_rank(const Case& what, const Counts& counts, bool in_place, RankState& rank,
                       size_t shift) {
  const size_t element_bytes = size_of(what.type);
  const size_t offset = shift + static_cast<size_t>(options_.unalign) * element_bytes;
  const size_t position = static_cast<size_t>(rank.rank) * element_bytes;
  Call call;
  call.send = rank.send + offset;
  call.recv = rank.recv + offset;
  if (in_place) {
    call.send = rank.recv + offset + counts.send_in_place * position;
    call.recv = rank.recv + offset + counts.recv_in_place * position;
  }
  call.count = counts.param;
  call.type = static_cast<ncclDataType_t>(what.type);
  call.op = what.op == Operator::kMulSum ? rank.mul_sum : plain_operator(what.op);
  call.root = what.root;
  call.comm = rank.comm;
  call.stream = rank.stream;
  check(context_, test_.call(call));
}

void Driver::complete() {
  for (RankState& rank : ranks_)
    if (rank.stream != nullptr) await(rank);
}

void Driver::await(RankState& rank) {
  acclError_t error = acclErrorNotReady;
  if (options_.timeout_s == 0) {
    error = acclStreamSynchronize(rank.stream);
  } else {
    const std::uint64_t deadline_ns =
        now_ns() + static_cast<std::uint64_t>(options_.timeout_s) * kNsPerSecond;
    while ((error = acclStreamQuery(rank.stream)) == acclErrorNotReady) {
      if (now_ns() > deadline_ns)
        fail(context_, kTimeout, fmt::format("Test timeout ({}s)", options_.timeout_s));
      sched_yield();
    }
  }
  if (error == acclSuccess) [[likely]]
    return;
  // A failed operation fails its stream; the communicator knows why.
  ncclResult_t cause = ncclSuccess;
  if (ncclCommGetAsyncError(rank.comm, &cause) == ncclSuccess) check(context_, cause);
  check(context_, error);
}

void Driver::close() {
  for (RankState& rank : ranks_) {
    for (void* handle : rank.registrations) check(context_, ncclCommDeregister(rank.comm, handle));
    for (ncclWindow_t window : rank.windows)
      check(context_, ncclCommWindowDeregister(rank.comm, window));
    check(context_, ncclCommDestroy(rank.comm));
    for (std::byte* buffer : {rank.send, rank.recv}) check(context_, ncclMemFree(buffer));
    if (rank.stream != nullptr) check(context_, acclStreamDestroy(rank.stream));
  }
}

std::vector<DataType> chosen_types(const Options& options) {
  std::vector<DataType> types;
  if (options.type == "all")
    for (int i = 0; i < kDataTypes; ++i) types.push_back(static_cast<DataType>(i));
  else
    types.push_back(type_named(options.type).value_or(DataType::kFloat32));
  return types;
}

std::vector<Operator> chosen_operators(const Options& options, const CollectiveTest& test) {
  std::vector<Operator> operators;
  if (!test.reduces)
    operators.push_back(Operator::kSum);
  else if (options.op == "all")
    for (int i = 0; i < kOperators; ++i) operators.push_back(static_cast<Operator>(i));
  else
    operators.push_back(operator_named(options.op).value_or(Operator::kSum));
  return operators;
}

}  // namespace accl::perf
