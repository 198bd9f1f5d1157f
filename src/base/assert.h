// ACCL_ASSERT: invariants of our own code, checked in release builds too.
//
// A failed one is a bug of the library, never a mistake of its user or a fault of a peer (those are
// Status). It prints one line to standard error, lets the process dump what it knows, and aborts.
#pragma once

namespace accl {

/// Called by a failed assertion before the process aborts, for example to write flight records.
using AssertHook = void (*)();
/// Sets the hook (null: none) and returns the previous one. Any thread.
AssertHook set_assert_hook(AssertHook hook);

/// Prints and aborts. `text` may be null.
[[noreturn]] void assert_failed(const char* condition, const char* file, int line,
                                const char* text = nullptr);

}  // namespace accl

/// ACCL_ASSERT(condition) or ACCL_ASSERT(condition, "what it means").
#define ACCL_ASSERT(condition, ...) \
  (static_cast<bool>(condition)     \
       ? static_cast<void>(0)       \
       : ::accl::assert_failed(#condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__))
