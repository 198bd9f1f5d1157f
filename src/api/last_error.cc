#include "src/api/last_error.h"

#include <fmt/format.h>

#include <array>
#include <mutex>
#include <new>

#include "accl/device.h"
#include "src/base/log.h"

namespace accl {

namespace {

using Text = std::array<char, kLastErrorBytes>;

std::mutex last_error_mutex;
Text last_error_text{};

void keep(std::string_view function, std::string_view between, std::string_view text) {
  const std::lock_guard lock(last_error_mutex);
  const auto end = fmt::format_to_n(last_error_text.begin(), last_error_text.size() - 1, "{}{}{}",
                                    function, between, text);
  *end.out = '\0';
}

// As in NCCL, a line of a call carries the calling thread's device. No memory, no line.
void log_here(std::string_view function, std::string_view text) {
  try {
    int device = -1;
    if (acclGetDevice(&device) != acclSuccess) device = -1;
    const LogScope scope(device);
    log_api_error(function, text);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

void renew_last_error() { new (&last_error_mutex) std::mutex; }

void record_error(std::string_view function, const Status& status) {
  keep(function, function.empty() ? "" : ": ", status.text());
  if (!status.logged()) log_here(function, status.text());
}

ncclResult_t refuse(std::string_view function) {
  constexpr std::string_view kWhy = "is not available in this version: see docs/compat.md";
  keep(function, " ", kWhy);
  log_here(function, kWhy);
  return ncclInvalidUsage;
}

const char* last_error() {
  // A copy per thread: another thread's error must not change the text while this one reads it.
  thread_local Text mine{};
  const std::lock_guard lock(last_error_mutex);
  mine = last_error_text;
  return mine.data();
}

}  // namespace accl
