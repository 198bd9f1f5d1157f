// Where the ranks of a test write their logs, a file per process.
//
// Owned by the test; the environment it sets is the process's, so no thread may be running.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace accl {

/// A directory that goes away with its object.
class LogFolder {
 public:
  LogFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "accl-log-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~LogFolder() { std::filesystem::remove_all(path_); }
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  /// To be called before the library is used; `level` of NCCL_DEBUG.
  void log_here(const char* level, const char* subsystems = "TUNING") const {
    setenv("NCCL_DEBUG", level, 1);
    setenv("NCCL_DEBUG_SUBSYS", subsystems, 1);
    setenv("NCCL_DEBUG_FILE", (path_ / "log.%p").c_str(), 1);
  }
  /// Takes the settings back.
  static void log_no_more() {
    for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}) unsetenv(name);
  }
  /// The lines of all files, those of a process together.
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) all.push_back(line);
    }
    return all;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace accl
