// B07, B08, B09, B10: what communicators hold: nothing that grows, and little for each.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

void expect_steady(const Holdings& before, const Holdings& after, RankCheck& check) {
  const auto same = [&](int was, int is, const std::string& what) {
    check.that(was == is, what + ": " + std::to_string(was) + ", then " + std::to_string(is));
  };
  // Fewer is no leak: the engine may still have been closing some when it was counted before.
  check.that(after.descriptors <= before.descriptors,
             "descriptors: " + std::to_string(before.descriptors) + ", then " +
                 std::to_string(after.descriptors));
  same(before.threads, after.threads, "threads");
  if (test::kSanitized) return;  // a sanitizer keeps memory and maps more of it
  same(before.mappings, after.mappings, "mappings");
  const int64_t grown = after.resident_bytes - before.resident_bytes;
  check.that(grown < kMiB, "resident memory grew by " + std::to_string(grown) + " bytes");
}

void sum(ncclComm_t comm, int ranks, RankCheck& check) {
  std::array<int, 4> data = {1, 2, 3, 4};
  check.ok(ncclAllReduce(data.data(), data.data(), 4, ncclInt, ncclSum, comm, nullptr),
           "AllReduce");
  check.that(data[3] == 4 * ranks, "wrong sum");
}

// Ids for many communicators: each turn's id stands where the last one's stood.
ncclUniqueId next_id(int turn, int ranks, int rank, Blackboard& board) {
  if (rank == 0) {
    for (int other = 0; other < ranks; other++) {
      while (board.slots[static_cast<size_t>(other)].stage.load() < turn) std::this_thread::yield();
    }
    ncclGetUniqueId(&board.id);
    board.id_ready.store(turn + 1);
  }
  while (board.id_ready.load() < turn + 1) std::this_thread::yield();
  const ncclUniqueId id = board.id;
  board.slots[static_cast<size_t>(rank)].stage.store(turn + 1);
  return id;
}

TEST(ScenarioB07, CreateDestroyLoopLeaksNothing) {
  const auto body = [](int rank, Blackboard& board) {
    RankCheck check(rank);
    Holdings before;
    for (int turn = 0; turn < 200; turn++) {
      ncclComm_t comm = nullptr;
      const ncclUniqueId id = next_id(turn, 2, rank, board);
      if (!check.ok(ncclCommInitRank(&comm, 2, id, rank), "init")) return 1;
      sum(comm, 2, check);
      check.ok(ncclCommDestroy(comm), "destroy");
      if (turn == 20) before = holdings();
    }
    // A connection's last descriptor is closed by the engine, a moment after destroy.
    const Stopwatch watch;
    Holdings after = holdings();
    while (after.descriptors > before.descriptors && watch.seconds() < 2) after = holdings();
    expect_steady(before, after, check);
    return check.code();
  };
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 2, body));
}

TEST(ScenarioB08, SteadyStateMemory) {
  const int turns = test::kSanitized ? 10000 : 100000;
  EXPECT_TRUE(run_with_comm(RankKind::kProcesses, 2, [&](int, ncclComm_t comm, RankCheck& check) {
    Holdings before;
    std::array<int, 4> a{};
    std::array<int, 4> b{};
    for (int turn = 0; turn < turns; turn++) {
      a = b = {1, 2, 3, turn};
      ncclGroupStart();
      ncclReduce(a.data(), a.data(), 4, ncclInt, ncclSum, 0, comm, nullptr);
      ncclAllReduce(b.data(), b.data(), 4, ncclInt, ncclSum, comm, nullptr);
      if (!check.ok(ncclGroupEnd(), "group") || !check.that(b[3] == 2 * turn, "wrong sum")) return;
      if (turn == 1000) before = holdings();
    }
    expect_steady(before, holdings(), check);
  }));
}

// What another communicator costs, for each peer: at most 4 MiB and 4 descriptors.
TEST(ScenarioB09, ManyLiveCommunicators) {
  constexpr int kRanks = 4;
  constexpr int kComms = 64;
  const auto body = [](int rank, Blackboard& board) {
    RankCheck check(rank);
    std::vector<ncclComm_t> comms(kComms);
    Holdings before;
    for (int turn = 0; turn < kComms; turn++) {
      const ncclUniqueId id = next_id(turn, kRanks, rank, board);
      ncclComm_t& comm = comms[static_cast<size_t>(turn)];
      if (!check.ok(ncclCommInitRank(&comm, kRanks, id, rank), "init")) return 1;
      sum(comm, kRanks, check);
      if (turn == 0) before = holdings();  // what a process needs once
    }
    const Holdings after = holdings();
    constexpr int kMore = kComms - 1;
    constexpr int kPeers = kRanks - 1;
    const int64_t bytes = (after.resident_bytes - before.resident_bytes) / kMore;
    const int descriptors = (after.descriptors - before.descriptors + kMore - 1) / kMore;
    say(rank, board,
        std::to_string(bytes / kKiB) + " KiB, " + std::to_string(descriptors) + " descriptors");
    if (!test::kSanitized) check.that(bytes <= kPeers * 4 * kMiB, "too much memory");
    check.that(descriptors <= kPeers * 4, "too many descriptors");
    check.that(after.threads == before.threads, "threads grow");
    for (const ncclComm_t comm : comms) sum(comm, kRanks, check);
    for (const ncclComm_t comm : comms) check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  };
  Ranks ranks;
  ranks.start(kRanks, body);
  EXPECT_EQ(ranks.wait(std::chrono::seconds(60)), ExitCodes(kRanks, 0));
  for (int rank = 0; rank < kRanks; rank++) {
    RecordProperty("communicator_of_rank_" + std::to_string(rank), ranks.text(rank));
  }
}

// Sockets of the internet kind that this process holds: none is needed.
int internet_listeners() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int listens = 0;
    int domain = 0;
    socklen_t size = sizeof listens;
    const int fd = std::stoi(entry.path().filename());
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    size = sizeof domain;
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    count += domain == AF_UNIX ? 0 : 1;
  }
  return count;
}

void all_collectives_alone(ncclComm_t comm, RankCheck& check) {
  const std::array<float, 3> in = {2, -4, 7};
  std::array<float, 3> out{};
  const auto gives = [&](ncclResult_t result, float factor, const std::string& what) {
    check.ok(result, what);
    for (size_t i = 0; i < in.size(); i++) check.that(out[i] == factor * in[i], what + ": data");
    out = {};
  };
  float scalar = 3;
  ncclRedOp_t scaled{};
  check.ok(ncclRedOpCreatePreMulSum(&scaled, &scalar, ncclFloat, ncclScalarHostImmediate, comm),
           "PreMulSum");
  for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg, scaled}) {
    const float factor = op == scaled ? 3 : 1;
    gives(ncclAllReduce(in.data(), out.data(), 3, ncclFloat, op, comm, nullptr), factor,
          "AllReduce");
    gives(ncclReduce(in.data(), out.data(), 3, ncclFloat, op, 0, comm, nullptr), factor, "Reduce");
    gives(ncclReduceScatter(in.data(), out.data(), 3, ncclFloat, op, comm, nullptr), factor,
          "ReduceScatter");
  }
  gives(ncclAllGather(in.data(), out.data(), 3, ncclFloat, comm, nullptr), 1, "AllGather");
  gives(ncclBroadcast(in.data(), out.data(), 3, ncclFloat, 0, comm, nullptr), 1, "Broadcast");
  out = in;
  gives(ncclAllReduce(out.data(), out.data(), 3, ncclFloat, scaled, comm, nullptr), 3, "in place");
  out = in;
  gives(ncclAllReduce(out.data(), out.data(), 3, ncclFloat, ncclAvg, comm, nullptr), 1, "average");
  check.ok(ncclRedOpDestroy(scaled, comm), "operator");
}

TEST(ScenarioB10, SingleRankIsNearlyFree) {
  const auto body = [](int rank, Blackboard&) {
    RankCheck check(rank);
    constexpr int kComms = 100;
    std::array<ncclComm_t, kComms + 1> comms{};
    Holdings before;
    for (int i = 0; i <= kComms; i++) {
      ncclUniqueId id{};
      ncclComm_t& comm = comms[static_cast<size_t>(i)];
      check.ok(ncclGetUniqueId(&id), "id");
      if (!check.ok(ncclCommInitRank(&comm, 1, id, 0), "init")) return 1;
      all_collectives_alone(comm, check);
      if (i == 0) before = holdings();
    }
    const Holdings after = holdings();
    const int64_t each = (after.resident_bytes - before.resident_bytes) / kComms;
    check.that(test::kSanitized || each < 256 * kKiB,
               "each takes " + std::to_string(each) + " bytes");
    check.that(after.threads == before.threads, "threads grow");
    // The process's own, one for each family of addresses: unique ids name it.
    check.that(internet_listeners() <= 2, "a network listener for each communicator");
    for (const ncclComm_t comm : comms) check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  };
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 1, body));
}

}  // namespace
}  // namespace accl
