#include "src/api/last_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>

#include "src/base/log.h"

namespace accl {

namespace {

using Text = std::array<char, kLastErrorBytes>;

std::mutex last_error_mutex;
Text last_error_text{};

}  // namespace

void renew_last_error() { new (&last_error_mutex) std::mutex; }

void record_error(std::string_view text) {
  {
    const std::lock_guard lock(last_error_mutex);
    const size_t length = std::min(text.size(), last_error_text.size() - 1);
    std::copy_n(text.data(), length, last_error_text.begin());
    last_error_text[length] = '\0';
  }
  ACCL_LOG(kWarn, kInit, "{}", text);
}

ncclResult_t refuse(std::string_view function) {
  std::array<char, 128> text{};
  const auto end =
      fmt::format_to_n(text.data(), text.size(),
                       "{} is not available in this version: see docs/compat.md", function);
  record_error({text.data(), std::min(end.size, text.size())});
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
