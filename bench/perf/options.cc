#include "bench/perf/options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

namespace accl::perf {
namespace {

/// One row for each option: letter, long name, what it takes, how it is stored. Everything the
/// parser, the usage text and getopt need comes from here.
struct Row {
  char letter;  ///< 0: long form only
  const char* name;
  const char* value;  ///< shown in the usage text; null: takes none
  const char* help;
  std::function<bool(Options&, const std::string&)> store;  ///< false: not a legal value
};

bool store_int(int& target, const std::string& text, int least, int most) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 0);
  if (end == text.c_str() || *end != '\0' || value < least || value > most) return false;
  target = static_cast<int>(value);
  return true;
}

bool store_flag(bool& target, const std::string& text) {
  int value = 0;
  if (!store_int(value, text, 0, 1)) return false;
  target = value != 0;
  return true;
}

bool store_bytes(size_t& target, const std::string& text) {
  const auto value = parse_bytes(text);
  if (value) target = *value;
  return value.has_value();
}

template <class Enum>
bool store_enum(Enum& target, const std::string& text) {
  int value = 0;
  if (!store_int(value, text, 0, 3)) return false;
  target = static_cast<Enum>(value);
  return true;
}

/// As strtol does it in nccl-tests: a word such as "all" is 0.
bool store_root(int& target, const std::string& text) {
  target = static_cast<int>(std::strtol(text.c_str(), nullptr, 0));
  return target >= -1;
}

bool store_worker(Options& options, const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  WorkerId id;
  if (!store_int(id.index, text.substr(0, colon), 0, 1 << 20)) return false;
  if (!store_int(id.team_fd, text.substr(colon + 1), 0, 1 << 20)) return false;
  options.worker = id;
  return true;
}

constexpr int kMany = 1 << 30;

/// Where the work is done, and on what.
std::vector<Row> shape_rows() {
  return {
      {'P', "procs", "N", "processes to start here (not in nccl-tests)",
       [](Options& o, const std::string& v) { return store_int(o.processes, v, 1, 1024); }},
      {'t', "nthreads", "N", "threads per process",
       [](Options& o, const std::string& v) { return store_int(o.threads, v, 1, 1024); }},
      {'g', "ngpus", "N", "devices per thread",
       [](Options& o, const std::string& v) { return store_int(o.devices, v, 1, 1024); }},
      {'b', "minbytes", "SIZE", "smallest size",
       [](Options& o, const std::string& v) { return store_bytes(o.min_bytes, v); }},
      {'e', "maxbytes", "SIZE", "largest size",
       [](Options& o, const std::string& v) { return store_bytes(o.max_bytes, v); }},
      {'i', "stepbytes", "SIZE", "step between sizes, added",
       [](Options& o, const std::string& v) { return store_bytes(o.step_bytes, v); }},
      {'f', "stepfactor", "N", "step between sizes, multiplied",
       [](Options& o, const std::string& v) { return store_int(o.step_factor, v, 1, kMany); }},
      {'o', "op", "OP", "sum prod max min avg mulsum all",
       [](Options& o, const std::string& v) {
         o.op = v;
         return true;
       }},
      {'d', "datatype", "TYPE",
       "int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2 all",
       [](Options& o, const std::string& v) {
         o.type = v;
         return true;
       }},
      {'r', "root", "RANK", "root of rooted operations, -1 for every one",
       [](Options& o, const std::string& v) { return store_root(o.root, v); }},
      {'u', "unalign", "N", "elements by which the buffers are shifted",
       [](Options& o, const std::string& v) { return store_int(o.unalign, v, 0, 1 << 20); }},
      {0, "pin", "0/1", "with -P, one core for each thread if there are enough (not in nccl-tests)",
       [](Options& o, const std::string& v) { return store_flag(o.pin, v); }},
      {0, "worker", "INDEX:FD", "internal: a process that -P has started", store_worker},
  };
}

/// How often, and how it is measured.
std::vector<Row> timing_rows() {
  return {
      {'n', "iters", "N", "timed iterations",
       [](Options& o, const std::string& v) { return store_int(o.iters, v, 1, kMany); }},
      {'w', "warmup_iters", "N", "iterations before",
       [](Options& o, const std::string& v) { return store_int(o.warmup_iters, v, 0, kMany); }},
      {'m', "agg_iters", "N", "operations in a group in each iteration",
       [](Options& o, const std::string& v) { return store_int(o.agg_iters, v, 1, kMany); }},
      {'N', "run_cycles", "N", "times the whole sweep is run, 0 for ever",
       [](Options& o, const std::string& v) { return store_int(o.run_cycles, v, 0, kMany); }},
      {'p', "parallel_init", "0/1", "create communicators from the threads",
       [](Options& o, const std::string& v) { return store_flag(o.parallel_init, v); }},
      {'c', "check", "N", "validations of each size, 0 for none",
       [](Options& o, const std::string& v) { return store_int(o.check, v, 0, kMany); }},
      {'z', "blocking", "0-3", "1 wait and barrier, 2 wait, 3 wait and barrier per outer iteration",
       [](Options& o, const std::string& v) { return store_enum(o.blocking, v); }},
      {'y', "stream_null", "0/1", "use the NULL stream",
       [](Options& o, const std::string& v) { return store_flag(o.stream_null, v); }},
      {'T', "timeout", "SECONDS", "give up when one test takes longer, 0 for never",
       [](Options& o, const std::string& v) { return store_int(o.timeout_s, v, 0, kMany); }},
      {'a', "average", "0-3", "time shown: 0 rank 0's, 1 mean, 2 min, 3 max",
       [](Options& o, const std::string& v) { return store_enum(o.average, v); }},
      {'I', "per_iter_timing", "0/1", "time each iteration, extra columns",
       [](Options& o, const std::string& v) { return store_flag(o.per_iter_timing, v); }},
      {'K', "per_iter_skip", "N", "iterations left out of those columns",
       [](Options& o, const std::string& v) { return store_int(o.per_iter_skip, v, 0, kMany); }},
  };
}

/// What is printed, and which features of the library are used.
std::vector<Row> feature_rows() {
  return {
      {'G', "cudagraph", "N", "graph launches (the host device has no graphs: refused)",
       [](Options& o, const std::string& v) { return store_int(o.graph_launches, v, 0, kMany); }},
      {'C', "report_cputime", "0/1", "show the time to enqueue instead",
       [](Options& o, const std::string& v) { return store_flag(o.cpu_time, v); }},
      {'S', "report_timestamps", "0/1", "add the time of day to each row",
       [](Options& o, const std::string& v) { return store_flag(o.timestamps, v); }},
      {'J', "output_file", "FILE", "write the results as JSON",
       [](Options& o, const std::string& v) {
         o.json_path = v;
         return !v.empty();
       }},
      {'R', "local_register", "0-2", "register buffers: 1 ncclCommRegister, 2 as windows",
       [](Options& o, const std::string& v) { return store_int(o.local_register, v, 0, 2); }},
      {'x', "cta_policy", "0-2", "ncclConfig_t.CTAPolicy",
       [](Options& o, const std::string& v) {
         return store_int(o.cta_policy.emplace(0), v, 0, 2);
       }},
      {'D', "device_implementation", "N", "kernels on the device side (the host has none: refused)",
       [](Options& o, const std::string& v) {
         return store_int(o.device_implementation, v, 0, kMany);
       }},
      {'V', "device_cta_count", "1-128", "accepted for -D",
       [](Options&, const std::string& v) {
         int ignored = 0;
         return store_int(ignored, v, 1, 128);
       }},
      {'M', "memory", "0/1", "ask the library for its memory use (ncclCommMemStats)",
       [](Options& o, const std::string& v) { return store_flag(o.memory_report, v); }},
      {'h', "help", nullptr, "this text", [](Options&, const std::string&) { return true; }},
  };
}

std::vector<Row> all_rows() {
  std::vector<Row> rows = shape_rows();
  for (auto* more : {&timing_rows, &feature_rows})
    for (Row& row : (*more)()) rows.push_back(std::move(row));
  return rows;
}

void print_usage(std::FILE* file, const std::string& program, const std::vector<Row>& rows) {
  fmt::print(file, "USAGE: {} [options]\n", program);
  for (const Row& row : rows) {
    if (std::string_view(row.name) == "worker") continue;
    const std::string letter = row.letter != 0 ? fmt::format("-{},", row.letter) : "   ";
    const std::string name = fmt::format("--{} {}", row.name, row.value ? row.value : "");
    fmt::print(file, "  {:<4}{:<32} {}\n", letter, name, row.help);
  }
  fmt::print(file, "Ranks = processes x threads x devices. SIZE takes K, M or G.\n");
}

int usage_error(const std::string& program, const std::vector<Row>& rows, const std::string& text) {
  fmt::print(stderr, "{}: {}\n", program, text);
  print_usage(stderr, program, rows);
  return kUsage;
}

/// What does not depend on a single option. Empty when all is well.
std::string inconsistency(const Options& options) {
  if (options.min_bytes > options.max_bytes)
    return fmt::format("invalid sizes: minbytes {} is larger than maxbytes {}", options.min_bytes,
                       options.max_bytes);
  if (options.step_factor == 1 && options.step_bytes == 0 && options.min_bytes != options.max_bytes)
    return "invalid step: -i 0 would never reach maxbytes";
  if (options.device_implementation != 0 && options.local_register != 2)
    return "-D needs -R 2 (windows)";
  if (options.per_iter_timing && options.per_iter_skip >= options.iters)
    return fmt::format("-K {} would skip all of -n {} iterations", options.per_iter_skip,
                       options.iters);
  if (options.worker && options.worker->index >= options.processes)
    return "--worker is not for people: use -P";
  return {};
}

/// NCCL_TESTS_*, the settings that nccl-tests takes from the environment. Empty when all is well.
std::string read_environment(Options& options) {
  if (const char* device = std::getenv("NCCL_TESTS_DEVICE"))
    if (!store_int(options.first_device, device, 0, 1 << 20))
      return fmt::format("NCCL_TESTS_DEVICE is not a device number: '{}'", device);
  if (const char* bandwidth = std::getenv("NCCL_TESTS_MIN_BW")) {
    char* end = nullptr;
    options.min_bandwidth = std::strtod(bandwidth, &end);
    if (end == bandwidth || !(options.min_bandwidth >= 0))
      return fmt::format("NCCL_TESTS_MIN_BW is not a bandwidth in GB/s: '{}'", bandwidth);
  }
  for (const char* name : {"NCCL_TESTS_SPLIT", "NCCL_TESTS_SPLIT_MASK"})
    if (std::getenv(name) != nullptr) return fmt::format("{} is not supported here", name);
  // Each process of mpirun or srun would run a test of its own. (SLURM_NTASKS is no sign of that: a
  // batch script, which runs once, has it too.)
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* size = std::getenv(name);
    if (size != nullptr && std::atoi(size) > 1 && options.processes == 1)
      return fmt::format(
          "started {} times by a launcher ({}): start it once, with -P {} for that many processes",
          size, name, size);
  }
  return {};
}

void remember_arguments(int argc, char** argv, Options& options) {
  const std::string path = argv[0];
  options.program = path.substr(path.rfind('/') + 1);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with("--worker=")) continue;
    options.args.emplace_back(argv[i]);
  }
}

}  // namespace

std::optional<size_t> parse_bytes(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number) || number < 0) return std::nullopt;
  double unit = 1;
  switch (*end) {
    case '\0':
      break;
    case 'K':
    case 'k':
      unit = 1024.0;
      break;
    case 'M':
    case 'm':
      unit = 1024.0 * 1024;
      break;
    case 'G':
    case 'g':
      unit = 1024.0 * 1024 * 1024;
      break;
    default:
      return std::nullopt;
  }
  if (number * unit > 0x1p62) return std::nullopt;
  return static_cast<size_t>(number * unit);
}

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  remember_arguments(argc, argv, options);
  const std::vector<Row> rows = all_rows();
  std::string letters;
  std::vector<option> names;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int argument = rows[i].value ? required_argument : no_argument;
    names.push_back({rows[i].name, argument, nullptr, static_cast<int>(i) + 256});
    if (rows[i].letter == 0) continue;
    letters += rows[i].letter;
    if (rows[i].value) letters += ':';
  }
  names.push_back({nullptr, 0, nullptr, 0});

  for (int found;
       (found = getopt_long(argc, argv, letters.c_str(), names.data(), nullptr)) != -1;) {
    if (found == '?') return usage_error(options.program, rows, "invalid option");
    size_t index = static_cast<size_t>(found) - 256;
    if (found < 256)
      for (index = 0; rows[index].letter != found;) ++index;
    const Row& row = rows[index];
    if (row.letter == 'h') {
      print_usage(stdout, options.program, rows);
      return kSuccess;
    }
    if (!row.store(options, optarg))
      return usage_error(options.program, rows,
                         fmt::format("invalid value '{}' for --{}", optarg, row.name));
  }
  if (optind < argc)
    return usage_error(options.program, rows,
                       fmt::format("unexpected argument '{}'", argv[optind]));
  for (const std::string& trouble : {inconsistency(options), read_environment(options)})
    if (!trouble.empty()) return usage_error(options.program, rows, trouble);
  return std::nullopt;
}

}  // namespace accl::perf
