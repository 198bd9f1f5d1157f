// One suite that every transport passes: what transport.h promises.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "src/base/rng.h"
#include "tests/base/sanitized.h"
#include "tests/transport/rig.h"

namespace {
std::atomic<uint64_t> allocations{0};
}  // namespace

// Counted, so that a test can show that the data path does not allocate.
// Not inlined: g++ would see malloc where it expects its own operator.
[[gnu::noinline]] void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace accl::test {
namespace {

constexpr uint32_t kSignature = 7;
constexpr size_t kMax = shm::kMaxMessage;

class Conformance : public ::testing::TestWithParam<Kind> {
 protected:
  Pair open(int stream, Rank from = 0) { return GetParam().open(rig_, segment_, from, stream); }

  Rig rig_;
  std::shared_ptr<shm::CommSegment> segment_ = Rig::segment();
};

INSTANTIATE_TEST_SUITE_P(Transports, Conformance, ::testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(Conformance, NothingHasArrivedAtFirst) {
  Pair pair = open(0);
  EXPECT_FALSE(pair.recv->front(kSignature));
  EXPECT_FALSE(pair.recv->front(0));
  EXPECT_FALSE(pair.recv->mismatched(kSignature));
  EXPECT_TRUE(pair.send->status().ok());
  EXPECT_TRUE(pair.recv->status().ok());
}

TEST_P(Conformance, MessagesArriveInOrderAndOnce) {
  Pair pair = open(0);
  const std::vector<size_t> sizes = {8, 0, 4096, 48, kMax, 49, 1, 100000, 5000};
  uint64_t sent = 0;
  uint64_t received = 0;
  while (received < 2000) {
    while (try_send(*pair.send, sent, sizes[sent % sizes.size()])) ++sent;
    ASSERT_GT(sent, received);
    for (; received < sent; ++received) {
      ASSERT_NO_FATAL_FAILURE(take(*pair.recv, received, sizes[received % sizes.size()]));
    }
    ASSERT_FALSE(pair.recv->front(kSignature));
  }
}

TEST_P(Conformance, SizesAreExact) {
  Pair pair = open(0);
  uint64_t number = 0;
  const auto check = [&](size_t bytes) {
    ASSERT_TRUE(try_send(*pair.send, number, bytes)) << bytes;
    ASSERT_NO_FATAL_FAILURE(take(*pair.recv, number, bytes));
    ++number;
  };
  for (size_t bytes = 0; bytes <= 4200; ++bytes) ASSERT_NO_FATAL_FAILURE(check(bytes));
  for (size_t bytes = 4201; bytes <= kMax; bytes += 3571) ASSERT_NO_FATAL_FAILURE(check(bytes));
  for (size_t bytes = kMax - 65; bytes <= kMax; ++bytes) ASSERT_NO_FATAL_FAILURE(check(bytes));
}

TEST_P(Conformance, EverySizeHasACreditWithoutHelpOfTheReader) {
  for (int stream = 0; size_t bytes : {size_t{0}, size_t{8}, size_t{4096}, size_t{4097}, kMax}) {
    Pair pair = open(stream++);
    int credits = 0;
    while (try_send(*pair.send, static_cast<uint64_t>(credits), bytes)) {
      ASSERT_LT(++credits, 100000) << "a stream must be bounded";
    }
    EXPECT_GE(credits, 1) << bytes;
    EXPECT_TRUE(pair.send->status().ok()) << "full is not failed";
    // One pop is one credit of that size, for ever.
    for (int i = 0; i < 300; ++i) {
      ASSERT_NO_FATAL_FAILURE(take(*pair.recv, static_cast<uint64_t>(i), bytes));
      ASSERT_TRUE(try_send(*pair.send, static_cast<uint64_t>(credits + i), bytes)) << bytes;
      ASSERT_FALSE(pair.send->reserve(bytes));
    }
  }
}

TEST_P(Conformance, ReservingAgainGivesTheSameRoom) {
  Pair pair = open(0);
  for (size_t bytes : {size_t{16}, size_t{1000}, kMax}) {
    const Slice first = pair.send->reserve(bytes);
    const Slice second = pair.send->reserve(bytes);
    ASSERT_TRUE(first);
    EXPECT_EQ(first.data, second.data);
    EXPECT_EQ(second.size, bytes);
    fill(second, bytes);
    EXPECT_FALSE(pair.recv->front(kSignature)) << "not committed yet";
    pair.send->commit(kSignature);
    ASSERT_NO_FATAL_FAILURE(take(*pair.recv, bytes, bytes));
  }
}

TEST_P(Conformance, RoomIsAlignedForKernels) {
  Pair pair = open(0);
  for (size_t bytes : {size_t{64}, size_t{100}, size_t{5000}, size_t{77777}}) {
    const Slice room = pair.send->reserve(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(room.data) % 64, 0u) << bytes;
    fill(room, bytes);
    pair.send->commit(kSignature);
    ASSERT_NO_FATAL_FAILURE(take(*pair.recv, bytes, bytes));
  }
}

TEST_P(Conformance, AnotherSignatureIsAMismatchNotAMessage) {
  Pair pair = open(0);
  for (uint64_t i = 0; i < 200; ++i) {
    const auto signature = static_cast<uint32_t>(i * 0x9E3779B9u);
    ASSERT_TRUE(try_send(*pair.send, i, i * 40, signature));
    EXPECT_FALSE(pair.recv->front(signature + 1));
    EXPECT_TRUE(pair.recv->mismatched(signature + 1));
    EXPECT_FALSE(pair.recv->mismatched(signature));
    EXPECT_EQ(pair.recv->arrived(), signature);
    ASSERT_NO_FATAL_FAILURE(take(*pair.recv, i, i * 40, signature));
    EXPECT_FALSE(pair.recv->mismatched(signature + 1)) << "nothing more has arrived";
  }
}

TEST_P(Conformance, PayloadIsNeverTakenForAMessage) {
  Pair pair = open(0);
  // Every aligned word of every payload is what the tag of one of the next messages will be.
  for (uint64_t i = 0; i < 1000; ++i) {
    const size_t bytes = i % 3 == 0 ? 48 : 4096;
    const Slice room = pair.send->reserve(bytes);
    ASSERT_TRUE(room);
    for (size_t at = 0; at < bytes; at += 8) {
      const uint64_t fake = (i + 2 + at / 8 % 64) << 32 | kSignature;
      std::memcpy(room.data + at, &fake, 8);
    }
    pair.send->commit(kSignature);
    ASSERT_EQ(pair.recv->front(kSignature).size, bytes);
    pair.recv->pop();
    ASSERT_FALSE(pair.recv->front(kSignature)) << "after message " << i;
    ASSERT_FALSE(pair.recv->mismatched(kSignature + 1)) << "after message " << i;
  }
}

TEST_P(Conformance, SymmetricPushThenPop) {
  Pair there = open(0, 0);
  Pair back = open(0, 1);
  for (uint64_t i = 0; i < 500; ++i) {
    const size_t bytes = i % 2 == 0 ? kMax : 8;
    ASSERT_TRUE(try_send(*there.send, i, bytes)) << "both sides send before either reads";
    ASSERT_TRUE(try_send(*back.send, i + 1, bytes));
    ASSERT_NO_FATAL_FAILURE(take(*there.recv, i, bytes));
    ASSERT_NO_FATAL_FAILURE(take(*back.recv, i + 1, bytes));
  }
}

TEST_P(Conformance, RestGivesTheStagingBack) {
  Pair pair = open(0);
  shm::StagingPool& pool = rig_.pool(0);
  for (uint64_t operation = 0; operation < 300; ++operation) {
    ASSERT_TRUE(try_send(*pair.send, operation, kMax));
    EXPECT_EQ(pool.in_use(), 1);
    const bool read_before_rest = operation % 2 == 0;
    if (read_before_rest) {
      ASSERT_NO_FATAL_FAILURE(take(*pair.recv, operation, kMax));
    }
    pair.send->rest();
    EXPECT_EQ(pool.draining(), read_before_rest ? 0 : 1);
    if (!read_before_rest) {
      ASSERT_NO_FATAL_FAILURE(take(*pair.recv, operation, kMax));
    }
    EXPECT_EQ(pool.in_use(), 0) << "read, so free";
  }
}

TEST_P(Conformance, ADrainingMessageIsNotOverwritten) {
  Pair pair = open(0);
  // Six operations, each ended before the reader has looked at anything.
  for (uint64_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(try_send(*pair.send, i, kMax));
    pair.send->rest();
  }
  EXPECT_EQ(rig_.pool(0).draining(), 6);
  for (uint64_t i = 0; i < 6; ++i) ASSERT_NO_FATAL_FAILURE(take(*pair.recv, i, kMax));
  EXPECT_EQ(rig_.pool(0).in_use(), 0);
}

TEST_P(Conformance, LeaseExhaustionWaitsAndSmallMessagesStillGo) {
  Rig small(3 * shm::kSlotBytes);  // one slot is the header's
  auto segment = Rig::segment();
  Pair first = GetParam().open(small, segment, 0, 0);
  Pair second = GetParam().open(small, segment, 0, 1);
  Pair third = GetParam().open(small, segment, 0, 2);
  ASSERT_TRUE(try_send(*first.send, 1, kMax));
  ASSERT_TRUE(try_send(*second.send, 2, 5000));
  EXPECT_FALSE(third.send->reserve(5000)) << "both slots are leased";
  EXPECT_TRUE(third.send->status().ok()) << "it waits, it has not failed";
  ASSERT_TRUE(try_send(*third.send, 3, 4096)) << "this needs no staging";
  ASSERT_NO_FATAL_FAILURE(take(*third.recv, 3, 4096));
  first.send->rest();
  EXPECT_FALSE(third.send->reserve(5000)) << "the slot still drains";
  ASSERT_NO_FATAL_FAILURE(take(*first.recv, 1, kMax));
  ASSERT_TRUE(try_send(*third.send, 4, 5000)) << "drained, so free";
  ASSERT_NO_FATAL_FAILURE(take(*third.recv, 4, 5000));
  ASSERT_NO_FATAL_FAILURE(take(*second.recv, 2, 5000));
}

TEST_P(Conformance, TwoCommunicatorsAndManyStreamsAtOnce) {
  auto other = Rig::segment();
  std::vector<Pair> pairs;
  for (int stream = 0; stream < shm::kStreams; ++stream) {
    pairs.push_back(open(stream));
    pairs.push_back(GetParam().open(rig_, other, 0, stream));
  }
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 0; i < pairs.size(); ++i) {
      ASSERT_TRUE(try_send(*pairs[i].send, i, i * 997 + 1));
    }
    for (size_t i = pairs.size(); i-- > 0;) {
      ASSERT_NO_FATAL_FAILURE(take(*pairs[i].recv, i, i * 997 + 1));
    }
  }
}

TEST_P(Conformance, ByReferenceIsReadWhereItLiesUntilFlushed) {
  Pair pair = open(0);
  std::vector<std::byte> source(1 << 20);
  if (!pair.send->by_reference()) {
    EXPECT_FALSE(pair.send->push({source.data(), source.size()}, kSignature));
    EXPECT_EQ(pair.send->flushed(), 0u);
    return;
  }
  for (uint64_t i = 0; i < 200; ++i) {
    fill({source.data(), source.size()}, i);
    ASSERT_TRUE(pair.send->push({source.data(), source.size()}, kSignature));
    ASSERT_TRUE(try_send(*pair.send, i, 8)) << "copies and references keep their order";
    EXPECT_EQ(pair.send->pushed(), i + 1);
    EXPECT_EQ(pair.send->flushed(), i) << "not read yet";
    const Slice message = pair.recv->front(kSignature);
    EXPECT_EQ(message.data, source.data());
    ASSERT_NO_FATAL_FAILURE(take(*pair.recv, i, source.size()));
    EXPECT_EQ(pair.send->flushed(), i + 1);
    ASSERT_NO_FATAL_FAILURE(take(*pair.recv, i, 8));
  }
  ASSERT_TRUE(pair.send->push({}, kSignature));
  EXPECT_TRUE(pair.recv->front(kSignature)) << "an empty message is a message";
  EXPECT_EQ(pair.recv->front(kSignature).size, 0u);
  pair.recv->pop();
  uint64_t pushed = 201;
  while (pair.send->push({source.data(), 100}, kSignature)) ASSERT_LT(++pushed, 100000u);
  EXPECT_TRUE(pair.send->status().ok());
  pair.recv->pop();
  EXPECT_EQ(pair.send->flushed(), 202u);
  EXPECT_TRUE(pair.send->push({source.data(), 100}, kSignature));
}

TEST_P(Conformance, AMessageBeyondTheLimitFailsTheStream) {
  Pair pair = open(0);
  EXPECT_FALSE(pair.send->reserve(kMax + 1));
  const Status status = pair.send->status();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.text(),
            "a message of 131073 bytes to rank 1: a stream carries at most 131072 at a time");
}

TEST_P(Conformance, AReaderThatLeavesFreesTheStagingAndFailsTheStream) {
  Pair pair = open(3);
  ASSERT_TRUE(try_send(*pair.send, 0, kMax));
  ASSERT_TRUE(try_send(*pair.send, 1, kMax));
  pair.recv = nullptr;
  EXPECT_FALSE(pair.send->reserve(kMax));
  const Status status = pair.send->status();
  EXPECT_EQ(status.code(), Code::kRemote);
  EXPECT_EQ(status.text(), "rank 1 has closed its end of stream 3 from rank 0");
  pair.send->rest();
  EXPECT_EQ(rig_.pool(0).in_use(), 0);
}

TEST_P(Conformance, AWriterThatLeavesKeepsWhatItSentReadable) {
  Pair pair = open(0);
  ASSERT_TRUE(try_send(*pair.send, 0, kMax));
  ASSERT_TRUE(try_send(*pair.send, 1, 8));
  pair.send = nullptr;
  EXPECT_EQ(rig_.pool(0).draining(), 1);
  ASSERT_NO_FATAL_FAILURE(take(*pair.recv, 0, kMax));
  ASSERT_NO_FATAL_FAILURE(take(*pair.recv, 1, 8));
  EXPECT_EQ(rig_.pool(0).in_use(), 0);
  EXPECT_TRUE(pair.recv->status().ok());
}

TEST_P(Conformance, DamagedMemoryIsAnErrorNotACrash) {
  struct Damage {
    uint32_t bytes;
    uint32_t where;
  };
  int stream = 0;
  for (const Damage damage : {Damage{4096, Fifo::kDataBytes}, Damage{100, ~0u}, Damage{5000, ~0u},
                              Damage{static_cast<uint32_t>(kMax) + 1, 0}, Damage{~0u - 1, 0}}) {
    Pair pair = open(stream);
    auto* fifo = reinterpret_cast<Fifo*>(segment_->fifo(1, 0, stream++));
    fifo->lines[0].bytes = damage.bytes;
    fifo->lines[0].where = damage.where;
    fifo->lines[0].tag = uint64_t{1} << 32 | kSignature;
    EXPECT_FALSE(pair.recv->front(kSignature));
    EXPECT_EQ(pair.recv->status().code(), Code::kInternal);
    EXPECT_NE(pair.recv->status().text().find("from rank 0 to rank 1 is damaged: a message of"),
              std::string::npos)
        << pair.recv->status().text();
  }
  Pair pair = open(stream);
  reinterpret_cast<Fifo*>(segment_->fifo(1, 0, stream))->popped = 500;
  while (try_send(*pair.send, 0, 8)) {
  }
  EXPECT_NE(pair.send->status().text().find("is damaged: more was read than sent"),
            std::string::npos)
      << pair.send->status().text();
}

TEST_P(Conformance, TheDataPathDoesNotAllocate) {
  Pair pair = open(0);
  const auto operation = [&](uint64_t i) {
    for (size_t bytes : {size_t{8}, size_t{4096}, kMax}) {
      ASSERT_TRUE(try_send(*pair.send, i, bytes));
      if (bytes == kMax && i % 2 == 0) pair.send->rest();
      ASSERT_NO_FATAL_FAILURE(take(*pair.recv, i, bytes));
    }
    pair.send->rest();
    ASSERT_TRUE(pair.send->status().ok() && pair.recv->status().ok());
  };
  for (uint64_t i = 0; i < 4; ++i) operation(i);
  const uint64_t before = allocations;
  for (uint64_t i = 0; i < 1000; ++i) operation(i);
  EXPECT_EQ(allocations, before);
}

/// Sends or takes `messages` random messages; the same seed on both sides.
size_t random_size(Rng& rng) {
  switch (rng.below(64)) {
    case 0:
      return rng.below(kMax + 1);
    case 1:
    case 2:
    case 3:
      return rng.below(4097);
    default:
      return rng.below(65);
  }
}
void send_random(SendEnd& end, uint64_t messages, uint64_t seed) {
  Rng rng(seed);
  std::vector<std::byte> source(kMax);
  for (uint64_t i = 0; i < messages; ++i) {
    const size_t bytes = random_size(rng);
    if (end.by_reference() && bytes > 4096) {
      fill({source.data(), bytes}, i);
      while (!end.push({source.data(), bytes}, kSignature)) std::this_thread::yield();
      while (end.flushed() != end.pushed()) std::this_thread::yield();
    } else {
      while (!try_send(end, i, bytes)) std::this_thread::yield();
    }
    if (rng.below(50) == 0) end.rest();
  }
}
/// The number of the first wrong message, `messages` if all were right.
uint64_t take_random(RecvEnd& end, uint64_t messages, uint64_t seed) {
  Rng rng(seed);
  for (uint64_t i = 0; i < messages; ++i) {
    const size_t bytes = random_size(rng);
    Slice message;
    while (!(message = end.front(kSignature))) {
      if (!end.status().ok()) return i;
      std::this_thread::yield();
    }
    if (message.size != bytes || !holds(message, i)) return i;
    end.pop();
    (void)rng.below(50);
  }
  return messages;
}

TEST_P(Conformance, RandomMessagesBetweenThreads) {
  const uint64_t messages = kSanitized ? 50000 : 1000000;
  Pair pair = open(0);
  std::thread writer([&] { send_random(*pair.send, messages, 42); });
  EXPECT_EQ(take_random(*pair.recv, messages, 42), messages);
  writer.join();
  pair.send->rest();
  EXPECT_EQ(rig_.pool(0).in_use(), 0);
}

TEST_P(Conformance, RandomMessagesBetweenProcesses) {
  if (!GetParam().between_processes) GTEST_SKIP() << "a transport within one process";
  const uint64_t messages = kSanitized ? 50000 : 1000000;
  Pair pair = open(0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    send_random(*pair.send, messages, 43);
    _exit(pair.send->status().ok() ? 0 : 1);
  }
  EXPECT_EQ(take_random(*pair.recv, messages, 43), messages);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_P(Conformance, AWriterKilledMidStreamLeavesAReadableStream) {
  if (!GetParam().between_processes) GTEST_SKIP() << "a transport within one process";
  Pair pair = open(0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (uint64_t i = 0;; i += try_send(*pair.send, i, i % 10 == 9 ? kMax : 100)) {
    }
  }
  uint64_t received = 0;
  for (; received < 2000; ++received) {
    while (!pair.recv->front(kSignature)) std::this_thread::yield();
    ASSERT_NO_FATAL_FAILURE(take(*pair.recv, received, received % 10 == 9 ? kMax : 100));
  }
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  // What was sent can still be read, then nothing comes; that the peer has died others find out.
  for (; pair.recv->front(kSignature); ++received) {
    ASSERT_NO_FATAL_FAILURE(take(*pair.recv, received, received % 10 == 9 ? kMax : 100));
  }
  EXPECT_FALSE(pair.recv->mismatched(kSignature));
  EXPECT_TRUE(pair.recv->status().ok());
}

}  // namespace
}  // namespace accl::test
