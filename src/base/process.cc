#include "src/base/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "src/base/fd.h"

namespace accl {

namespace {

/// What a small file of the kernel's says, its first 4 KiB; empty if there is none. Whoever waits
/// looks at its peers again and again, so nothing is allocated.
class SmallFile {
 public:
  explicit SmallFile(const char* name) {
    const Fd file(open(name, O_RDONLY | O_CLOEXEC));
    const ssize_t bytes = file ? read(file.get(), bytes_.data(), bytes_.size()) : 0;
    size_ = bytes > 0 ? static_cast<size_t>(bytes) : 0;
  }
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 4096> bytes_;
  size_t size_;
};

}  // namespace

uint64_t process_start_time(int pid) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "/proc/%d/stat", pid);
  const SmallFile file(name.data());
  std::string_view rest = file.text();
  // The name in field 2 may hold anything, also spaces: count from its closing parenthesis.
  const size_t name_end = rest.rfind(") ");
  if (name_end == std::string_view::npos) return 0;
  rest.remove_prefix(name_end + 2);
  const char state = rest.front();
  if (state == 'Z' || state == 'X') return 0;
  for (int field = 3; field < 22; field++) {
    const size_t space = rest.find(' ');
    if (space == std::string_view::npos) return 0;
    rest.remove_prefix(space + 1);
  }
  uint64_t ticks = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), ticks);
  return ticks;
}

uint64_t pid_namespace() {
  struct stat info {};
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

void CoreSet::add(const CoreSet& other) {
  for (size_t i = 0; i < std::size(words); i++) words[i] |= other.words[i];
}

int CoreSet::count() const {
  int sum = 0;
  for (const uint64_t word : words) sum += std::popcount(word);
  return sum;
}

CoreSet usable_cores() {
  CoreSet cores;
  static_assert(sizeof(cpu_set_t) == sizeof(cores.words));
  const auto add_thread = [&](int thread) {
    CoreSet one;
    cpu_set_t set;
    if (sched_getaffinity(thread, sizeof set, &set) != 0) return;
    std::memcpy(one.words, &set, sizeof set);
    cores.add(one);
  };
  add_thread(0);
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return cores;
  while (const dirent* entry = readdir(tasks)) {
    const std::string_view name = entry->d_name;
    int thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0) add_thread(thread);
  }
  closedir(tasks);
  return cores;
}

int granted_cores() {
  // Version 2 of control groups: "0::/path" in /proc/self/cgroup, "quota period" in cpu.max.
  const SmallFile groups("/proc/self/cgroup");
  const size_t start = groups.text().find("0::");
  if (start == std::string_view::npos) return 0;
  std::string_view path = groups.text().substr(start + 3);
  path = path.substr(0, path.find('\n'));
  const SmallFile file(("/sys/fs/cgroup" + std::string(path) + "/cpu.max").c_str());
  const std::string_view limit = file.text();
  const size_t space = limit.find(' ');
  if (limit.empty() || limit[0] == 'm' || space == std::string::npos) return 0;
  int64_t quota = 0;
  int64_t period = 0;
  std::from_chars(limit.data(), limit.data() + space, quota);
  std::from_chars(limit.data() + space + 1, limit.data() + limit.size(), period);
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>((quota + period - 1) / period);
}

}  // namespace accl
