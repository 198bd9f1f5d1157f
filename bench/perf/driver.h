// Runs a test: one Driver for each thread, each with `devices` ranks of its own.
//
// Owned by main(); each Driver is used by its own thread. Whatever goes wrong ends the process with
// nccl-tests' exit code, after a message: a rank that left in the middle of an operation cannot be
// waited for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "accl/device.h"
#include "accl/nccl.h"
#include "bench/perf/check.h"
#include "bench/perf/collectives.h"
#include "bench/perf/oracle.h"
#include "bench/perf/report.h"

namespace accl::perf {

/// The buffers and handles of one rank.
struct RankState {
  int rank = 0;
  int device = 0;
  ncclComm_t comm = nullptr;
  acclStream_t stream = nullptr;
  std::byte* send = nullptr;
  std::byte* recv = nullptr;
  ncclRedOp_t mul_sum = ncclSum;  ///< while -o mulsum is measured
  std::vector<void*> registrations;
  std::vector<ncclWindow_t> windows;
};

class Driver {
 public:
  /// `thread` counts within the process; thread 0 of process 0 writes the report.
  Driver(const Context& context, int thread);

  /// Buffers and streams, and what rank 0 prints about these ranks.
  void prepare();
  /// Creates the communicators of these drivers in one group.
  static void connect(const Context& context, const std::vector<Driver*>& drivers);
  /// Registers buffers, when asked for; after connect().
  void register_buffers();
  /// Runs the whole sweep. All drivers get the same totals.
  Totals run();
  void close();

 private:
  struct Case {  // what one sweep measures
    DataType type;
    Operator op;
    int root;
  };

  int member() const;
  void limit_bytes();
  void pin();
  void describe(const RankState& rank);
  void sweep(const Case& what, Totals& totals);
  void measure_size(const Case& what, size_t bytes, Totals& totals);
  void warm_up(const Case& what);
  Measurement measure(const Case& what, size_t bytes, bool in_place);
  double time_loop(const Case& what, const Counts& counts, bool in_place, PerIteration& detail);
  std::uint64_t validate(const Case& what, const Counts& counts, bool in_place, std::uint64_t seed);
  void fill(const Case& what, const Counts& counts, bool in_place, std::uint64_t seed);
  void start(const Case& what, const Counts& counts, bool in_place, int iteration);
  void call_rank(const Case& what, const Counts& counts, bool in_place, RankState& rank,
                 size_t shift);
  void complete();
  void await(RankState& rank);
  void meet();
  double combine(double value, Reduce how);
  Counts counts_for(const Case& what, size_t bytes) const;

  const Context& context_;
  const Options& options_;
  const CollectiveTest& test_;
  int thread_;
  std::uint64_t seed_ = 0;
  int core_ = -1;         ///< -1: not pinned
  size_t max_bytes_ = 0;  ///< -e, or less where memory is short
  size_t buffer_bytes_ = 0;
  std::vector<RankState> ranks_;
};

/// What -d, -o and -r ask for; unknown names are reported and replaced, as nccl-tests does it.
std::vector<DataType> chosen_types(const Options& options);
std::vector<Operator> chosen_operators(const Options& options, const CollectiveTest& test);

}  // namespace accl::perf
