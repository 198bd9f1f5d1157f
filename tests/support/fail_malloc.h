// Memory that is refused at a chosen request (fail_malloc.cc). Any thread.
#pragma once

#include <cstdint>

extern "C" {

/// From now on requests for memory are counted, and the `kth` (from 1) is refused.
void accl_fail_memory_arm(int64_t kth);

/// Ends it. How many requests there were.
int64_t accl_fail_memory_disarm();
}
