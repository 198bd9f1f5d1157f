// What the tests of bootstrap and control share: a process's reactor with a thread, ranks as
// threads, and counting of descriptors. Each test's process only.
#pragma once

#include <dirent.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/base/reactor.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/door.h"

namespace accl::test {

/// A reactor and the thread that runs it, as the engine has them, and the bootstrap beside it.
class Process {
 public:
  Process() : reactor_(std::move(*Reactor::create())) {
    thread_ = std::thread([this] {
      while (!stop_.load()) reactor_->run_once(100);
    });
    const DoorOptions reached{.addresses = {*parse_address("127.0.0.1"), *parse_address("::1")}};
    bootstrap_ = std::move(*Bootstrap::create(*reactor_, reached));
  }
  ~Process() {
    bootstrap_.reset();
    stop_.store(true);
    reactor_->wake();
    thread_.join();
  }
  Reactor& reactor() { return *reactor_; }
  Bootstrap& bootstrap() { return *bootstrap_; }

 private:
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Bootstrap> bootstrap_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// True in the runs of these tests over TCP (src/bootstrap/CMakeLists.txt).
inline bool over_tcp() { return std::getenv("ACCL_TEST_TCP") != nullptr; }

inline JoinOptions options_of(const UniqueId& id, Rank rank, int ranks) {
  JoinOptions options;
  options.id = id;
  options.rank = rank;
  options.ranks = ranks;
  options.timeout_ms = 20'000;
  options.version = "2.27.7";
  options.tcp_only = over_tcp();
  return options;
}

/// Runs `body` for ranks 0..ranks-1 on a thread each.
inline void as_threads(int ranks, const std::function<void(Rank)>& body) {
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

inline int open_fds() {
  int count = 0;
  DIR* dir = opendir("/proc/self/fd");
  while (readdir(dir) != nullptr) ++count;
  closedir(dir);
  return count;
}

/// Waits up to 10 s for a condition that another thread brings about.
inline bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace accl::test
