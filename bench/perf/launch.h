// -P: starts the processes of a test, waits for them, and lets none outlive the others.
//
// Runs in the process that the user started, which stays single-threaded and never calls the
// library.
#pragma once

#include "bench/perf/options.h"

namespace accl::perf {

/// Starts options.processes copies of this program with the same arguments. Returns the exit code
/// for main(): 0 when all ended well; otherwise that of the first process that did not, or 128 +
/// the number of the signal that ended it (or that ended us).
int run_processes(const Options& options);

}  // namespace accl::perf
