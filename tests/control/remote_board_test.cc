// What other hosts' ranks tell: it stands on the board like what this host's ranks write.
#include "src/control/remote_board.h"

#include <gtest/gtest.h>

namespace accl {
namespace {

CallSignature call(uint64_t sequence, Collective collective, int32_t root = -1) {
  return {sequence, collective, 1000, DataType::kFloat32, 0, root};
}

TEST(RemoteBoard, DifferingCallsShow) {
  RemoteBoard remote(3);
  Board board({remote.slot(0), remote.slot(1), remote.slot(2)});
  remote.introduce(0, {.pid = 10, .start_time = 1, .host = "left"});
  remote.introduce(2, {.pid = 12, .start_time = 1, .host = "right"});
  EXPECT_EQ(board.describe_rank(2), "rank 2 (pid 12 on host right)");
  BoardWriter own(remote.slot(1));
  own.publish(call(17, Collective::kAllReduce));
  remote.told(0, call(17, Collective::kAllReduce));
  EXPECT_FALSE(board.compare().has_value());
  EXPECT_FALSE(board.all_began(17, 1));
  remote.told(2, call(17, Collective::kBroadcast, 1));
  EXPECT_TRUE(board.all_began(17, 1));
  const auto mismatch = board.compare();
  ASSERT_TRUE(mismatch.has_value());
  EXPECT_EQ(mismatch->text,
            "operation 17 differs: ranks 0, 1 call AllReduce(count 1000, float, sum); rank 2 calls "
            "Broadcast(count 1000, float, root 1)");
}

TEST(RemoteBoard, SignaturesTravel) {
  for (const CallSignature& signature :
       {call(1, Collective::kAllGather), call(~0ull, Collective::kReduce, 7),
        CallSignature{5, Collective::kAllReduce, ~0ull, DataType::kBfloat16, 4, -1}}) {
    const auto back = signature_of(wire_of(signature));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(*back, signature);
  }
  Blob wire = wire_of(call(1, Collective::kAllGather));
  wire.pop_back();
  EXPECT_FALSE(signature_of(wire).has_value());
  wire.resize(30);
  EXPECT_FALSE(signature_of(wire).has_value());
}

}  // namespace
}  // namespace accl
