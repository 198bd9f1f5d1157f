#include "src/base/doorbell.h"

#include <linux/membarrier.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace accl {
namespace {

bool membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

void Doorbell::ring(uint32_t sleep) {
  rung_ = sleep;
  // It can fail only when the counter is full, and then the owner has been rung already.
  (void)eventfd_write(eventfd_, 1);
}

Sleeper::Sleeper(SleepWord* word, int eventfd)
    : word_(word), eventfd_(eventfd), barrier_(enable_barrier()) {}

bool Sleeper::enable_barrier() {
  static const bool enabled = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
  return enabled;
}

void Sleeper::prepare() {
  word_->fetch_add(1, std::memory_order_seq_cst);
  if (barrier_ && !membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED)) barrier_ = false;
}

void Sleeper::awake() {
  word_->fetch_add(1, std::memory_order_seq_cst);
  eventfd_t count = 0;
  (void)eventfd_read(eventfd_, &count);
}

}  // namespace accl
