#include "device/host/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace accl::host {
namespace {

thread_local std::array<char, 512> last_text{};

}  // namespace

acclError_t fail(acclError_t error, std::string_view text) {
  const size_t bytes = std::min(text.size(), last_text.size() - 1);
  std::memcpy(last_text.data(), text.data(), bytes);
  last_text[bytes] = '\0';
  return error;
}

const char* last_error_text() { return last_text.data(); }

acclError_t bad_handle(std::string_view what, const void* handle) {
  std::array<char, 160> text{};
  const auto end =
      fmt::format_to_n(text.data(), text.size(),
                       "{} is not a live {} (never created, destroyed, or from before a fork)",
                       fmt::ptr(handle), what);
  return fail(acclErrorInvalidHandle, {text.data(), std::min(end.size, text.size())});
}

acclError_t null_argument(std::string_view argument) {
  std::array<char, 80> text{};
  const auto end = fmt::format_to_n(text.data(), text.size(), "{} is NULL", argument);
  return fail(acclErrorInvalidValue, {text.data(), std::min(end.size, text.size())});
}

}  // namespace accl::host
