#include "device/host/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace accl::host {

Result<int> parse_device_count(const char* text) {
  if (text == nullptr || *text == '\0') return kDefaultDevices;
  int count = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, count);
  if (error != std::errc() || stop != end || count < 1 || count > kMaxDevices) {
    return invalid_argument(fmt::format(
        "ACCL_HOST_DEVICES is \"{}\": want a whole number from 1 to {}", text, kMaxDevices));
  }
  return count;
}

Result<int>& device_count() {
  // Never destroyed: threads of the program may still ask while the process exits.
  static Result<int>* const count =
      new Result<int>(parse_device_count(std::getenv("ACCL_HOST_DEVICES")));
  return *count;
}

}  // namespace accl::host
