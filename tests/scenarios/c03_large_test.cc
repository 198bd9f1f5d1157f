// C03: more than 2^31 elements, more than 2^32 bytes. Sentinels stand where 32 bits would wrap; the
// rest of the memory is the kernel's zero page as long as nobody writes to it.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/support/rank_check.h"

namespace accl {
namespace {

constexpr size_t k31 = size_t{1} << 31;
constexpr size_t k32 = size_t{1} << 32;

size_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  size_t kib = 0;
  while (file >> word) {
    if (word == "MemAvailable:" && file >> kib) break;
  }
  return kib << 10;
}

bool enough_memory(size_t gib) { return available_bytes() >= gib << 30; }

class Big {
 public:
  explicit Big(size_t bytes) : bytes_(bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = memory == MAP_FAILED ? nullptr : static_cast<int8_t*>(memory);
  }
  ~Big() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  Big(const Big&) = delete;
  Big& operator=(const Big&) = delete;
  int8_t* data() { return data_; }

 private:
  size_t bytes_;
  int8_t* data_;
};

// Places where a count, an offset or a chunk that was cut to 32 bits would show.
std::vector<size_t> places(size_t count) {
  std::vector<size_t> all;
  for (const size_t mark : {size_t{0}, k31, k32, count}) {
    for (size_t i = mark < 3 ? 0 : mark - 3; i < mark + 3 && i < count; i++) all.push_back(i);
  }
  return all;
}

int8_t sentinel(int rank, size_t i) {
  return static_cast<int8_t>(rank * 30 + 1 + static_cast<int>(i * 7 % 23));
}

void mark(int8_t* data, size_t count, int rank) {
  for (const size_t i : places(count)) data[i] = sentinel(rank, i);
}

bool marked(const int8_t* data, size_t count, int rank) {
  for (const size_t i : places(count)) {
    if (data[i] != sentinel(rank, i)) return false;
  }
  return true;
}

TEST(ScenarioC03, AllReduceInPlace) {
  if (test::kSanitized || !enough_memory(8)) GTEST_SKIP() << "needs 8 GiB of memory";
  constexpr size_t kCount = k31 + 17;
  EXPECT_TRUE(run_with_comm(
      RankKind::kProcesses, 2,
      [](int rank, ncclComm_t comm, RankCheck& check) {
        Big data(kCount);
        if (!check.that(data.data() != nullptr, "no memory")) return;
        mark(data.data(), kCount, rank);
        check.ok(ncclAllReduce(data.data(), data.data(), kCount, ncclInt8, ncclSum, comm, nullptr),
                 "AllReduce");
        for (const size_t i : places(kCount)) {
          const auto wanted = static_cast<int8_t>(sentinel(0, i) + sentinel(1, i));
          check.that(data.data()[i] == wanted, "element " + std::to_string(i));
        }
        check.that(data.data()[kCount / 3] == 0, "an element between the sentinels");
      },
      std::chrono::seconds(110)));
}

TEST(ScenarioC03, AllGatherBeyond32Bits) {
  if (test::kSanitized || !enough_memory(12)) GTEST_SKIP() << "needs 12 GiB of memory";
  // Two blocks of more than 2^31 bytes: more than 2^32 together.
  constexpr size_t kCount = k31 + 3;
  EXPECT_TRUE(run_with_comm(
      RankKind::kProcesses, 2,
      [](int rank, ncclComm_t comm, RankCheck& check) {
        Big data(2 * kCount);
        if (!check.that(data.data() != nullptr, "no memory")) return;
        int8_t* own = data.data() + static_cast<size_t>(rank) * kCount;
        mark(own, kCount, rank);
        check.ok(ncclAllGather(own, data.data(), kCount, ncclInt8, comm, nullptr), "AllGather");
        check.that(marked(data.data(), kCount, 0), "block of rank 0");
        check.that(marked(data.data() + kCount, kCount, 1), "block of rank 1");
      },
      std::chrono::seconds(110)));
}

TEST(ScenarioC03, BroadcastOf4GiBAndOne) {
  if (test::kSanitized || !enough_memory(12)) GTEST_SKIP() << "needs 12 GiB of memory";
  constexpr size_t kCount = k32 + 1;
  EXPECT_TRUE(run_with_comm(
      RankKind::kProcesses, 2,
      [](int rank, ncclComm_t comm, RankCheck& check) {
        Big data(kCount);
        if (!check.that(data.data() != nullptr, "no memory")) return;
        if (rank == 1) mark(data.data(), kCount, 1);
        check.ok(ncclBcast(data.data(), kCount, ncclInt8, 1, comm, nullptr), "Bcast");
        check.that(marked(data.data(), kCount, 1), "sentinels of the root");
      },
      std::chrono::seconds(110)));
}

TEST(ScenarioC03, SendOf4GiBAndOne) {
  if (test::kSanitized || !enough_memory(12)) GTEST_SKIP() << "needs 12 GiB of memory";
  constexpr size_t kCount = k32 + 1;
  EXPECT_TRUE(run_with_comm(
      RankKind::kProcesses, 2,
      [](int rank, ncclComm_t comm, RankCheck& check) {
        Big data(kCount);
        if (!check.that(data.data() != nullptr, "no memory")) return;
        if (rank == 0) {
          mark(data.data(), kCount, 0);
          check.ok(ncclSend(data.data(), kCount, ncclInt8, 1, comm, nullptr), "Send");
        } else {
          check.ok(ncclRecv(data.data(), kCount, ncclInt8, 0, comm, nullptr), "Recv");
          check.that(marked(data.data(), kCount, 0), "sentinels of the sender");
        }
      },
      std::chrono::seconds(110)));
}

}  // namespace
}  // namespace accl
