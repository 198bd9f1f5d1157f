// A fuzz target: one function that takes bytes from a stranger. With Clang and -DACCL_FUZZ=ON it is
// libFuzzer's; else tests/fuzz/replay_test.cc calls it with its seeds and what it makes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace accl::fuzz {

/// Well-formed inputs to begin with.
std::vector<std::vector<uint8_t>> seeds();

inline std::span<const std::byte> bytes_of(const uint8_t* data, size_t size) {
  return std::as_bytes(std::span(data, size));
}

}  // namespace accl::fuzz
