#include "bench/perf/collectives.h"

namespace accl::perf {
namespace {

Counts all_reduce_counts(size_t elements, size_t, int) {
  return {.send = elements, .recv = elements, .param = elements};
}
double plain_bytes(size_t param, size_t element_bytes, int) {
  return static_cast<double>(param) * static_cast<double>(element_bytes);
}
double all_reduce_factor(int ranks) { return 2.0 * (ranks - 1) / ranks; }
ncclResult_t all_reduce_call(const Call& c) {
  return ncclAllReduce(c.send, c.recv, c.count, c.type, c.op, c.comm, c.stream);
}
std::vector<Piece> all_reduced(const Counts& counts, int, int, int) {
  return {{Piece::kReduced, 0, counts.recv}};
}

constexpr CollectiveTest kTests[] = {
    {"all_reduce_perf", "AllReduce", true, false, true, all_reduce_counts, plain_bytes,
     all_reduce_factor, all_reduce_call, all_reduced},
};

}  // namespace

const CollectiveTest* test_named(std::string_view program) {
  for (const CollectiveTest& test : kTests)
    if (program.starts_with(test.program)) return &test;
  return nullptr;
}

}  // namespace accl::perf
