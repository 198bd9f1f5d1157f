// Ranks as threads of one process: every thread joins with the same id and adds its rank to a sum.
//
//   c++ -std=c++20 threads.cc -lnccl -laccl_host -pthread
#include <cstdio>
#include <thread>
#include <vector>

#include "accl/device.h"
#include "accl/nccl.h"

constexpr int kRanks = 4;

// True when the call succeeded; otherwise says why not.
static bool done(ncclResult_t result) {
  if (result == ncclSuccess) return true;
  std::fprintf(stderr, "%s: %s\n", ncclGetErrorString(result), ncclGetLastError(nullptr));
  return false;
}

static void run_rank(int rank, const ncclUniqueId& id, bool& right) {
  ncclComm_t comm = nullptr;
  if (!done(ncclCommInitRank(&comm, kRanks, id, rank))) return;
  acclStream_t stream = nullptr;
  if (acclStreamCreate(&stream) != acclSuccess) return;

  std::vector<float> mine(1000, static_cast<float>(rank));
  std::vector<float> sum(mine.size());
  // The call returns at once; the result is there after synchronising.
  if (!done(ncclAllReduce(mine.data(), sum.data(), mine.size(), ncclFloat, ncclSum, comm, stream)))
    return;
  if (acclStreamSynchronize(stream) != acclSuccess) return;

  right = sum.front() == 6.0F && sum.back() == 6.0F;  // 0 + 1 + 2 + 3
  acclStreamDestroy(stream);
  done(ncclCommDestroy(comm));
}

int main() {
  ncclUniqueId id;
  if (!done(ncclGetUniqueId(&id))) return 1;
  bool right[kRanks] = {};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([rank, &id, &right] { run_rank(rank, id, right[rank]); });
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < kRanks; ++rank) {
    if (!right[rank]) return 1;
    std::printf("rank %d of %d: the sum is 6\n", rank, kRanks);
  }
  return 0;
}
