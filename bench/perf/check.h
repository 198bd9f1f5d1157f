// What the threads of one process share, and how any of them ends it.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "accl/device.h"
#include "accl/nccl.h"
#include "bench/perf/collectives.h"
#include "bench/perf/options.h"
#include "bench/perf/report.h"
#include "bench/perf/team.h"

namespace accl::perf {

/// One for each process, constant while the threads run.
struct Context {
  const Options& options;
  const CollectiveTest& test;
  Team& team;
  Report* report = nullptr;  ///< of the first process; null elsewhere
  int process = 0;
  std::vector<int> cores;  ///< that this process may use, as it was started
};

/// Says what happened, tells the other processes, and ends this one.
[[noreturn]] void fail(const Context& context, ExitCode code, const std::string& text);
/// Ends this process, with the same code, after another one has failed and has said why.
[[noreturn]] void leave(const Context& context);

/// Fails unless the call succeeded; `comm` is asked for nothing, the text is the library's last.
void check(const Context& context, ncclResult_t result,
           std::source_location where = std::source_location::current());
void check(const Context& context, acclError_t error,
           std::source_location where = std::source_location::current());

std::string host_name();

}  // namespace accl::perf
