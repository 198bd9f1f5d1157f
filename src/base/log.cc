#include "src/base/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

namespace accl {

namespace detail {
std::atomic<uint64_t> log_state{kDefaultSubsystems};
}  // namespace detail

namespace {

constexpr std::array<std::string_view, 6> kLevelNames = {"NONE", "VERSION", "WARN",
                                                         "INFO", "ABORT",   "TRACE"};
constexpr std::array<std::string_view, 18> kSubsystemNames = {
    "INIT", "COLL",  "P2P",  "SHM",       "NET", "GRAPH",   "TUNING", "ENV",     "ALLOC",
    "CALL", "PROXY", "NVLS", "BOOTSTRAP", "REG", "PROFILE", "RAS",    "DESTROY", "ALLOC_HOST"};
static_assert((1u << kSubsystemNames.size()) - 1 == kAllSubsystems);

// Where lines go. The descriptor of a log file keeps its number for life, so that a thread that is
// about to write never meets a closed one.
std::atomic<int> sink_fd{STDOUT_FILENO};
std::atomic<int> file_fd{-1};

thread_local int thread_device = -1;

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  const std::string_view full(name.data());
  return std::string(full.substr(0, full.find('.')));
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::toupper(static_cast<unsigned char>(x)) ==
           std::toupper(static_cast<unsigned char>(y));
  });
}

std::string timestamp() {
  std::timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::tm local{};
  localtime_r(&now.tv_sec, &local);
  std::array<char, 32> text{};
  const size_t length = std::strftime(text.data(), text.size(), "[%F %T] ", &local);
  return {text.data(), length};
}

void write_line(int fd, std::string line) {
  std::replace_if(
      line.begin(), line.end(), [](char c) { return std::iscntrl(static_cast<unsigned char>(c)); },
      '?');
  constexpr size_t kMaxLine = PIPE_BUF;  // longer writes to a pipe may mix with others'
  if (line.size() + 1 > kMaxLine) {
    line.resize(kMaxLine - 4);
    line += "...";
  }
  line += '\n';
  const int saved_errno = errno;
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = write(fd, line.data() + done, line.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<size_t>(wrote);
  }
  errno = saved_errno;
}

std::string prefix() {
  const std::string device = thread_device < 0 ? "-" : std::to_string(thread_device);
  return fmt::format("{}:{}:{} [{}]", host_name(), getpid(), gettid(), device);
}

int open_log_file(const std::string& pattern) {
  const std::string path = expand_log_file(pattern);
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
  if (fd < 0) {
    write_line(STDERR_FILENO,
               fmt::format("{} NCCL WARN NCCL_DEBUG_FILE: cannot open '{}' ({}); logging goes to "
                           "standard error",
                           prefix(), path.substr(0, 256), std::strerror(errno)));
    return STDERR_FILENO;
  }
  const int kept = file_fd.load();
  if (kept < 0) {
    file_fd.store(fd);
    return fd;
  }
  dup3(fd, kept, O_CLOEXEC);
  close(fd);
  return kept;
}

}  // namespace

void configure_log(const LogSettings& settings) {
  int sink = STDOUT_FILENO;
  if (settings.level > LogLevel::kVersion && !settings.file.empty()) {
    sink = open_log_file(settings.file);
  }
  sink_fd.store(sink, std::memory_order_relaxed);
  detail::log_state.store(static_cast<uint64_t>(settings.level) << 32 | settings.subsystems,
                          std::memory_order_relaxed);
}

std::string expand_log_file(std::string_view pattern) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); i++) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] != '%' || (next != 'h' && next != 'p' && next != '%')) {
      path += pattern[i];
      continue;
    }
    if (next == 'h') path += host_name();
    if (next == 'p') path += std::to_string(getpid());
    if (next == '%') path += '%';
    i++;
  }
  return path;
}

void log_write(LogLevel level, const char* source_file, int source_line, std::string_view text) {
  const int fd = sink_fd.load(std::memory_order_relaxed);
  if (level == LogLevel::kVersion) return write_line(fd, std::string(text));
  if (level == LogLevel::kWarn) {
    const char* slash = std::strrchr(source_file, '/');
    const char* base = slash == nullptr ? source_file : slash + 1;
    return write_line(
        fd, fmt::format("{}{} {}:{} NCCL WARN {}", timestamp(), prefix(), base, source_line, text));
  }
  write_line(fd, fmt::format("{} NCCL {} {}", prefix(), name_of(level), text));
}

void log_api_error(std::string_view function, std::string_view text) {
  if (!log_enabled(LogLevel::kWarn, Subsystem::kInit)) return;
  write_line(sink_fd.load(std::memory_order_relaxed),
             fmt::format("{}{} {} NCCL WARN {}", timestamp(), prefix(), function, text));
}

LogScope::LogScope(int device) : device_(std::exchange(thread_device, device)) {}

LogScope::~LogScope() { thread_device = device_; }

std::string_view name_of(LogLevel level) { return kLevelNames[static_cast<size_t>(level)]; }

bool log_level_named(std::string_view word, LogLevel* level) {
  for (size_t i = 0; i < kLevelNames.size(); i++) {
    if (!equal_ignoring_case(word, kLevelNames[i])) continue;
    *level = static_cast<LogLevel>(i);
    return true;
  }
  return false;
}

bool subsystems_named(std::string_view list, uint32_t* mask, std::string* unknown) {
  const bool inverted = list.starts_with('^');
  if (inverted) list.remove_prefix(1);
  uint32_t bits = 0;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    if (word.empty()) continue;
    uint32_t found = equal_ignoring_case(word, "ALL") ? kAllSubsystems : 0;
    for (size_t i = 0; i < kSubsystemNames.size(); i++) {
      if (equal_ignoring_case(word, kSubsystemNames[i])) found = 1u << i;
    }
    if (found == 0) {
      *unknown = word;
      return false;
    }
    bits |= found;
  }
  *mask = inverted ? kAllSubsystems & ~bits : bits;
  return true;
}

std::string subsystem_names(uint32_t mask) {
  if (mask == kAllSubsystems) return "ALL";
  std::string names;
  for (size_t i = 0; i < kSubsystemNames.size(); i++) {
    if ((mask >> i & 1) == 0) continue;
    if (!names.empty()) names += ',';
    names += kSubsystemNames[i];
  }
  return names;
}

}  // namespace accl
