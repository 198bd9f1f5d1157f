// Random sequences of calls against an oracle: collectives, groups of them, exchanges between
// pairs, two communicators whose ranks are numbered differently, NULL and real streams. Every rank
// draws the same sequence from the seed. ACCL_TEST_SEED and ACCL_TEST_STEPS choose another one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "src/base/rng.h"
#include "tests/base/sanitized.h"
#include "tests/support/rank_check.h"
#include "tests/support/test_call.h"

namespace accl {
namespace {

uint64_t number_from(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// A message of an exchange; every rank knows all of them.
struct Message {
  int from = 0;
  int to = 0;
  size_t bytes = 0;
};

// What all ranks do next on communicator `comm`, on stream `stream` (0: NULL).
struct Step {
  size_t comm = 0;
  size_t stream = 0;
  std::vector<CallShape> calls;   // more than one: a group
  std::vector<Message> messages;  // in a group as well
  bool grouped = false;
  bool settle = false;  // synchronise all and judge
};

class Sequence {
 public:
  Sequence(uint64_t seed, int ranks) : rng_(seed), ranks_(ranks) {}

  Step next() {
    Step step;
    step.comm = rng_.below(2);
    step.stream = rng_.below(3);
    step.settle = rng_.below(8) == 0;
    step.grouped = rng_.below(3) == 0;
    const uint64_t calls = step.grouped ? rng_.below(4) : 1;
    for (uint64_t i = 0; i < calls; i++) step.calls.push_back(shape());
    if (step.grouped) draw_messages(step);
    return step;
  }

 private:
  size_t size() {
    switch (rng_.below(8)) {
      case 0:
        return 0;
      case 1:
        return rng_.below(size_t{1} << 17);  // of 8 bytes: up to 1 MiB
      case 2:
      case 3:
        return rng_.below(5000);
      default:
        return 1 + rng_.below(40);
    }
  }

  CallShape shape() {
    CallShape s;
    s.kind = static_cast<TestKind>(rng_.below(kTestKinds));
    s.type = static_cast<ncclDataType_t>(rng_.below(kDataTypes));
    s.op = reduces(s.kind) ? static_cast<TestOp>(rng_.below(kTestOps)) : TestOp::kSum;
    s.count = size() / (s.kind == TestKind::kAllToAll ? 4 : 1);
    s.root = static_cast<int>(rng_.below(static_cast<uint64_t>(ranks_)));
    s.in_place = rng_.below(2) == 0;
    s.skew = rng_.below(4) == 0 ? rng_.below(9) : 0;
    s.seed = rng_.next();
    return s;
  }

  void draw_messages(Step& step) {
    for (uint64_t i = rng_.below(3 * static_cast<uint64_t>(ranks_)); i > 0; i--) {
      const auto ranks = static_cast<uint64_t>(ranks_);
      step.messages.push_back({.from = static_cast<int>(rng_.below(ranks)),
                               .to = static_cast<int>(rng_.below(ranks)),
                               .bytes = size()});
    }
  }

  Rng rng_;
  int ranks_;
};

uint8_t byte_of(size_t message, size_t i) {
  return static_cast<uint8_t>(message * 37 + i * 11 + i / 253);
}

// A rank's part in the steps since the last settling.
class Player {
 public:
  Player(int world_rank, int ranks, const ncclComm_t (&comms)[2], RankCheck& check)
      : world_rank_(world_rank), ranks_(ranks), comms_{comms[0], comms[1]}, check_(check) {
    for (acclStream_t& stream : streams_) check_.ok(acclStreamCreate(&stream), "stream");
  }
  ~Player() {
    settle();
    for (const acclStream_t stream : streams_) check_.ok(acclStreamDestroy(stream), "stream");
  }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  void play(const Step& step) {
    const cudaStream_t stream = step.stream == 0 ? nullptr : streams_[step.stream - 1];
    const int rank = rank_in(step.comm);
    if (step.grouped) check_.ok(ncclGroupStart(), "GroupStart");
    for (const CallShape& shape : step.calls) {
      calls_.push_back(std::make_unique<TestCall>(shape, rank, ranks_));
      check_.ok(calls_.back()->issue(comms_[step.comm], stream), shape.describe());
    }
    for (size_t m = 0; m < step.messages.size(); m++) exchange(step, m, rank, stream);
    if (step.grouped) check_.ok(ncclGroupEnd(), "GroupEnd");
    if (step.settle) settle();
  }

 private:
  struct Arrival {
    size_t message;
    std::vector<uint8_t> data;
  };

  // In the second communicator the ranks are numbered backwards.
  int rank_in(size_t comm) const { return comm == 0 ? world_rank_ : ranks_ - 1 - world_rank_; }

  void exchange(const Step& step, size_t m, int rank, cudaStream_t stream) {
    const Message& message = step.messages[m];
    if (message.from == rank) {
      sent_.push_back(std::make_unique<std::vector<uint8_t>>(message.bytes));
      auto& data = *sent_.back();
      for (size_t i = 0; i < data.size(); i++) data[i] = byte_of(m, i);
      check_.ok(
          ncclSend(data.data(), data.size(), ncclUint8, message.to, comms_[step.comm], stream),
          "Send");
    }
    if (message.to == rank) {
      arrivals_.push_back(
          std::make_unique<Arrival>(Arrival{m, std::vector<uint8_t>(message.bytes)}));
      auto& data = arrivals_.back()->data;
      check_.ok(
          ncclRecv(data.data(), data.size(), ncclUint8, message.from, comms_[step.comm], stream),
          "Recv");
    }
  }

  void settle() {
    for (const acclStream_t stream : streams_)
      check_.ok(acclStreamSynchronize(stream), "synchronise");
    for (const auto& call : calls_) call->judge(check_);
    for (const auto& arrival : arrivals_) {
      bool right = true;
      for (size_t i = 0; i < arrival->data.size(); i++) {
        right &= arrival->data[i] == byte_of(arrival->message, i);
      }
      check_.that(right,
                  "message " + std::to_string(arrival->message) + " of an exchange is wrong");
    }
    calls_.clear();
    sent_.clear();
    arrivals_.clear();
  }

  int world_rank_;
  int ranks_;
  ncclComm_t comms_[2];
  RankCheck& check_;
  acclStream_t streams_[2] = {};
  std::vector<std::unique_ptr<TestCall>> calls_;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> sent_;
  std::vector<std::unique_ptr<Arrival>> arrivals_;
};

int play_all(uint64_t seed, uint64_t steps, int ranks, int rank, Blackboard& board) {
  RankCheck check(rank);
  ncclComm_t comms[2] = {};
  if (!check.ok(join_ranks(&comms[0], ranks, rank, board), "first init")) return 1;
  ncclUniqueId id{};
  if (rank == 0) check.ok(ncclGetUniqueId(&id), "id");
  check.ok(ncclBcast(&id, sizeof id, ncclInt8, 0, comms[0], nullptr), "id");
  if (!check.ok(ncclCommInitRank(&comms[1], ranks, id, ranks - 1 - rank), "second init")) return 1;
  {
    Sequence sequence(seed, ranks);
    Player player(rank, ranks, comms, check);
    for (uint64_t i = 0; i < steps && check.code() == 0; i++) player.play(sequence.next());
  }
  for (const ncclComm_t comm : comms) check.ok(ncclCommDestroy(comm), "destroy");
  return check.code();
}

class RandomCalls : public testing::TestWithParam<std::tuple<RankKind, int>> {};

TEST_P(RandomCalls, AgreeWithTheOracle) {
  const auto [kind, ranks] = GetParam();
  const uint64_t first = number_from("ACCL_TEST_SEED", 1);
  const uint64_t steps = number_from("ACCL_TEST_STEPS", test::kSanitized ? 60 : 300);
  for (uint64_t seed = first; seed < first + 2; seed++) {
    EXPECT_TRUE(run_ranks(
        kind, ranks,
        [&, ranks = ranks](int rank, Blackboard& board) {
          return play_all(seed, steps, ranks, rank, board);
        },
        std::chrono::seconds(50)))
        << "ACCL_TEST_SEED=" << seed << " ACCL_TEST_STEPS=" << steps << " " << name_of(kind) << " "
        << ranks;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, RandomCalls,
                         testing::Combine(testing::Values(RankKind::kProcesses, RankKind::kThreads),
                                          testing::Values(2, 3, 5, 8)),
                         [](const auto& test) {
                           return name_of(std::get<0>(test.param)) +
                                  std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace accl
