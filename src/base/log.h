// The logger: what the library tells people while it runs, in NCCL's line shapes.
//
// Off by default and then costs one relaxed load. Errors do not come this way: they travel as
// Status and end in ncclGetLastError. A line is one write(2) of at most PIPE_BUF bytes to a
// descriptor that only appends, so lines of threads and of processes never mix and there is no lock
// that a fork could leave held. The settings are process-wide; any thread may call anything here.
//
// Use (in .cc files, which include <fmt/format.h>):
//   ACCL_LOG(kInfo, kBootstrap, "Bootstrap : Using {}:{}", name, address);
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace accl {

/// NCCL's levels (NCCL_DEBUG). A line shows if its level is at most the level set.
enum class LogLevel : int { kNone = 0, kVersion, kWarn, kInfo, kAbort, kTrace };

/// NCCL's subsystems (NCCL_DEBUG_SUBSYS). The bits are NCCL's, because plugins receive them.
enum class Subsystem : uint32_t {
  kInit = 0x1,
  kColl = 0x2,
  kP2p = 0x4,
  kShm = 0x8,
  kNet = 0x10,
  kGraph = 0x20,
  kTuning = 0x40,
  kEnv = 0x80,
  kAlloc = 0x100,
  kCall = 0x200,
  kProxy = 0x400,
  kNvls = 0x800,
  kBootstrap = 0x1000,
  kReg = 0x2000,
  kProfile = 0x4000,
  kRas = 0x8000,
  kDestroy = 0x10000,
  kAllocHost = 0x20000,
};
inline constexpr uint32_t kAllSubsystems = 0x3ffff;
inline constexpr uint32_t kDefaultSubsystems = static_cast<uint32_t>(Subsystem::kInit) |
                                               static_cast<uint32_t>(Subsystem::kBootstrap) |
                                               static_cast<uint32_t>(Subsystem::kEnv);

struct LogSettings {
  LogLevel level = LogLevel::kNone;
  uint32_t subsystems = kDefaultSubsystems;  ///< of INFO and TRACE lines; WARN always shows
  std::string file;  ///< empty: standard output; %h host, %p pid, %% percent
};

/// Puts the settings into force for the process. A file that cannot be opened costs one line on
/// standard error, where logging then goes on. An existing file is appended to, so that several
/// processes may name the same one.
void configure_log(const LogSettings& settings);

/// Replaces %h (host name), %p (process id) and %% in a file name; other % stay as they are.
std::string expand_log_file(std::string_view pattern);

namespace detail {
/// level << 32 | subsystems, so that the check is one load.
extern std::atomic<uint64_t> log_state;
}  // namespace detail

/// True if such a line would show. A few instructions.
inline bool log_enabled(LogLevel level, Subsystem subsystem) {
  const uint64_t state = detail::log_state.load(std::memory_order_relaxed);
  const auto limit = static_cast<int>(state >> 32);
  if (static_cast<int>(level) > limit) return false;
  return level <= LogLevel::kWarn || (state & static_cast<uint32_t>(subsystem)) != 0;
}

/// Writes one line; ACCL_LOG is the way to call it. Control characters in `text` (it may quote what
/// a peer or a user sent) become '?'. Never fails visibly: a line that cannot be written is lost.
void log_write(LogLevel level, const char* source_file, int source_line, std::string_view text);

/// A WARN about a call of the API, whose name stands where other WARNs have file and line.
void log_api_error(std::string_view function, std::string_view text);

/// The device that the calling thread works for, shown as "[device]" in its lines; -1: not known,
/// "[-]". Restores what was before at the end of the scope.
class LogScope {
 public:
  explicit LogScope(int device);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

 private:
  int device_;
};

/// Lets one event through per interval, so that a repeated fact does not flood the log.
class RateLimit {
 public:
  explicit constexpr RateLimit(uint64_t interval_ns) : interval_ns_(interval_ns) {}
  /// True if the event may be logged now (`now_ns` is monotonic time). The first one always may.
  bool pass(uint64_t now_ns) {
    uint64_t next = next_ns_.load(std::memory_order_relaxed);
    if (now_ns < next) {
      held_back_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    return next_ns_.compare_exchange_strong(next, now_ns + interval_ns_, std::memory_order_relaxed);
  }
  /// Events held back since the last call of this function.
  uint64_t take_held_back() { return held_back_.exchange(0, std::memory_order_relaxed); }

 private:
  uint64_t interval_ns_;
  std::atomic<uint64_t> next_ns_{0};
  std::atomic<uint64_t> held_back_{0};
};

/// The word of a level ("WARN"), and the level of a word in any case ("warn"); false if unknown.
std::string_view name_of(LogLevel level);
bool log_level_named(std::string_view word, LogLevel* level);
/// The mask of an NCCL_DEBUG_SUBSYS list: names divided by commas, a leading '^' means all others.
/// False, with the offending word in `unknown`, if there is one.
bool subsystems_named(std::string_view list, uint32_t* mask, std::string* unknown);
/// "INIT,BOOTSTRAP,ENV" for a mask, "ALL" for all.
std::string subsystem_names(uint32_t mask);

}  // namespace accl

/// Logs one line: ACCL_LOG(kInfo, kInit, "format {}", arguments...). The arguments are evaluated
/// only if the line shows.
#define ACCL_LOG(level, subsystem, ...)                                                           \
  do {                                                                                            \
    if (::accl::log_enabled(::accl::LogLevel::level, ::accl::Subsystem::subsystem)) [[unlikely]]  \
      ::accl::log_write(::accl::LogLevel::level, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (false)
