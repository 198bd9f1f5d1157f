// The table of what can be measured: for every collective its buffers, its bandwidth formulas, its
// call, and which inputs make up which output.
//
// Constant data; any thread. A new test is a row in collectives.cc and a name in CMakeLists.txt.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "accl/nccl.h"

namespace accl::perf {

/// Elements, for one rank.
struct Counts {
  size_t send = 0;   ///< read from the send buffer
  size_t recv = 0;   ///< written to the receive buffer
  size_t param = 0;  ///< the count argument of the call
  /// In place, both pointers lie in one buffer: at these offsets times the rank.
  size_t send_in_place = 0;
  size_t recv_in_place = 0;
};

/// A run of output elements: the inputs first .. first + count - 1 of `rank`, or their reduction.
struct Piece {
  static constexpr int kReduced = -1;
  int rank = kReduced;
  size_t first = 0;
  size_t count = 0;
};

struct Call {
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclFloat;
  ncclRedOp_t op = ncclSum;
  int root = -1;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};

struct CollectiveTest {
  std::string_view program;  ///< "all_reduce_perf"
  std::string_view name;     ///< "AllReduce"
  bool reduces;              ///< -o counts; otherwise the redop column says "none"
  bool rooted;               ///< -r counts; otherwise the root column says -1
  bool in_place;             ///< otherwise that half of the table says N/A
  Counts (*counts)(size_t elements, size_t element_bytes, int ranks);
  /// Bytes that algbw counts, for a count argument.
  double (*bytes)(size_t param, size_t element_bytes, int ranks);
  /// busbw / algbw: what a link carries for each byte of the result.
  double (*bus_factor)(int ranks);
  ncclResult_t (*call)(const Call& call);
  /// The output of `rank`, in order; empty when it has none.
  std::vector<Piece> (*output)(const Counts& counts, int ranks, int rank, int root);
};

/// The test that the executable `program` runs; null when there is none of that name.
const CollectiveTest* test_named(std::string_view program);

}  // namespace accl::perf
