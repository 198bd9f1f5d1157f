// How both peers are measured: batches of back-to-back calls after an untimed barrier; a batch's
// value is the slowest rank's time for a call; the median of the batches is printed.
//
// One object a rank; single-threaded. The two programs differ only in Rank, which has
// `all_reduce(in, out, count)`, `barrier()` and `double max(double)`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "src/base/clock.h"

namespace accl::peers {

struct Case {
  size_t bytes;
  int calls;  ///< in a batch
  int batches;
};

/// The sizes of `--quick`, with as many calls as make a batch a few milliseconds or more.
inline const std::vector<Case>& quick_cases() {
  static const std::vector<Case> cases = {
      {8, 10000, 9}, {size_t{256} << 10, 200, 9}, {size_t{64} << 20, 3, 5}};
  return cases;
}

/// Whole huge pages where the system gives them: the same for both peers.
inline float* allocate(size_t bytes) {
  constexpr size_t kAlign = size_t{2} << 20;
  return static_cast<float*>(std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign));
}

/// Runs one case. `print` on one rank only. False when the result is wrong.
template <class Rank>
bool run_case(Rank& rank, const Case& what, int ranks, bool print) {
  const size_t count = what.bytes / sizeof(float);
  float* in = allocate(what.bytes);
  float* out = allocate(what.bytes);
  if (in == nullptr || out == nullptr) return false;
  std::fill(in, in + count, 1.5F);
  std::fill(out, out + count, 0.0F);

  std::vector<double> times_us;
  for (int batch = -1; batch < what.batches; ++batch) {  // the first one warms up
    rank.barrier();
    const uint64_t begin_ns = now_ns();
    for (int i = 0; i < what.calls; ++i) rank.all_reduce(in, out, count);
    const double mine_us = static_cast<double>(now_ns() - begin_ns) / 1e3 / what.calls;
    const double slowest_us = rank.max(mine_us);
    if (batch >= 0) times_us.push_back(slowest_us);
  }
  const float want = 1.5F * static_cast<float>(ranks);
  const bool right = std::all_of(out, out + count, [want](float value) { return value == want; });
  std::free(in);
  std::free(out);
  std::sort(times_us.begin(), times_us.end());
  if (print && right) std::printf("%zu %.4f\n", what.bytes, times_us[times_us.size() / 2]);
  if (!right) std::fprintf(stderr, "wrong result at %zu bytes\n", what.bytes);
  std::fflush(stdout);
  return right;
}

}  // namespace accl::peers
