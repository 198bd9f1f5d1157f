#include "bench/perf/report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "accl/nccl.h"

namespace accl::perf {
namespace {

using nlohmann::ordered_json;

/// The version of nccl-tests whose flags and columns these are.
constexpr const char* kLikeVersion = "2.19.6";

std::string time_of_day() {
  const time_t now = time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

/// nccl-tests writes its booleans as words.
const char* word(bool value) { return value ? "true" : "false"; }

double percentile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::min(rank > 0 ? rank - 1 : 0, sorted.size() - 1)];
}

ordered_json describe(const PerIteration& it) {
  return {{"skipped_iterations", it.skipped},
          {"min_us", it.min_us},
          {"max_us", it.max_us},
          {"avg_us", it.mean_us},
          {"p50_us", it.p50_us},
          {"p95_us", it.p95_us},
          {"p99_us", it.p99_us},
          {"stdev_us", it.deviation_us},
          {"cv_pct", it.variation_percent},
          {"times_us", it.times_us}};
}

ordered_json describe(const Options& o) {
  ordered_json config = {{"nthreads", o.threads},
                         {"ngpus", o.devices},
                         {"nprocs", o.processes},
                         {"minimum_bytes", o.min_bytes},
                         {"maximum_bytes", o.max_bytes}};
  if (o.step_factor > 1)
    config["step_factor"] = o.step_factor;
  else
    config["step_bytes"] = o.step_bytes;
  config["warmup_iters"] = o.warmup_iters;
  config["iterations"] = o.iters;
  config["aggregated_iterations"] = o.agg_iters;
  config["validation"] = o.check;
  config["graph"] = o.graph_launches;
  config["blocking_collectives"] = word(o.blocking != Blocking::kNo);
  config["per_iter_timing"] = word(o.per_iter_timing);
  config["per_iter_skip"] = o.per_iter_skip;
  config["parallel_init"] = word(o.parallel_init);
  config["devices"] = ordered_json::array();
  return config;
}

/// Creates `path` or, where that exists, the first free `path.N`. -1 on other errors.
int open_new(const std::string& path) {
  for (int i = 0; i < 10000; ++i) {
    const std::string name = i == 0 ? path : fmt::format("{}.{}", path, i);
    const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

}  // namespace

std::string fit(double value, int width) {
  int digits = 0;
  for (double limit = 1; value >= limit && digits < 20; limit *= 10) ++digits;
  if (digits < width - 2) return fmt::format("{:{}.2f}", value, width);
  if (digits < width - 1) return fmt::format("{:{}.1f}", value, width);
  if (digits < width + 1) return fmt::format("{:{}.0f}", value, width);
  return fmt::format("{:{}.{}e}", value, width, width >= 7 ? 1 : 0);
}

PerIteration summarize(std::vector<double> times_us, int skipped) {
  PerIteration result;
  std::vector<double> sorted = times_us;
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  result.skipped = skipped;
  result.min_us = sorted.front();
  result.max_us = sorted.back();
  result.mean_us = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  result.p50_us = percentile(sorted, 0.50);
  result.p95_us = percentile(sorted, 0.95);
  result.p99_us = percentile(sorted, 0.99);
  double squares = 0;
  for (const double time : sorted) squares += (time - result.mean_us) * (time - result.mean_us);
  result.deviation_us = std::sqrt(squares / count);
  result.variation_percent = result.mean_us > 0 ? 100 * result.deviation_us / result.mean_us : 0;
  result.times_us = std::move(times_us);
  return result;
}

struct Report::Json {
  ordered_json document;
  ordered_json row;
  int fd = -1;

  void write() {
    document["end_time"] = time_of_day();
    const std::string text = document.dump() + "\n";
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
      if (wrote <= 0) break;
      done += static_cast<size_t>(wrote);
    }
    if (done < text.size()) fmt::print(stderr, "cannot write JSON: {}\n", strerror(errno));
    close(fd);
    fd = -1;
  }
};

Report::Report(const Options& options, std::string_view test) : options_(options), test_(test) {
  if (options.json_path.empty()) return;
  json_ = std::make_unique<Json>();
  json_->fd = open_new(options.json_path);
  if (json_->fd < 0)
    error_ = fmt::format("cannot create '{}': {}", options.json_path, strerror(errno));
  // No "env": the environment of a job may hold secrets.
  json_->document = {{"version", 3},
                     {"start_time", time_of_day()},
                     {"args", options.args},
                     {"config", describe(options)},
                     {"results", ordered_json::array()}};
}

Report::~Report() = default;

void Report::show_header(Team& team, int library_version) {
  const Options& o = options_;
  fmt::print("# {} (flags and columns of nccl-tests {}) nccl-headers={} nccl-library={}\n",
             o.program, kLikeVersion, NCCL_VERSION_CODE, library_version);
  fmt::print("# Collective test starting: {}\n", o.program);
  fmt::print(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg "
      "iters: {} validation: {} graph: {} unalign: {}\n",
      o.threads, o.devices, o.min_bytes, o.max_bytes,
      o.step_factor > 1 ? static_cast<size_t>(o.step_factor) : o.step_bytes,
      o.step_factor > 1 ? "factor" : "bytes", o.warmup_iters, o.iters, o.agg_iters, o.check,
      o.graph_launches, o.unalign);
  if (o.processes > 1)
    fmt::print("# Processes: {} Pinning: {}\n", o.processes,
               team.line(0).core >= 0 ? "each thread to one core" : "none");
  if (o.blocking != Blocking::kNo)
    fmt::print("# Blocking Enabled: {}\n", static_cast<int>(o.blocking));
  if (o.per_iter_timing) fmt::print("# Per-Iteration Report: skip {}\n", o.per_iter_skip);
  if (o.parallel_init)
    fmt::print("# Parallel Init Enabled: threads call into NcclInit concurrently\n");
  fmt::print("#\n# Using devices\n");
  for (int rank = 0; rank < o.ranks(); ++rank) {
    const RankLine& line = team.line(rank);
    fmt::print("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [0000:00:{:02x}] {}\n", rank,
               0, line.pid, line.host.data(), line.device, line.device & 0xff, line.name.data());
    if (!json_) continue;
    json_->document["config"]["devices"].push_back({{"rank", rank},
                                                    {"group", 0},
                                                    {"pid", line.pid},
                                                    {"hostname", line.host.data()},
                                                    {"device", line.device},
                                                    {"device_info", line.name.data()}});
  }
  if (json_) json_->document["nccl_version"] = library_version;
  show_column_names();
}

void Report::show_column_names() const {
  const char* time = options_.cpu_time ? "cputime" : "time";
  const std::string extra =
      options_.per_iter_timing
          ? fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "i_min", "i_max", "i_p99", "i_cv%")
          : "";
  const std::string extra_units =
      options_.per_iter_timing
          ? fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "(us)", "(us)", "(us)", "(%)")
          : "";
  const std::string pad(extra.size(), ' ');
  const auto half = [&](const char* a, const char* b, const char* c, const char* d,
                        const std::string& more) {
    return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}{}", a, b, c, d, more);
  };
  const std::string names = half(time, "algbw", "busbw", "#wrong", extra);
  const std::string units = half("(us)", "(GB/s)", "(GB/s)", "", extra_units);
  const bool stamp = options_.timestamps;
  fmt::print(
      "#\n# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}           out-of-place          {}             "
      "in-place          \n",
      "", "", "", "", "", pad);
  fmt::print("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}{}\n", "size", "count", "type", "redop",
             "root", names, names, stamp ? fmt::format(" {:>20}", "timestamp") : "");
  fmt::print("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}{}\n", "(B)", "(elements)", "", "", "",
             units, units, stamp ? fmt::format(" {:>20}", "%Y-%m-%d %H:%M:%S") : "");
  std::fflush(stdout);
}

void Report::begin_row(const Row& row) {
  second_half_ = false;
  fmt::print("{:12}  {:12}  {:>8}  {:>6}  {:>6}", row.bytes, row.count, row.type, row.op, row.root);
  std::fflush(stdout);
  if (!json_) return;
  json_->row = {{"size", row.bytes},
                {"count", row.count},
                {"type", row.type},
                {"redop", row.op},
                {"root", fmt::format("{:>6}", row.root)}};
}

void Report::add_half(const Measurement& m) {
  const bool graded = m.available && m.checked;
  if (!m.available) {
    fmt::print("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
  } else {
    fmt::print("  {}  {}  {}", fit(m.time_us, 7), fit(m.alg_gbps, 6), fit(m.bus_gbps, 6));
    fmt::print("  {:>6}", graded ? fmt::format("{:g}", static_cast<double>(m.wrong)) : "N/A");
  }
  const PerIteration& it = m.per_iteration;
  if (options_.per_iter_timing && m.available)
    fmt::print("  {}  {}  {}  {}", fit(it.min_us, 7), fit(it.max_us, 7), fit(it.p99_us, 7),
               fit(it.variation_percent, 7));
  if (options_.per_iter_timing && !m.available)
    fmt::print("  {:>7}  {:>7}  {:>7}  {:>7}", "N/A", "N/A", "N/A", "N/A");
  std::fflush(stdout);
  if (json_) {
    const std::string half = second_half_ ? "in_place" : "out_of_place";
    ordered_json& entry = json_->row[half];
    if (m.available)
      entry = {{options_.cpu_time ? "cpu_time" : "time", m.time_us},
               {"alg_bw", m.alg_gbps},
               {"bus_bw", m.bus_gbps}};
    entry["nwrong"] = graded ? ordered_json(m.wrong) : ordered_json(nullptr);
    if (options_.per_iter_timing && m.available) json_->row[half + "_per_iter"] = describe(it);
  }
  second_half_ = true;
}

void Report::end_row() {
  if (options_.timestamps) fmt::print("{:>21}", time_of_day());
  fmt::print("\n");
  std::fflush(stdout);
  if (!json_) return;
  json_->row["actual_iterations"] = options_.iters;
  json_->row["experiment_name"] = options_.program;
  json_->document["results"].push_back(std::move(json_->row));
}

void Report::conclude(const Totals& totals, int code) {
  const bool right = totals.wrong == 0;
  const double mean = totals.mean_bus_gbps();
  const bool graded = options_.min_bandwidth > 0;
  const bool fast = mean >= 0.9 * options_.min_bandwidth;
  const char* verdict = !graded ? "" : fast ? "OK" : "FAILED";
  fmt::print("# {:<20} : {} {}\n", "Out of bounds values", totals.wrong, right ? "OK" : "FAILED");
  fmt::print("# {:<20} : {:g} {}\n#\n", "Avg bus bandwidth", mean, verdict);
  fmt::print("# Collective test concluded: {}\n#\n\n", options_.program);
  std::fflush(stdout);
  if (!json_) return;
  json_->document["out_of_bounds"] = {{"count", totals.wrong}, {"okay", word(right)}};
  json_->document["average_bus_bandwidth"] = {{"bandwidth", mean},
                                              {"okay", graded ? word(fast) : "unchecked"}};
  json_->document["errors"] = {code == kSuccess ? "" : "wrong data or too little bandwidth"};
  json_->write();
}

void Report::fail(const std::string& text) {
  fmt::print("\n# error: {}\n", text);
  std::fflush(stdout);
  if (!json_ || json_->fd < 0) return;
  json_->document["errors"] = {text};
  json_->write();
}

}  // namespace accl::perf
