#include "bench/perf/team.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace accl::perf {
namespace {

/// The memory begins zeroed, so that whoever maps it first need not prepare it.
size_t bytes_for(int members, int ranks, size_t header, size_t slot) {
  return header + static_cast<size_t>(members) * slot +
         static_cast<size_t>(ranks) * sizeof(RankLine);
}

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return CPU_COUNT(&cores);
}

}  // namespace

struct alignas(128) Team::Header {
  std::atomic<uint32_t> arrived{0};
  alignas(128) std::atomic<uint32_t> generation{0};
  alignas(128) std::atomic<int> failure{0};
  alignas(128) std::array<std::byte, 128> unique_id{};
};

Team::Team(void* memory, size_t bytes, int fd, int members)
    : memory_(memory),
      bytes_(bytes),
      fd_(fd),
      members_(members),
      // More threads than cores: the one that is waited for needs this core.
      spins_before_yield_(members > usable_cores() ? 0 : 20000),
      header_(static_cast<Header*>(memory)),
      slots_(reinterpret_cast<Slot*>(header_ + 1)),
      lines_(reinterpret_cast<RankLine*>(slots_ + members)) {}

Team::~Team() {
  munmap(memory_, bytes_);
  if (fd_ >= 0) close(fd_);
}

std::unique_ptr<Team> Team::create(int members, int ranks, bool inheritable) {
  const int fd = memfd_create("accl-perf-team", inheritable ? 0 : MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  const size_t bytes = bytes_for(members, ranks, sizeof(Header), sizeof(Slot));
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    close(fd);
    return nullptr;
  }
  return join(fd, members, ranks);
}

std::unique_ptr<Team> Team::join(int fd, int members, int ranks) {
  const size_t bytes = bytes_for(members, ranks, sizeof(Header), sizeof(Slot));
  if (lseek(fd, 0, SEEK_END) < static_cast<off_t>(bytes)) return nullptr;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return nullptr;
  return std::unique_ptr<Team>(new Team(memory, bytes, fd, members));
}

bool Team::barrier() {
  const uint32_t generation = header_->generation.load(std::memory_order_acquire);
  const uint32_t before = header_->arrived.fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 == static_cast<uint32_t>(members_)) {
    header_->arrived.store(0, std::memory_order_relaxed);
    header_->generation.store(generation + 1, std::memory_order_release);
    return failure() == 0;
  }
  for (int spins = 0; header_->generation.load(std::memory_order_acquire) == generation; ++spins) {
    if (failure() != 0) return false;
    if (spins >= spins_before_yield_) sched_yield();
  }
  return failure() == 0;
}

bool Team::reduce(int member, double& value, Reduce how) {
  slots_[member].value = value;
  if (!barrier()) return false;
  double result = slots_[0].value;
  for (int i = 1; i < members_; ++i) {
    const double other = slots_[i].value;
    if (how == Reduce::kMin) result = std::min(result, other);
    if (how == Reduce::kMax) result = std::max(result, other);
    if (how == Reduce::kSum || how == Reduce::kMean) result += other;
  }
  value = how == Reduce::kMean ? result / members_ : result;
  return barrier();  // nobody writes its slot again before all have read
}

void Team::fail(int code) {
  int none = 0;
  header_->failure.compare_exchange_strong(none, code, std::memory_order_acq_rel);
}

int Team::failure() const { return header_->failure.load(std::memory_order_acquire); }

void* Team::unique_id() { return header_->unique_id.data(); }

RankLine& Team::line(int rank) { return lines_[rank]; }

}  // namespace accl::perf
