// What the threads of one process share, and how any of them ends it.
#pragma once

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

/// Where a call stands. Clang 14 has no std::source_location with this standard library.
struct Place {
  const char* file;
  int line;
  static Place current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// Fails unless the call succeeded; `comm` is asked for nothing, the text is the library's last.
void check(const Context& context, ncclResult_t result, Place where = Place::current());
void check(const Context& context, acclError_t error, Place where = Place::current());

std::string host_name();

}  // namespace accl::perf
