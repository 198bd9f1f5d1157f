#include "transport/shm/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <set>
#include <string>

#include "tests/transport/rig.h"

namespace accl::shm {
namespace {

using test::copy_of;
using test::value_of;

TEST(CommSegment, IsSparseFor256Ranks) {
  auto segment = CommSegment::create(256);
  ASSERT_TRUE(segment.ok()) << segment.status().text();
  struct stat info {};
  ASSERT_EQ(fstat((*segment)->fd(), &info), 0);
  EXPECT_LT(info.st_blocks * 512, 4 << 20);
  ASSERT_TRUE((*segment)->populate_fifo(255, 254, 23).ok());
  auto* last = reinterpret_cast<Fifo*>((*segment)->fifo(255, 254, 23));
  last->popped = 1;
  last->data[Fifo::kDataBytes - 1] = std::byte{1};
}

TEST(CommSegment, PartsDoNotOverlap) {
  constexpr int kRanks = 3;
  constexpr int kOfStreams = 2;
  auto segment = value_of(CommSegment::create(kRanks, kOfStreams));
  std::set<std::byte*> starts = {segment->shared().data()};
  EXPECT_EQ(segment->shared().size(), kPageBytes);
  for (Rank rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(segment->board(rank).size(), kPageBytes);
    starts.insert(segment->board(rank).data());
    for (Rank from = 0; from < kRanks; ++from) {
      for (int stream = 0; stream < kOfStreams; ++stream) {
        starts.insert(segment->fifo(rank, from, stream));
      }
    }
  }
  EXPECT_EQ(starts.size(), 1u + kRanks + kRanks * kRanks * kOfStreams);
  std::byte* before = nullptr;
  for (std::byte* start : starts) {
    if (before != nullptr) {
      EXPECT_GE(static_cast<size_t>(start - before), kPageBytes);
    }
    before = start;
  }
  EXPECT_EQ(reinterpret_cast<uintptr_t>(segment->fifo(0, 0, 0)) % kPageBytes, 0u);
}

TEST(CommSegment, RanksSeeTheSameMemory) {
  auto first = value_of(CommSegment::create(2));
  auto second = value_of(CommSegment::map(copy_of(first->fd()), 2));
  EXPECT_NE(first->board(0).data(), second->board(0).data());
  EXPECT_EQ(first->token(), second->token());
  std::memcpy(first->board(1).data(), "one", 3);
  EXPECT_EQ(std::memcmp(second->board(1).data(), "one", 3), 0);
  std::memcpy(second->shared().data() + 4000, "all", 3);
  EXPECT_EQ(std::memcmp(first->shared().data() + 4000, "all", 3), 0);
}

TEST(CommSegment, OneMappingPerProcess) {
  SegmentMap segments;
  auto created = value_of(segments.create(2));
  auto mapped = value_of(segments.map(copy_of(created->fd()), 2));
  EXPECT_EQ(created, mapped);
  auto other = value_of(segments.create(2));
  EXPECT_NE(other, created);
  Fd kept = copy_of(created->fd());
  created = nullptr;
  mapped = nullptr;
  EXPECT_NE(value_of(segments.map(std::move(kept), 2)), nullptr) << "mapped anew once it is gone";
}

TEST(CommSegment, StrangersAreRefused) {
  auto segment = value_of(CommSegment::create(4));
  auto other_size = CommSegment::map(copy_of(segment->fd()), 3);
  ASSERT_FALSE(other_size.ok());
  EXPECT_EQ(other_size.status().code(), Code::kRemote);
  EXPECT_EQ(other_size.status().text().find("the memory offered as accl communicator has "), 0u)
      << other_size.status().text();

  auto stranger = value_of(
      SharedMemory::create("stranger", static_cast<size_t>(lseek(segment->fd(), 0, SEEK_END))));
  auto not_ours = CommSegment::map(copy_of(stranger.fd()), 4);
  ASSERT_FALSE(not_ours.ok());
  EXPECT_EQ(not_ours.status().text(),
            "the memory offered as a communicator's segment is something else");

  auto* header = reinterpret_cast<SegmentHeader*>(segment->shared().data() - kPageBytes);
  header->layout.version = 99;
  auto other_version = CommSegment::map(copy_of(segment->fd()), 4);
  ASSERT_FALSE(other_version.ok());
  EXPECT_EQ(other_version.status().text(),
            "the communicator's segment has layout 99, this library knows 1: the ranks use "
            "different versions of the library");

  header->layout.version = SegmentHeader::kVersion;
  header->streams = 7;
  auto other_shape = CommSegment::map(copy_of(segment->fd()), 4);
  ASSERT_FALSE(other_shape.ok());
  EXPECT_EQ(other_shape.status().text(),
            "the communicator's segment is for 4 ranks with 7 streams, expected 4 and 24");
}

TEST(CommSegment, ImpossibleNumbersAreRefused) {
  for (auto [ranks, streams] : {std::pair{0, 1}, {-1, 1}, {1025, 1}, {2, 0}, {2, 257}}) {
    auto segment = CommSegment::create(ranks, streams);
    ASSERT_FALSE(segment.ok());
    EXPECT_EQ(segment.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(segment.status().text(),
              "a communicator segment for " + std::to_string(ranks) + " ranks with " +
                  std::to_string(streams) +
                  " streams: at most 1024 ranks on one host and 256 streams");
  }
}

TEST(CommSegment, StreamsThatItDoesNotHaveAreRefused) {
  test::Rig rig;
  auto segment = test::Rig::segment();
  auto end = shm::open_send(rig.link(segment, 0, kStreams, 0));
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.status().text(),
            "no stream 24 from rank 0 to rank 1 in a segment of 2 ranks with 24 streams");
  Link link = rig.link(segment, 0, 0, 0);
  link.to = 2;
  auto recv = shm::open_recv(link);
  ASSERT_FALSE(recv.ok());
  EXPECT_EQ(recv.status().code(), Code::kInvalidArgument);
  link.to = 1;
  link.peer = nullptr;
  auto alone = shm::open_recv(link);
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.status().text(), "a stream between processes needs a peer");
  EXPECT_TRUE(local::open_recv(link).ok());
}

}  // namespace
}  // namespace accl::shm
