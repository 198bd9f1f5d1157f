// What rank 0 shows: the table, with nccl-tests' columns, and the same as JSON on request.
//
// Owned by main() of the first process and used by its first thread alone, except fail(), which any
// thread of that process may call (once: the process ends after it).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/perf/options.h"
#include "bench/perf/team.h"

namespace accl::perf {

/// Statistics of -I, in microseconds.
struct PerIteration {
  int skipped = 0;
  std::vector<double> times_us;  ///< of the slowest rank, in order, without the skipped ones
  double min_us = 0, max_us = 0, mean_us = 0, p50_us = 0, p95_us = 0, p99_us = 0;
  double deviation_us = 0, variation_percent = 0;
};
/// Computes the statistics of `times_us`, which must not be empty.
PerIteration summarize(std::vector<double> times_us, int skipped);

/// One half of a row.
struct Measurement {
  double time_us = 0;
  double alg_gbps = 0;
  double bus_gbps = 0;
  std::uint64_t wrong = 0;
  bool checked = false;
  bool available = true;  ///< false: this collective has no such half
  PerIteration per_iteration;
};

/// The left part of a row.
struct Row {
  size_t bytes = 0;
  size_t count = 0;
  std::string_view type;
  std::string_view op;
  int root = -1;
};

struct Totals {
  std::uint64_t wrong = 0;
  double bus_gbps_sum = 0;
  int halves = 0;
  double mean_bus_gbps() const { return halves > 0 ? bus_gbps_sum / halves : 0; }
};

class Report {
 public:
  /// Opens the JSON file, if one is asked for; `error()` says when that failed.
  Report(const Options& options, std::string_view test);
  ~Report();
  const std::string& error() const { return error_; }

  void show_header(Team& team, int library_version);
  void begin_row(const Row& row);
  /// First out of place, then in place.
  void add_half(const Measurement& measurement);
  void end_row();
  /// The footer; `code` is what the process will return.
  void conclude(const Totals& totals, int code);
  /// The footer's place is taken by an error.
  void fail(const std::string& text);

 private:
  struct Json;
  void show_column_names() const;
  const Options& options_;
  std::string test_;
  std::string error_;
  bool second_half_ = false;
  std::unique_ptr<Json> json_;
};

/// A number in `width` columns, with as many decimals as fit, at most two (nccl-tests' rule).
std::string fit(double value, int width);

}  // namespace accl::perf
