#include "src/bootstrap/reminder.h"

#include <utility>

#include "src/base/clock.h"

namespace accl {

Reminder::Reminder(Reactor& reactor, Remind remind, Times times)
    : reactor_(reactor), remind_(std::move(remind)), times_(times), since_ns_(now_ns()) {
  arm(times_.first_ms);
}

void Reminder::arm(uint64_t delay_ms) {
  timer_ = reactor_.after(delay_ms, [this] {
    arm(times_.later_ms);
    remind_((now_ns() - since_ns_) / kNsPerMs);
  });
}

}  // namespace accl
