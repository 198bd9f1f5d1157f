// ACCL's side of bench/peers/run: two processes bound to cores print "bytes microseconds".
//
//   accl_allreduce null     the NULL stream
//   accl_allreduce stream   a stream, synchronised after every call
//   accl_allreduce hop      no library: nanoseconds for a flag to cross from core to core
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "accl/device.h"
#include "accl/nccl.h"
#include "bench/peers/measure.h"
#include "bench/perf/team.h"

namespace {

using accl::perf::Team;

constexpr int kRanks = 2;

void require(bool fine, const char* what) {
  if (fine) return;
  std::fprintf(stderr, "%s failed: %s\n", what, ncclGetLastError(nullptr));
  std::exit(1);
}

class AcclRank {
 public:
  AcclRank(Team& team, int index, bool real_stream) : team_(team), index_(index) {
    ncclUniqueId id;
    if (index == 0) {
      require(ncclGetUniqueId(&id) == ncclSuccess, "ncclGetUniqueId");
      std::memcpy(team.unique_id(), &id, sizeof id);
    }
    barrier();
    std::memcpy(&id, team.unique_id(), sizeof id);
    require(ncclCommInitRank(&comm_, kRanks, id, index) == ncclSuccess, "ncclCommInitRank");
    if (real_stream) require(acclStreamCreate(&stream_) == acclSuccess, "acclStreamCreate");
  }
  ~AcclRank() {
    ncclCommDestroy(comm_);
    if (stream_ != nullptr) acclStreamDestroy(stream_);
  }
  AcclRank(const AcclRank&) = delete;
  AcclRank& operator=(const AcclRank&) = delete;

  void all_reduce(const float* in, float* out, size_t count) {
    require(ncclAllReduce(in, out, count, ncclFloat, ncclSum, comm_, stream_) == ncclSuccess,
            "ncclAllReduce");
    if (stream_ != nullptr)
      require(acclStreamSynchronize(stream_) == acclSuccess, "acclStreamSynchronize");
  }
  void barrier() { require(team_.barrier(), "barrier"); }
  double max(double value) {
    require(team_.reduce(index_, value, accl::perf::Reduce::kMax), "barrier");
    return value;
  }

 private:
  Team& team_;
  int index_;
  ncclComm_t comm_ = nullptr;
  acclStream_t stream_ = nullptr;
};

/// One way, from the time of many round trips between the two processes.
bool measure_hop(Team& team, std::atomic<uint32_t>& flag, int index) {
  constexpr uint32_t kTurns = 400000;
  require(team.barrier(), "barrier");
  const uint64_t begin_ns = accl::now_ns();
  for (uint32_t turn = 0; turn < kTurns; ++turn) {
    if (static_cast<int>(turn % kRanks) == index)
      flag.store(turn + 1, std::memory_order_release);
    else
      while (flag.load(std::memory_order_acquire) <= turn) continue;
  }
  if (index == 0)
    std::printf("hop %.1f\n", static_cast<double>(accl::now_ns() - begin_ns) / kTurns);
  std::fflush(stdout);
  return true;
}

bool run_rank(Team& team, std::atomic<uint32_t>& flag, int index, const std::string& mode) {
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(static_cast<size_t>(index), &core);
  require(sched_setaffinity(0, sizeof core, &core) == 0, "binding to a core");
  if (mode == "hop") return measure_hop(team, flag, index);
  AcclRank rank(team, index, mode == "stream");
  bool right = true;
  for (const accl::peers::Case& what : accl::peers::quick_cases())
    right = accl::peers::run_case(rank, what, kRanks, index == 0) && right;
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 2 ? argv[1] : "";
  if (mode != "null" && mode != "stream" && mode != "hop") {
    std::fprintf(stderr, "usage: accl_allreduce null|stream|hop\n");
    return 2;
  }
  const auto team = Team::create(kRanks, kRanks, false);
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(team != nullptr && memory != MAP_FAILED, "shared memory");
  auto& flag = *new (memory) std::atomic<uint32_t>(0);
  const pid_t child = fork();  // before the library has threads
  require(child >= 0, "fork");
  if (child == 0) _exit(run_rank(*team, flag, 1, mode) ? 0 : 1);
  const bool right = run_rank(*team, flag, 0, mode);
  int status = 1;
  waitpid(child, &status, 0);
  return right && status == 0 ? 0 : 1;
}
