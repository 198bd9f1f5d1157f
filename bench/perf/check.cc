#include "bench/perf/check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace accl::perf {
namespace {

/// Two threads of a process may fail at once; the first one speaks.
std::mutex failure_mutex;

std::string describe(const Place& where) {
  const std::string path = where.file;
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), where.line);
}

}  // namespace

std::string host_name() {
  char name[64] = "unknown";
  gethostname(name, sizeof name - 1);
  return name;
}

void fail(const Context& context, ExitCode code, const std::string& text) {
  failure_mutex.lock();  // never unlocked: the process ends here
  context.team.fail(code);
  fmt::print(stderr, "{}: {}\n .. {} pid {}: Test failure in process {}\n", host_name(), text,
             host_name(), getpid(), context.process);
  if (context.report != nullptr) context.report->fail(text);
  std::fflush(nullptr);
  // Not exit(): the other threads are in the middle of operations that nobody will complete.
  _exit(code);
}

void leave(const Context& context) {
  failure_mutex.lock();
  if (context.report != nullptr) context.report->fail("another process has failed");
  std::fflush(nullptr);
  _exit(context.team.failure());
}

void check(const Context& context, ncclResult_t result, Place where) {
  if (result == ncclSuccess) [[likely]]
    return;
  fail(context, kNccl,
       fmt::format("Test NCCL failure {} '{} / {}'", describe(where), ncclGetErrorString(result),
                   ncclGetLastError(nullptr)));
}

void check(const Context& context, acclError_t error, Place where) {
  if (error == acclSuccess) [[likely]]
    return;
  fail(context, kDevice,
       fmt::format("Test device failure {} '{} / {}'", describe(where), acclGetErrorString(error),
                   acclGetLastErrorText()));
}

}  // namespace accl::perf
