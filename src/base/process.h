// What identifies a process of this host beyond its number, which the system uses again.
// Pure questions to /proc; any thread.
#pragma once

#include <cstdint>

namespace accl {

/// Start time in clock ticks since boot (field 22 of /proc/PID/stat); 0 if there is no such process
/// (or if it is a zombie: it will never move again).
uint64_t process_start_time(int pid);
/// Identity of the calling process's pid namespace; equal numbers mean that pids can be compared.
uint64_t pid_namespace();
/// A set of cores, as a bit mask of the first 1024.
struct CoreSet {
  uint64_t words[16] = {};
  void add(const CoreSet& other);
  int count() const;
};
/// The cores that some thread of this process may use (sched_getaffinity of each): a program that
/// pins its ranks' threads one by one may use them all.
CoreSet usable_cores();
/// Cores' worth of time that the control group grants (cpu.max, rounded up); 0: no limit.
int granted_cores();

}  // namespace accl
