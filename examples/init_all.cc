// One thread drives several ranks: ncclCommInitAll makes them, a group issues their calls together.
//
//   c++ -std=c++20 init_all.cc -lnccl -laccl_host
#include <cstdio>
#include <vector>

#include "accl/device.h"
#include "accl/nccl.h"

constexpr int kRanks = 4;

static int failed(ncclResult_t result) {
  std::fprintf(stderr, "%s: %s\n", ncclGetErrorString(result), ncclGetLastError(nullptr));
  return 1;
}

int main() {
  ncclComm_t comms[kRanks];
  acclStream_t streams[kRanks];
  std::vector<int> in[kRanks];
  std::vector<int> out[kRanks];
  ncclResult_t result = ncclCommInitAll(comms, kRanks, nullptr);  // devices 0, 1, 2, 3
  if (result != ncclSuccess) return failed(result);
  for (int i = 0; i < kRanks; ++i) {
    in[i].assign(100, 10 * (i + 1));
    out[i].resize(100);
    if (acclSetDevice(i) != acclSuccess || acclStreamCreate(&streams[i]) != acclSuccess) return 1;
  }

  // Without the group the first call would wait for ranks that this thread has not called yet.
  ncclGroupStart();
  for (int i = 0; i < kRanks; ++i)
    ncclAllReduce(in[i].data(), out[i].data(), in[i].size(), ncclInt, ncclMax, comms[i],
                  streams[i]);
  result = ncclGroupEnd();
  if (result != ncclSuccess) return failed(result);

  for (int i = 0; i < kRanks; ++i) {
    if (acclStreamSynchronize(streams[i]) != acclSuccess) return 1;
    std::printf("rank %d: the maximum is %d\n", i, out[i].front());
    if (out[i].front() != 40 || out[i].back() != 40) return 1;
    acclStreamDestroy(streams[i]);
    ncclCommDestroy(comms[i]);
  }
  return 0;
}
