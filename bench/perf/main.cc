// all_reduce_perf and its sisters: one program, told apart by its name.
#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "bench/perf/driver.h"
#include "bench/perf/launch.h"
#include "src/base/thread.h"

namespace accl::perf {
namespace {

std::vector<int> usable_cores() {
  std::vector<int> cores;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<size_t>(core), &mask)) cores.push_back(core);
  return cores;
}

/// What one thread does from beginning to end.
Totals run_thread(const Context& context, const std::vector<Driver*>& drivers, size_t index) {
  const auto meet = [&] {
    if (!context.team.barrier()) leave(context);
  };
  Driver& mine = *drivers[index];
  mine.prepare();
  if (context.options.parallel_init)
    Driver::connect(context, {&mine});
  else if (index == 0)
    Driver::connect(context, drivers);
  meet();
  mine.register_buffers();
  const Totals totals = mine.run();
  meet();
  mine.close();
  return totals;
}

/// Runs the threads of this process. All of them come to the same totals.
Totals run_threads(const Context& context) {
  std::vector<std::unique_ptr<Driver>> owned;
  std::vector<Driver*> drivers;
  for (int i = 0; i < context.options.threads; ++i) {
    owned.push_back(std::make_unique<Driver>(context, i));
    drivers.push_back(owned.back().get());
  }
  std::vector<Thread> threads;
  for (size_t i = 1; i < drivers.size(); ++i) {
    auto started =
        Thread::start("perf", [&context, &drivers, i] { run_thread(context, drivers, i); });
    if (!started.ok()) fail(context, kInternal, started.status().text());
    threads.push_back(std::move(*started));
  }
  const Totals totals = run_thread(context, drivers, 0);
  for (Thread& thread : threads) thread.join();
  return totals;
}

int verdict(const Options& options, const Totals& totals) {
  const bool slow =
      options.min_bandwidth > 0 && totals.mean_bus_gbps() < 0.9 * options.min_bandwidth;
  return totals.wrong > 0 || slow ? kWrongData : kSuccess;
}

/// Names that nccl-tests does not know become the defaults there, with a word about it.
void warn_of_unknown_names(const Options& options) {
  if (options.type != "all" && !type_named(options.type))
    fmt::print("invalid type {}, defaulting to float .. \n", options.type);
  if (options.op != "all" && !operator_named(options.op))
    fmt::print("invalid op {}, defaulting to sum .. \n", options.op);
}

int run_process(const Options& options, const CollectiveTest& test) {
  const auto team = options.worker
                        ? Team::join(options.worker->team_fd, options.members(), options.ranks())
                        : Team::create(options.members(), options.ranks(), false);
  if (team == nullptr) {
    fmt::print(stderr, "{}: no shared memory for the threads to meet: {}\n", options.program,
               strerror(errno));
    return kInternal;
  }
  const int process = options.worker ? options.worker->index : 0;
  const auto report = process == 0 ? std::make_unique<Report>(options, test.name) : nullptr;
  const Context context{options, test, *team, report.get(), process, usable_cores()};
  if (report) {
    if (!report->error().empty()) fail(context, kInternal, report->error());
    warn_of_unknown_names(options);
  }
  const Totals totals = run_threads(context);
  const int code = verdict(options, totals);
  if (report) report->conclude(totals, code);
  return code;
}

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse_options(argc, argv, options)) return *code;
  const CollectiveTest* test = test_named(options.program);
  if (test == nullptr) {
    fmt::print(stderr, "{}: the program's name says which test to run\n", options.program);
    return kInvalidUsage;
  }
  const char* refused = options.graph_launches > 0          ? "-G: the host device has no graphs"
                        : options.device_implementation > 0 ? "-D: the host device has no kernels"
                                                            : nullptr;
  if (refused != nullptr) {
    fmt::print(stderr, "{}: {}\n", options.program, refused);
    return kNotImplemented;
  }
  if (test->rooted && options.root >= options.ranks()) {
    fmt::print(stderr, "{}: root {} is not one of {} ranks\n", options.program, options.root,
               options.ranks());
    return kInvalidUsage;
  }
  if (options.processes > 1 && !options.worker) return run_processes(options);
  return run_process(options, *test);
}

}  // namespace
}  // namespace accl::perf

int main(int argc, char** argv) { return accl::perf::run(argc, argv); }
