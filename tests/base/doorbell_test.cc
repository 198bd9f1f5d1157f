#include "src/base/doorbell.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <thread>

#include "src/base/fd.h"

namespace accl {
namespace {

struct Bell {
  SleepWord word{0};
  Fd event{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Sleeper sleeper{&word, event.get()};
  Doorbell doorbell{&word, event.get()};

  bool rung() const {
    pollfd entry{event.get(), POLLIN, 0};
    return poll(&entry, 1, 0) == 1;
  }
  eventfd_t rings() const {
    eventfd_t count = 0;
    (void)eventfd_read(event.get(), &count);
    return count;
  }
};

TEST(Doorbell, NobodyIsRungByDefault) {
  Doorbell doorbell;
  doorbell.ring_if_sleeping();
  SUCCEED();
}

TEST(Doorbell, AwakeOwnersAreNotDisturbed) {
  Bell bell;
  bell.doorbell.ring_if_sleeping();
  EXPECT_FALSE(bell.rung());
  bell.sleeper.prepare();
  bell.sleeper.awake();
  bell.doorbell.ring_if_sleeping();
  EXPECT_FALSE(bell.rung());
}

TEST(Doorbell, ASleepIsRungOncePerDoorbell) {
  Bell bell;
  Doorbell other = bell.doorbell;
  bell.sleeper.prepare();
  for (int i = 0; i < 10; ++i) bell.doorbell.ring_if_sleeping();
  EXPECT_EQ(bell.rings(), 1u);
  other.ring_if_sleeping();
  EXPECT_EQ(bell.rings(), 1u);
  bell.sleeper.awake();
  bell.sleeper.prepare();
  bell.doorbell.ring_if_sleeping();
  EXPECT_EQ(bell.rings(), 1u) << "the next sleep is rung again";
}

TEST(Doorbell, AwakeEmptiesTheBell) {
  Bell bell;
  bell.sleeper.prepare();
  bell.doorbell.ring_if_sleeping();
  EXPECT_TRUE(bell.rung());
  bell.sleeper.awake();
  EXPECT_FALSE(bell.rung());
}

TEST(Doorbell, TheBarrierIsThereOrSleepsAreShort) {
  Bell bell;
  EXPECT_EQ(bell.sleeper.max_sleep_ms(), Sleeper::enable_barrier() ? -1 : Sleeper::kBlindSleepMs);
}

TEST(Doorbell, NoMessageIsMissed) {
  // Ping-pong in which the reader sleeps for every message; a lost wake-up would be a poll that
  // times out.
  Bell bell;
  std::atomic<uint32_t> message{0};
  std::atomic<uint32_t> answer{0};
  constexpr uint32_t kMessages = 3000;
  std::thread writer([&] {
    for (uint32_t i = 1; i <= kMessages; ++i) {
      // Every other message comes when the reader says that it sleeps, the rest at any time.
      while (i % 2 == 0 && bell.word.load(std::memory_order_relaxed) % 2 == 0) {
        std::this_thread::yield();
      }
      message.store(i, std::memory_order_release);
      bell.doorbell.ring_if_sleeping();
      while (answer.load(std::memory_order_acquire) != i) std::this_thread::yield();
    }
  });
  int missed = 0;
  for (uint32_t i = 1; i <= kMessages; ++i) {
    while (message.load(std::memory_order_acquire) != i) {
      bell.sleeper.prepare();
      if (message.load(std::memory_order_acquire) != i) {
        pollfd entry{bell.sleeper.eventfd(), POLLIN, 0};
        const int limit_ms = bell.sleeper.max_sleep_ms();
        missed += poll(&entry, 1, limit_ms < 0 ? 10000 : limit_ms) == 0 && limit_ms < 0;
      }
      bell.sleeper.awake();
    }
    answer.store(i, std::memory_order_release);
  }
  writer.join();
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace accl
