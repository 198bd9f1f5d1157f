#include "src/base/line_fifo.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>

namespace accl {
namespace {

struct Ends {
  std::unique_ptr<Fifo> memory = std::make_unique<Fifo>();
  FifoWriter writer{memory.get()};
  FifoReader reader{memory.get()};
};

void send(FifoWriter& writer, uint64_t value, uint32_t signature) {
  Line& line = writer.next();
  line.bytes = sizeof value;
  std::memcpy(line.payload, &value, sizeof value);
  writer.publish(signature);
}
uint64_t value_in(const Line& line) {
  uint64_t value = 0;
  std::memcpy(&value, line.payload, sizeof value);
  return value;
}

TEST(LineFifo, IsLaidOutForTwoProcesses) {
  Fifo fifo{};
  const auto at = [&](const void* member) {
    return static_cast<const char*>(member) - reinterpret_cast<const char*>(&fifo);
  };
  EXPECT_EQ(at(&fifo.popped) % 128, 0);
  EXPECT_GE(at(&fifo.data) - at(&fifo.popped), 128) << "the reader's word has a line of its own";
  EXPECT_GE(at(&fifo.popped) - at(&fifo.lines[Fifo::kLines - 1]), 64);
}

TEST(LineFifo, ArrivalAndSignatureAreOneAnswer) {
  Ends ends;
  EXPECT_EQ(ends.reader.front(0), nullptr) << "zero memory holds no message, of no signature";
  send(ends.writer, 5, 77);
  EXPECT_EQ(ends.reader.front(78), nullptr);
  EXPECT_TRUE(ends.reader.mismatched(78));
  EXPECT_FALSE(ends.reader.mismatched(77));
  ASSERT_NE(ends.reader.front(77), nullptr);
  EXPECT_EQ(value_in(*ends.reader.front(77)), 5u);
}

TEST(LineFifo, OldLapsAreNotMessages) {
  Ends ends;
  for (uint64_t i = 0; i < 10 * Fifo::kLines; ++i) {
    ASSERT_EQ(ends.reader.front(1), nullptr) << i;
    ASSERT_FALSE(ends.reader.mismatched(2)) << i;
    send(ends.writer, i, 1);
    ASSERT_NE(ends.reader.front(1), nullptr) << i;
    ends.reader.pop();
    ASSERT_TRUE(ends.writer.refresh());
  }
}

TEST(LineFifo, FullUntilTheReaderPops) {
  Ends ends;
  for (uint32_t i = 0; i < Fifo::kLines; ++i) {
    ASSERT_FALSE(ends.writer.full());
    send(ends.writer, i, 1);
  }
  EXPECT_TRUE(ends.writer.full());
  ends.reader.pop();
  EXPECT_TRUE(ends.writer.full()) << "the writer has not looked yet";
  EXPECT_TRUE(ends.writer.refresh());
  EXPECT_FALSE(ends.writer.full());
  EXPECT_EQ(ends.writer.popped(), 1u);
}

TEST(LineFifo, AClosedOrImpossibleReaderEndsTheStream) {
  Ends ends;
  send(ends.writer, 1, 1);
  EXPECT_TRUE(ends.writer.refresh());
  ends.memory->popped = 2;
  EXPECT_FALSE(ends.writer.refresh()) << "more popped than sent";
  ends.reader.close();
  EXPECT_FALSE(ends.writer.refresh());
  EXPECT_EQ(ends.memory->popped, Fifo::kClosed);
}

TEST(LineFifo, SequenceNumbersOutliveThirtyTwoBits) {
  // The tag holds the low half only; at 100 ns a message it wraps after seven minutes.
  constexpr uint64_t kStart = (uint64_t{1} << 32) - 100;
  Fifo memory{};
  memory.popped = kStart;
  FifoWriter writer(&memory, kStart);
  FifoReader reader(&memory, kStart);
  for (uint64_t i = 0; i < 300; ++i) {
    ASSERT_EQ(reader.front(0), nullptr) << i;
    ASSERT_FALSE(reader.mismatched(1)) << i;
    send(writer, i, 0);
    ASSERT_TRUE(reader.mismatched(1)) << i;
    ASSERT_NE(reader.front(0), nullptr) << i;
    ASSERT_EQ(value_in(*reader.front(0)), i);
    reader.pop();
    ASSERT_TRUE(writer.refresh());
    ASSERT_FALSE(writer.full());
  }
}

TEST(LineFifo, TwoThreadsKeepOrder) {
  Ends ends;
  constexpr uint64_t kMessages = 300000;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kMessages; ++i) {
      while (ends.writer.full()) {
        if (!ends.writer.refresh()) return;
        if (ends.writer.full()) std::this_thread::yield();
      }
      send(ends.writer, i * 3, static_cast<uint32_t>(i));
    }
  });
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < kMessages; ++i) {
    const Line* line = nullptr;
    while ((line = ends.reader.front(static_cast<uint32_t>(i))) == nullptr) {
      std::this_thread::yield();
    }
    wrong += value_in(*line) != i * 3;
    ends.reader.pop();
  }
  writer.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace accl
