#include "transport/shm/staging_pool.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/transport/rig.h"

namespace accl::shm {
namespace {

using test::copy_of;
using test::value_of;

size_t descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}
size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("/memfd:accl") != std::string::npos;
  }
  return count;
}

TEST(StagingPool, SlotsAreDistinctAndTheHeadersIsNotLeased) {
  auto pool = value_of(StagingPool::create(4 * kSlotBytes));
  std::set<int> slots;
  for (int i = 0; i < 3; ++i) slots.insert(value_of(pool->lease()));
  EXPECT_EQ(slots, (std::set<int>{1, 2, 3}));
  EXPECT_EQ(value_of(pool->lease()), -1) << "all are leased";
  EXPECT_EQ(pool->in_use(), 3);
  std::memset(pool->slot_data(3), 1, kSlotBytes);
  pool->give_back(2);
  pool->give_back(3);
  EXPECT_EQ(value_of(pool->lease()), 3) << "the warmest first";
  EXPECT_EQ(value_of(pool->lease()), 2);
}

TEST(StagingPool, ASlotDrainsUntilReadClosedOrForgotten) {
  auto pool = value_of(StagingPool::create(8 * kSlotBytes));
  auto segment = value_of(CommSegment::create(3));
  std::atomic<uint64_t> popped{4};
  const auto drain = [&](Rank to) {
    pool->drain(value_of(pool->lease()), {segment, &popped, 5, to});
  };
  drain(1);
  EXPECT_EQ(pool->draining(), 1);
  popped = 5;
  EXPECT_EQ(pool->draining(), 0) << "read";
  popped = 4;
  drain(1);
  popped = Fifo::kClosed;
  EXPECT_EQ(pool->draining(), 0) << "closed";
  popped = 4;
  drain(1);
  drain(2);
  EXPECT_EQ(pool->draining(), 2);
  segment->forget(2);
  EXPECT_EQ(pool->draining(), 1) << "rank 2 has died, rank 1 may still read";
  popped = 6;
  EXPECT_EQ(pool->in_use(), 0);
  EXPECT_EQ(segment.use_count(), 1) << "nothing drains, so nothing keeps the segment";
}

TEST(StagingPool, BadSizesAreRefused) {
  for (size_t size : {size_t{0}, kSlotBytes, 2 * kSlotBytes + 1, size_t{1} << 50}) {
    auto pool = StagingPool::create(size);
    ASSERT_FALSE(pool.ok()) << size;
    EXPECT_EQ(pool.status().code(), Code::kInvalidArgument);
  }
}

TEST(StagingPool, ManyThreadsLeaseWithoutSharing) {
  auto pool = value_of(StagingPool::create(16 * kSlotBytes));
  std::atomic<int> wrong{0};
  std::atomic<int> leases{0};
  std::vector<std::thread> threads;
  for (int id = 1; id <= 4; ++id) {
    threads.emplace_back([&, id] {
      for (int i = 0; i < 2000; ++i) {
        auto slot = pool->lease();
        if (!slot.ok() || *slot < 0) continue;
        ++leases;
        auto* word = reinterpret_cast<int*>(pool->slot_data(*slot));
        *word = id;
        std::this_thread::yield();
        wrong += *word != id;
        pool->give_back(*slot);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(leases, 8000) << "four leases at a time never exhaust fifteen slots";
  EXPECT_EQ(pool->in_use(), 0);
}

TEST(StagingPool, RefusedMemoryIsAStreamsStatus) {
  // A pool that a child may no longer map or create: the limit is met in a child of its own.
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    auto pool = StagingPool::create();
    const bool clear = !pool.ok() && pool.status().code() == Code::kSystem &&
                       pool.status().text() ==
                           "cannot create 1073741824 bytes of memory for accl staging: the limit "
                           "of file sizes (RLIMIT_FSIZE) is 1048576 bytes";
    _exit(clear ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(PoolMap, MapsAPeerOnceAndForReadingOnly) {
  auto pool = value_of(StagingPool::create(4 * kSlotBytes));
  PoolMap map;
  auto first = value_of(map.open(copy_of(pool->fd()), copy_of(pool->eventfd())));
  auto second = value_of(map.open(copy_of(pool->fd()), copy_of(pool->eventfd())));
  EXPECT_EQ(first, second);
  EXPECT_EQ(first->token(), pool->token());
  EXPECT_NE(first->data(), pool->data());
  std::memcpy(pool->slot_data(value_of(pool->lease())), "staged", 6);
  EXPECT_EQ(std::memcmp(first->data() + kSlotBytes, "staged", 6), 0);
  std::ifstream maps("/proc/self/maps");
  int read_only = 0;
  for (std::string line; std::getline(maps, line);) {
    read_only += line.find("/memfd:accl staging") != std::string::npos &&
                 line.find(" r--s ") != std::string::npos;
  }
  EXPECT_EQ(read_only, 1);
}

TEST(PoolMap, StrangersAreRefused) {
  PoolMap map;
  auto odd = value_of(SharedMemory::create("odd", kPageBytes));
  auto refused = map.open(copy_of(odd.fd()), Fd());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().text(), "a peer's staging memory has an impossible size: 4096");
  auto zero = value_of(SharedMemory::create("zero", 4 * kSlotBytes));
  auto empty = map.open(copy_of(zero.fd()), Fd());
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.status().code(), Code::kRemote);
  EXPECT_EQ(empty.status().text(),
            "the memory offered as a peer's staging memory is something else");
  auto pool = value_of(StagingPool::create(4 * kSlotBytes));
  reinterpret_cast<PoolHeader*>(pool->data())->layout.version = 9;
  auto other = map.open(copy_of(pool->fd()), Fd());
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.status().text().find("has layout 9 with slots of 262144 bytes"),
            std::string::npos)
      << other.status().text();
}

TEST(PoolMap, APeersBellWakesItsOwner) {
  auto pool = value_of(StagingPool::create(4 * kSlotBytes));
  PoolMap map;
  auto peer = value_of(map.open(copy_of(pool->fd()), copy_of(pool->eventfd())));
  EXPECT_EQ(peer->has_barrier(), Sleeper::enable_barrier());
  Doorbell doorbell = peer->doorbell();
  Sleeper sleeper = pool->sleeper();
  pollfd entry{sleeper.eventfd(), POLLIN, 0};
  doorbell.ring_if_sleeping();
  EXPECT_EQ(poll(&entry, 1, 0), 0);
  sleeper.prepare();
  doorbell.ring_if_sleeping();
  EXPECT_EQ(poll(&entry, 1, 0), 1);
  sleeper.awake();
}

TEST(Streams, BothEndsRingASleepingPeer) {
  test::Rig rig;
  auto segment = test::Rig::segment();
  test::Pair pair = test::open_shm(rig, segment, 0, 0);
  for (int i = 0; i < 3; ++i) {
    Sleeper reader = rig.pool(1).sleeper();
    pollfd reader_bell{reader.eventfd(), POLLIN, 0};
    reader.prepare();
    EXPECT_EQ(poll(&reader_bell, 1, 0), 0);
    ASSERT_TRUE(test::try_send(*pair.send, 0, 8));
    EXPECT_EQ(poll(&reader_bell, 1, 0), 1) << "commit rings the reader";
    reader.awake();

    Sleeper writer = rig.pool(0).sleeper();
    pollfd writer_bell{writer.eventfd(), POLLIN, 0};
    writer.prepare();
    EXPECT_EQ(poll(&writer_bell, 1, 0), 0);
    ASSERT_NO_FATAL_FAILURE(test::take(*pair.recv, 0, 8));
    EXPECT_EQ(poll(&writer_bell, 1, 0), 1) << "pop rings the writer";
    writer.awake();
  }
  Sleeper writer = rig.pool(0).sleeper();
  pollfd writer_bell{writer.eventfd(), POLLIN, 0};
  writer.prepare();
  pair.recv = nullptr;
  EXPECT_EQ(poll(&writer_bell, 1, 0), 1) << "so does leaving";
  writer.awake();
}

TEST(Streams, LeaveNoDescriptorAndNoMapping) {
  const size_t fds = descriptors();
  const size_t maps = mappings();
  for (int i = 0; i < 20; ++i) {
    test::Rig rig;
    auto segment = test::Rig::segment();
    test::Pair pair = test::open_shm(rig, segment, 0, 0);
    ASSERT_TRUE(test::try_send(*pair.send, 0, kMaxMessage));
    segment = nullptr;
    if (i % 2 == 0) pair.send = nullptr;  // leaves a slot that drains
  }
  EXPECT_EQ(descriptors(), fds);
  EXPECT_EQ(mappings(), maps);
}

TEST(Streams, AClosedCommunicatorIsUnmappedOnceItHasDrained) {
  test::Rig rig;
  const size_t maps = mappings();
  auto segment = test::Rig::segment();
  test::Pair pair = test::open_shm(rig, segment, 0, 0);
  ASSERT_TRUE(test::try_send(*pair.send, 0, kMaxMessage));
  segment = nullptr;
  pair.send = nullptr;
  pair.recv = nullptr;
  EXPECT_EQ(rig.pool(0).in_use(), 0);
  EXPECT_EQ(mappings(), maps);
}

}  // namespace
}  // namespace accl::shm
