// C23: several messages to one peer arrive in the order in which they were sent.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/base/rng.h"
#include "tests/support/rank_check.h"

namespace accl {
namespace {

constexpr int kMessages = 300;

struct Message {
  size_t count = 0;
  bool opens_group = false;  // and the next ones until `closes_group`
  bool closes_group = false;
};

// Sender and receiver group alike only by chance: groups do not change the order.
std::vector<Message> draw(uint64_t size_seed, uint64_t group_seed) {
  Rng sizes(size_seed);
  Rng groups(group_seed);
  std::vector<Message> all(kMessages);
  bool open = false;
  for (Message& m : all) {
    m.count = sizes.below(4) == 0 ? sizes.below(100000) : sizes.below(40);
    if (!open && groups.below(3) == 0) m.opens_group = open = true;
    if (open && (groups.below(4) == 0 || &m == &all.back())) {
      m.closes_group = true;
      open = false;
    }
  }
  return all;
}

int value(int message, size_t i) { return message * 7919 + static_cast<int>(i); }

void send_all(const std::vector<Message>& messages, ncclComm_t comm, cudaStream_t stream,
              RankCheck& check) {
  std::vector<std::vector<int>> data(messages.size());
  for (size_t m = 0; m < messages.size(); m++) {
    for (size_t i = 0; i < messages[m].count; i++) data[m].push_back(value(static_cast<int>(m), i));
    if (messages[m].opens_group) check.ok(ncclGroupStart(), "GroupStart");
    check.ok(ncclSend(data[m].data(), data[m].size(), ncclInt, 1, comm, stream), "Send");
    if (messages[m].closes_group) check.ok(ncclGroupEnd(), "GroupEnd");
  }
  if (stream != nullptr) check.ok(acclStreamSynchronize(stream), "synchronise");
}

void receive_all(const std::vector<Message>& messages, ncclComm_t comm, cudaStream_t stream,
                 RankCheck& check) {
  std::vector<std::vector<int>> data(messages.size());
  for (size_t m = 0; m < messages.size(); m++) {
    data[m].assign(messages[m].count, -1);
    if (messages[m].opens_group) check.ok(ncclGroupStart(), "GroupStart");
    check.ok(ncclRecv(data[m].data(), data[m].size(), ncclInt, 0, comm, stream), "Recv");
    if (messages[m].closes_group) check.ok(ncclGroupEnd(), "GroupEnd");
  }
  if (stream != nullptr) check.ok(acclStreamSynchronize(stream), "synchronise");
  for (size_t m = 0; m < messages.size(); m++) {
    bool right = true;
    for (size_t i = 0; i < data[m].size(); i++)
      right &= data[m][i] == value(static_cast<int>(m), i);
    check.that(right, "message " + std::to_string(m) + " has another's data");
  }
}

class ScenarioC23 : public testing::TestWithParam<std::tuple<RankKind, bool>> {};

TEST_P(ScenarioC23, SeveralMessagesToOnePeerKeepTheirOrder) {
  const auto [kind, with_stream] = GetParam();
  EXPECT_TRUE(run_with_comm(
      kind, 2, [with_stream = with_stream](int rank, ncclComm_t comm, RankCheck& check) {
        acclStream_t stream = nullptr;
        if (with_stream) check.ok(acclStreamCreate(&stream), "stream");
        for (uint64_t seed = 1; seed <= 3; seed++) {
          if (rank == 0) send_all(draw(seed, seed + 100), comm, stream, check);
          if (rank == 1) receive_all(draw(seed, seed + 200), comm, stream, check);
        }
        if (stream != nullptr) check.ok(acclStreamDestroy(stream), "stream");
      }));
}

INSTANTIATE_TEST_SUITE_P(Ranks, ScenarioC23,
                         testing::Combine(testing::Values(RankKind::kProcesses, RankKind::kThreads),
                                          testing::Bool()));

}  // namespace
}  // namespace accl
