#include "src/base/assert.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

namespace accl {

namespace {
std::atomic<AssertHook> assert_hook{nullptr};
}  // namespace

AssertHook set_assert_hook(AssertHook hook) { return assert_hook.exchange(hook); }

void assert_failed(const char* condition, const char* file, int line, const char* text) {
  const char* slash = std::strrchr(file, '/');
  const std::string message = fmt::format(
      "accl: assertion failed at {}:{}: {}{}{} (pid {}); this is a bug of the library\n",
      slash == nullptr ? file : slash + 1, line, condition, text == nullptr ? "" : ": ",
      text == nullptr ? "" : text, getpid());
  // One write: threads that fail together do not mix their lines. There is nobody to tell of an
  // error.
  [[maybe_unused]] const ssize_t wrote = write(STDERR_FILENO, message.data(), message.size());
  // The hook runs once even if it fails an assertion itself.
  if (const AssertHook hook = assert_hook.exchange(nullptr)) hook();
  std::abort();
}

}  // namespace accl
