// What the tests of situations share: allowances of time, what a process holds, a private /dev/shm,
// and the log of a job in a file. Any thread, unless said otherwise.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace accl {

/// What a rank that cannot have its situation here returns: the test is skipped.
inline constexpr int kNotPossibleHere = 77;

/// The seconds that a scenario allows: three times as many on a busy machine (CI is set).
inline double allowed(double seconds) {
  return std::getenv("CI") == nullptr ? seconds : 3 * seconds;
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// What this process holds now.
struct Holdings {
  int descriptors = 0;
  int threads = 0;
  int mappings = 0;
  int64_t resident_bytes = 0;
};

inline int count_entries(const char* directory) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    static_cast<void>(entry);
    count++;
  }
  return count;
}

inline Holdings holdings() {
  Holdings now{.descriptors = count_entries("/proc/self/fd"),
               .threads = count_entries("/proc/self/task")};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) now.mappings++;
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  statm >> size >> resident;
  now.resident_bytes = resident * sysconf(_SC_PAGESIZE);
  return now;
}

/// Gives the calling process, and those it starts, namespaces of their own (CLONE_NEW...), of a new
/// user if need be. Before any thread is started. False if the system forbids it.
inline bool own_namespaces(int kinds) {
  const uid_t user = getuid();
  if (unshare(kinds) == 0) return true;
  if (unshare(CLONE_NEWUSER | kinds) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
  return true;
}

/// A mount namespace, as own_namespaces().
inline bool own_mounts() {
  return own_namespaces(CLONE_NEWNS) &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// A network namespace, as own_namespaces(), with nothing in it but "lo", which is down.
inline bool own_network() { return own_namespaces(CLONE_NEWNET); }

/// A fresh file system on /dev/shm, for own_mounts(): `options` as of mount -t tmpfs.
inline bool mount_dev_shm(const std::string& options, unsigned long flags = 0) {
  return mount("tmpfs", "/dev/shm", "tmpfs", flags, options.c_str()) == 0;
}

/// Collects what this process and those it starts write to stderr.
class StderrLog {
 public:
  StderrLog() : file_(memfd_create("stderr", 0)), before_(dup(STDERR_FILENO)) {
    fflush(stderr);
    dup2(file_, STDERR_FILENO);
    fcntl(STDERR_FILENO, F_SETFL, O_APPEND);
  }
  ~StderrLog() {
    static_cast<void>(text());
    close(file_);
    close(before_);
  }
  StderrLog(const StderrLog&) = delete;
  StderrLog& operator=(const StderrLog&) = delete;

  /// All that was written; ends the collection.
  std::string text() {
    fflush(stderr);
    dup2(before_, STDERR_FILENO);
    std::string all(static_cast<size_t>(lseek(file_, 0, SEEK_END)), '\0');
    const ssize_t got = pread(file_, all.data(), all.size(), 0);
    all.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return all;
  }

 private:
  int file_;
  int before_;
};

/// How many lines of `log` contain `word`.
inline int lines_with(const std::string& log, const std::string& word) {
  int count = 0;
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    if (log.substr(at, end - at).find(word) != std::string::npos) count++;
    at = end + 1;
  }
  return count;
}

}  // namespace accl
