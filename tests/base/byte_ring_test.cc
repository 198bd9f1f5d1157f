#include "src/base/byte_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "src/base/rng.h"

namespace accl {
namespace {

TEST(ByteRing, FindChangesNothing) {
  ByteRing ring(1024);
  EXPECT_EQ(ring.find(100), 0u);
  EXPECT_EQ(ring.find(512), 0u);
  EXPECT_TRUE(ring.empty());
}

TEST(ByteRing, PiecesAreAlignedAndContiguous) {
  ByteRing ring(1024);
  ring.take(ring.find(1), 1);
  EXPECT_EQ(ring.find(100), 64u);
  ring.take(64, 100);
  EXPECT_EQ(ring.find(512), 192u);
  ring.take(192, 512);
  EXPECT_EQ(ring.used(), 704u);
  EXPECT_EQ(ring.find(320), 704u) << "exactly to the end";
  EXPECT_EQ(ring.find(384), ByteRing::kNone);
}

TEST(ByteRing, APieceThatDoesNotFitBeforeTheEndStartsAtTheFront) {
  ByteRing ring(1024);
  ring.take(ring.find(512), 512);
  const uint64_t second = ring.take(ring.find(384), 384);
  ring.free_to(second);
  EXPECT_EQ(ring.find(128), 896u);
  EXPECT_EQ(ring.find(192), 0u) << "128 bytes at the end are skipped";
  const uint64_t third = ring.take(0, 192);
  EXPECT_EQ(ring.used(), 320u) << "skipped bytes are used until the piece is freed";
  ring.free_to(third);
  EXPECT_TRUE(ring.empty());
}

TEST(ByteRing, AnEmptyRingHasRoomForHalfOfItWhereverItStands) {
  for (uint32_t first = 64; first <= 512; first += 64) {
    for (uint32_t second = 64; second <= 512; second += 64) {
      ByteRing ring(1024);
      ring.free_to(ring.take(ring.find(first), first));
      ring.free_to(ring.take(ring.find(second), second));
      EXPECT_NE(ring.find(512), ByteRing::kNone) << first << " " << second;
    }
  }
}

TEST(ByteRing, RandomPiecesNeverOverlap) {
  struct Piece {
    uint32_t start;
    uint32_t bytes;
    uint64_t position;
  };
  constexpr uint32_t kSize = 16256;
  Rng rng(5);
  ByteRing ring(kSize);
  std::deque<Piece> live;
  int full = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto bytes = static_cast<uint32_t>(1 + rng.below(4096));
    const uint32_t start = ring.find(bytes);
    if (start == ByteRing::kNone || rng.below(3) == 0) {
      full += start == ByteRing::kNone;
      if (live.empty()) {
        ASSERT_NE(start, ByteRing::kNone);
        continue;
      }
      ring.free_to(live.front().position);
      live.pop_front();
      continue;
    }
    ASSERT_EQ(start % ByteRing::kAlign, 0u);
    ASSERT_LE(start + bytes, kSize);
    for (const Piece& other : live) {
      ASSERT_TRUE(start + bytes <= other.start || other.start + other.bytes <= start) << i;
    }
    live.push_back({start, bytes, ring.take(start, bytes)});
  }
  EXPECT_GT(full, 1000);
}

}  // namespace
}  // namespace accl
