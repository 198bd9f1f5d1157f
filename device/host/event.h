// An event of the host device: a name for its last record.
//
// Events are slots of the runtime's table. Any thread, under the event's mutex; lock order: event,
// stream, pool.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "device/host/moment.h"

namespace accl::host {

struct alignas(64) Event {
  /// For the table.
  std::atomic<uint64_t> handle{0};
  uint64_t last_handle = 0;
  Event* next_free = nullptr;

  std::mutex mutex;
  Moment* moment = nullptr;  ///< the last record, one reference; null: none yet. Under the mutex.
};

}  // namespace accl::host
