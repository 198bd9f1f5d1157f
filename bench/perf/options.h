// The command line of the performance tests: nccl-tests' letters and meanings, plus -P and --pin.
//
// A plain value, filled once at the start of the process and read by every thread afterwards.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace accl::perf {

/// Exit codes of nccl-tests (testResult_t); kUsage is what its `return -1` becomes in a shell.
enum ExitCode : int {
  kSuccess = 0,
  kInternal = 1,
  kDevice = 2,
  kNccl = 3,
  kTimeout = 4,
  kNotImplemented = 5,
  kInvalidUsage = 6,
  kWrongData = 7,  ///< wrong elements, or average bandwidth below NCCL_TESTS_MIN_BW
  kUsage = 255,
};

/// How -a combines the times of the ranks into the one that is printed.
enum class Average : int { kRankZero = 0, kMean = 1, kMin = 2, kMax = 3 };

/// When -z waits for an operation: never before the end, or after each one, with or without
/// barrier.
enum class Blocking : int { kNo = 0, kWaitAndBarrier = 1, kWait = 2, kOuterWaitAndBarrier = 3 };

/// A process started by -P: which one it is, and where it finds the others.
struct WorkerId {
  int index = 0;  ///< 0 .. processes - 1
  int team_fd = -1;
};

struct Options {
  std::string program;            ///< base name of argv[0]
  std::vector<std::string> args;  ///< argv without argv[0] and without --worker
  int processes = 1;              ///< -P
  int threads = 1;                ///< -t, in each process
  int devices = 1;                ///< -g, in each thread
  size_t min_bytes = size_t{32} << 20;
  size_t max_bytes = size_t{32} << 20;
  size_t step_bytes = size_t{1} << 20;
  int step_factor = 1;  ///< 1: steps are added, not multiplied
  int iters = 20;
  int warmup_iters = 1;
  int agg_iters = 1;
  int run_cycles = 1;  ///< 0: for ever
  bool parallel_init = false;
  int check = 1;  ///< how often every size is validated; 0: never
  std::string op = "sum";
  std::string type = "float";
  int root = 0;  ///< -1: every root
  Blocking blocking = Blocking::kNo;
  bool stream_null = false;
  int timeout_s = 0;  ///< 0: none
  int graph_launches = 0;
  bool cpu_time = false;
  bool timestamps = false;
  std::string json_path;  ///< empty: none
  Average average = Average::kMean;
  int local_register = 0;         ///< 1: ncclCommRegister, 2: ncclCommWindowRegister
  std::optional<int> cta_policy;  ///< unset: the library's default
  int device_implementation = 0;
  bool memory_report = false;
  int unalign = 0;  ///< elements by which the buffers are shifted
  bool per_iter_timing = false;
  int per_iter_skip = 0;
  bool pin = true;           ///< --pin: with -P, a core for each thread when there are enough
  int first_device = 0;      ///< NCCL_TESTS_DEVICE
  double min_bandwidth = 0;  ///< NCCL_TESTS_MIN_BW, GB/s; 0: not checked
  std::optional<WorkerId> worker;

  int ranks() const { return processes * threads * devices; }
  /// Threads that meet at the barriers: one for each `devices` ranks.
  int members() const { return processes * threads; }
};

/// Reads argv and the NCCL_TESTS_* environment. Returns the exit code when the process should end
/// at once (help, bad values), after having said why; otherwise nothing, and `options` is complete.
std::optional<int> parse_options(int argc, char** argv, Options& options);

/// "8", "64M", "1.5K", "2GB": bytes, binary units; only the first letter of the unit counts.
std::optional<size_t> parse_bytes(const std::string& text);

}  // namespace accl::perf
