#include "src/base/process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "src/base/fd.h"

namespace accl {

uint64_t process_start_time(int pid) {
  const Fd file(open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return 0;
  std::array<char, 1024> text;
  const ssize_t bytes = read(file.get(), text.data(), text.size());
  if (bytes <= 0) return 0;
  std::string_view rest(text.data(), static_cast<size_t>(bytes));
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
  cpu_set_t set;
  CPU_ZERO(&set);
  static_assert(sizeof(set) == sizeof(cores.words));
  if (sched_getaffinity(0, sizeof set, &set) == 0) std::memcpy(cores.words, &set, sizeof set);
  return cores;
}

}  // namespace accl
