// Ranks as processes: the id travels through any channel, here a pipe made before fork().
//
//   c++ -std=c++20 processes.cc -lnccl
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "accl/nccl.h"

constexpr int kRanks = 2;

static int failed(ncclResult_t result) {
  std::fprintf(stderr, "%s: %s\n", ncclGetErrorString(result), ncclGetLastError(nullptr));
  return 1;
}

static int run_rank(int rank, const ncclUniqueId& id) {
  ncclComm_t comm = nullptr;
  ncclResult_t result = ncclCommInitRank(&comm, kRanks, id, rank);
  if (result != ncclSuccess) return failed(result);

  std::vector<double> mine(1 << 16, rank + 1.0);
  std::vector<double> sum(mine.size());
  // The stream NULL is synchronous: the result is there when the call returns.
  result = ncclAllReduce(mine.data(), sum.data(), mine.size(), ncclDouble, ncclSum, comm, nullptr);
  if (result != ncclSuccess) return failed(result);
  std::printf("rank %d (pid %d): 1 + 2 = %g\n", rank, getpid(), sum.front());
  ncclCommDestroy(comm);
  return sum.front() == 3.0 && sum.back() == 3.0 ? 0 : 1;
}

int main() {
  int channel[2];
  if (pipe(channel) != 0) return 1;
  // Fork first, use the library afterwards: its threads do not survive a fork.
  const pid_t child = fork();
  if (child < 0) return 1;
  ncclUniqueId id;
  if (child == 0) {
    const ssize_t got = read(channel[0], &id, sizeof id);
    return got == static_cast<ssize_t>(sizeof id) ? run_rank(1, id) : 1;
  }
  const ncclResult_t result = ncclGetUniqueId(&id);
  if (result != ncclSuccess) return failed(result);
  if (write(channel[1], &id, sizeof id) != static_cast<ssize_t>(sizeof id)) return 1;
  const int mine = run_rank(0, id);
  int status = 1;
  waitpid(child, &status, 0);
  return mine == 0 && status == 0 ? 0 : 1;
}
