// Groups: nesting, errors inside, several communicators, one thread that drives many ranks, inits.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/rank_check.h"

namespace accl {
namespace {

ncclDataType_t no_type(int number) { return static_cast<ncclDataType_t>(number); }

/// Runs `body` in a process of its own that has the ranks of `ncclCommInitAll`, all in one thread.
using AllBody = std::function<void(std::vector<ncclComm_t>& comms, RankCheck& check)>;

bool run_in_one_thread(int ranks, const AllBody& body) {
  return run_ranks(RankKind::kProcesses, 1, [&](int, Blackboard&) {
    RankCheck check(0);
    std::vector<ncclComm_t> comms(static_cast<size_t>(ranks));
    std::vector<int> devices(comms.size(), 0);
    if (!check.ok(ncclCommInitAll(comms.data(), ranks, devices.data()), "InitAll")) return 1;
    body(comms, check);
    for (const ncclComm_t comm : comms) check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  });
}

TEST(Group, EndWithoutStartIsAnError) {
  RankCheck check(0);
  check.refused(ncclGroupEnd(), ncclInvalidUsage,
                {"ncclGroupEnd", "without a matching ncclGroupStart"}, "GroupEnd");
  check.ok(ncclGroupStart(), "GroupStart");
  check.ok(ncclGroupEnd(), "an empty group");
  check.refused(ncclGroupEnd(), ncclInvalidUsage, {"without a matching"}, "one End too many");
  EXPECT_EQ(check.code(), 0);
}

TEST(Group, OneThreadDrivesManyRanks) {
  for (const int ranks : {2, 4, 8}) {
    EXPECT_TRUE(run_in_one_thread(ranks, [ranks](std::vector<ncclComm_t>& comms, RankCheck& check) {
      for (const size_t count : {size_t{1}, size_t{1000}, size_t{300000}}) {
        std::vector<std::vector<int>> out(comms.size(), std::vector<int>(count));
        std::vector<std::vector<int>> in;
        check.ok(ncclGroupStart(), "GroupStart");
        for (size_t r = 0; r < comms.size(); r++) {
          in.emplace_back(count, static_cast<int>(r) + 1);
          check.ok(ncclAllReduce(in[r].data(), out[r].data(), count, ncclInt, ncclSum, comms[r],
                                 nullptr),
                   "AllReduce");
        }
        check.ok(ncclGroupEnd(), "GroupEnd");
        const std::vector<int> wanted(count, ranks * (ranks + 1) / 2);
        for (const auto& got : out) check.that(got == wanted, "a sum is wrong");
      }
    }));
  }
}

TEST(Group, OnlyTheOutermostEndIssues) {
  EXPECT_TRUE(run_in_one_thread(2, [](std::vector<ncclComm_t>& comms, RankCheck& check) {
    int in[2] = {1, 2};
    int out[2] = {-1, -1};
    check.ok(ncclGroupStart(), "outer Start");
    for (size_t r = 0; r < 2; r++) {
      check.ok(ncclGroupStart(), "inner Start");
      check.ok(ncclAllReduce(&in[r], &out[r], 1, ncclInt, ncclSum, comms[r], nullptr), "call");
      check.ok(ncclGroupEnd(), "inner End");  // would wait for ever if it issued
      check.that(out[r] == -1, "an inner End has issued");
    }
    check.ok(ncclGroupEnd(), "outer End");
    check.that(out[0] == 3 && out[1] == 3, "the sum is wrong");
  }));
}

// C31: the error is returned, by the call and by the End; nothing of the group has happened.
TEST(Group, AnErrorInsideDropsAll) {
  EXPECT_TRUE(run_in_one_thread(2, [](std::vector<ncclComm_t>& comms, RankCheck& check) {
    int in[2] = {1, 2};
    int out[2] = {-1, -1};
    for (int turn = 0; turn < 3; turn++) {
      check.ok(ncclGroupStart(), "GroupStart");
      for (size_t r = 0; r < 2; r++) {
        check.ok(ncclAllReduce(&in[r], &out[r], 1, ncclInt, ncclSum, comms[r], nullptr), "call");
      }
      check.refused(ncclAllReduce(&in[0], &out[0], 1, no_type(99), ncclSum, comms[0], nullptr),
                    ncclInvalidArgument, {"ncclAllReduce", "datatype 99"}, "bad call");
      check.ok(ncclSend(&in[0], 1, ncclInt, 1, comms[0], nullptr), "a call after the bad one");
      check.refused(ncclGroupEnd(), ncclInvalidArgument, {"ncclGroupEnd", "datatype 99"}, "End");
      check.that(out[0] == -1 && out[1] == -1, "a dropped group has written");
    }
    check.that(failure_text(comms[0]).empty(), "a dropped group became a failure");
    check.ok(ncclGroupStart(), "GroupStart");
    for (size_t r = 0; r < 2; r++) {
      check.ok(ncclAllReduce(&in[r], &out[r], 1, ncclInt, ncclSum, comms[r], nullptr), "call");
    }
    check.ok(ncclGroupEnd(), "the group after");
    check.that(out[0] == 3 && out[1] == 3, "the sum after is wrong");
  }));
}

TEST(Group, AForeignHandleInsideDropsAll) {
  EXPECT_TRUE(run_in_one_thread(1, [](std::vector<ncclComm_t>& comms, RankCheck& check) {
    int value = 5;
    int out = 0;
    check.ok(ncclGroupStart(), "GroupStart");
    check.ok(ncclAllReduce(&value, &out, 1, ncclInt, ncclSum, comms[0], nullptr), "call");
    check.refused(ncclAllReduce(&value, &out, 1, ncclInt, ncclSum, nullptr, nullptr),
                  ncclInvalidArgument, {"comm is NULL"}, "NULL");
    check.refused(ncclGroupEnd(), ncclInvalidArgument, {"ncclGroupEnd", "comm is NULL"}, "End");
    check.that(out == 0, "a dropped group has written");
  }));
}

TEST(Group, SeveralCommunicatorsAndKindsOfCalls) {
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 1, [](int, Blackboard&) {
    RankCheck check(0);
    constexpr size_t kRanks = 3;
    const int devices[kRanks] = {0, 1, 2};
    ncclComm_t first[kRanks] = {};
    ncclComm_t second[kRanks] = {};
    check.ok(ncclCommInitAll(first, kRanks, devices), "first");
    check.ok(ncclCommInitAll(second, kRanks, devices), "second");
    acclStream_t streams[kRanks] = {};
    for (acclStream_t& stream : streams) check.ok(acclStreamCreate(&stream), "stream");
    std::vector<int> in(3000, 1);
    std::vector<std::vector<int>> sums(kRanks, std::vector<int>(3000));
    std::vector<std::vector<int>> copies(kRanks, std::vector<int>(3000));
    int passed[kRanks] = {};
    const int numbers[kRanks] = {10, 11, 12};
    check.ok(ncclGroupStart(), "GroupStart");
    for (size_t r = 0; r < kRanks; r++) {
      const auto rank = static_cast<int>(r);
      check.ok(
          ncclAllReduce(in.data(), sums[r].data(), 3000, ncclInt, ncclSum, first[r], streams[r]),
          "AllReduce");
      check.ok(ncclBroadcast(in.data(), copies[r].data(), 3000, ncclInt, 1, second[r], nullptr),
               "Broadcast");
      check.ok(ncclSend(&numbers[r], 1, ncclInt, (rank + 1) % 3, second[r], streams[r]), "Send");
      check.ok(ncclRecv(&passed[r], 1, ncclInt, (rank + 2) % 3, second[r], streams[r]), "Recv");
    }
    check.ok(ncclGroupEnd(), "GroupEnd");
    for (size_t r = 0; r < kRanks; r++) {
      check.ok(acclStreamSynchronize(streams[r]), "synchronise");
      check.that(sums[r] == std::vector<int>(3000, 3), "sum");
      check.that(copies[r] == in, "copy");
      check.that(passed[r] == numbers[(r + 2) % 3], "passed on");
      check.ok(acclStreamDestroy(streams[r]), "stream");
      check.ok(ncclCommDestroy(first[r]), "destroy");
      check.ok(ncclCommDestroy(second[r]), "destroy");
    }
    return check.code();
  }));
}

// NCCL's way of one process with many ranks: every init in one group.
TEST(Group, InitsInsideAGroup) {
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 1, [](int, Blackboard&) {
    RankCheck check(0);
    ncclUniqueId id{};
    check.ok(ncclGetUniqueId(&id), "id");
    constexpr int kRanks = 4;
    ncclComm_t comms[kRanks] = {};
    check.ok(ncclGroupStart(), "GroupStart");
    for (int r = 0; r < kRanks; r++) {
      check.ok(acclSetDevice(r), "device");
      check.ok(ncclCommInitRank(&comms[r], kRanks, id, r), "init");
      check.that(comms[r] != nullptr, "there is no handle yet");
      int count = 0;
      check.refused(ncclCommCount(comms[r], &count), ncclInvalidArgument,
                    {"still being initialised"}, "use before the group's end");
    }
    check.ok(ncclGroupEnd(), "GroupEnd");
    for (int r = 0; r < kRanks; r++) {
      int answers[3] = {-1, -1, -1};
      check.ok(ncclCommCount(comms[r], &answers[0]), "count");
      check.ok(ncclCommUserRank(comms[r], &answers[1]), "rank");
      check.ok(ncclCommCuDevice(comms[r], &answers[2]), "device");
      check.that(answers[0] == kRanks && answers[1] == r && answers[2] == r, "answers are wrong");
      check.ok(ncclCommDestroy(comms[r]), "destroy");
    }
    return check.code();
  }));
}

TEST(Group, ABadInitInsideAGroupIsReturned) {
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 1, [](int, Blackboard&) {
    RankCheck check(0);
    ncclUniqueId id{};
    check.ok(ncclGetUniqueId(&id), "id");
    ncclComm_t comm = nullptr;
    check.ok(ncclGroupStart(), "GroupStart");
    check.refused(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument,
                  {"ncclCommInitRank", "rank 2 is not in 0..1"}, "init");
    check.refused(ncclGroupEnd(), ncclInvalidArgument, {"ncclGroupEnd", "rank 2 is not in 0..1"},
                  "GroupEnd");
    check.that(comm == nullptr, "a refused init left a communicator");
    return check.code();
  }));
}

}  // namespace
}  // namespace accl
