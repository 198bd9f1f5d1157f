// Deaths between ranks that are processes: who hears what when one is killed or stopped.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "src/base/clock.h"
#include "src/control/control.h"
#include "tests/bootstrap/harness.h"

namespace accl {
namespace {

/// One line of a rank's report to the test: at most PIPE_BUF, so lines do not mix.
struct Report {
  int rank;
  int about;  ///< -1: ready, else a death
  std::array<char, 200> text;
};

/// Forks `ranks` processes that join, report deaths, and wait until the test closes their pipe.
class Forked {
 public:
  explicit Forked(int ranks, std::vector<Rank> leavers = {}) : pids(static_cast<size_t>(ranks)) {
    std::array<int, 2> reports{};
    std::array<int, 2> ids{};
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(reports.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(ids.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    for (Rank rank = 0; rank < ranks; ++rank) {
      const bool leaver = std::find(leavers.begin(), leavers.end(), rank) != leavers.end();
      pids[static_cast<size_t>(rank)] = fork();
      if (pids[static_cast<size_t>(rank)] != 0) continue;
      close(ends[1]);
      run(rank, ranks, {reports[1], ids[0], ids[1], ends[0]}, leaver);
      _exit(0);
    }
    reports_.reset(reports[0]);
    end_.reset(ends[1]);
    for (const int fd : {reports[1], ids[0], ids[1], ends[0]}) close(fd);
    fcntl(reports_.get(), F_SETFL, O_NONBLOCK);
    for (int i = 0; i < ranks; ++i) {
      const auto report = next(20'000);
      EXPECT_TRUE(report && report->about == -1) << "rank is not ready: " << i;
    }
  }

  ~Forked() {
    end_.reset();
    for (const pid_t pid : pids) {
      if (pid <= 0) continue;
      kill(pid, SIGCONT);
      waitpid(pid, nullptr, 0);
    }
  }

  std::optional<Report> next(int timeout_ms) {
    for (int waited_ms = 0; waited_ms <= timeout_ms; waited_ms += 5) {
      Report report{};
      if (read(reports_.get(), &report, sizeof(report)) == sizeof(report)) return report;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return std::nullopt;
  }

  /// Kills a rank and expects the same text from all others but `silent`.
  void kill_and_expect(Rank victim) {
    const pid_t pid = pids[static_cast<size_t>(victim)];
    kill(pid, SIGKILL);
    const std::string start = "rank " + std::to_string(victim) + " (pid " + std::to_string(pid);
    std::vector<int> heard(pids.size());
    for (size_t i = 0; i + 1 < pids.size(); ++i) {
      const auto report = next(3'000);
      ASSERT_TRUE(report) << "only " << i << " ranks heard of the death";
      EXPECT_EQ(report->about, victim);
      const std::string text = report->text.data();
      EXPECT_EQ(text.substr(0, start.size()), start) << text;
      EXPECT_EQ(text.substr(text.size() - 6), ") died") << text;
      ++heard[static_cast<size_t>(report->rank)];
    }
    for (size_t rank = 0; rank < heard.size(); ++rank) {
      EXPECT_EQ(heard[rank], static_cast<Rank>(rank) == victim ? 0 : 1) << rank;
    }
    waitpid(pid, nullptr, 0);
    pids[static_cast<size_t>(victim)] = -1;
  }

  std::vector<pid_t> pids;

 private:
  struct Pipes {
    int report;
    int id_out;
    int id_in;
    int end;
  };

  static void run(Rank rank, int ranks, const Pipes& pipes, bool leaver) {
    test::Process process;
    std::array<std::byte, UniqueId::kBytes> bytes{};
    if (rank == 0) {
      bytes = process.bootstrap().create_id()->bytes();
      for (int i = 1; i < ranks; ++i) {
        if (write(pipes.id_in, bytes.data(), bytes.size()) < 0) _exit(3);
      }
    } else if (read(pipes.id_out, bytes.data(), bytes.size()) != UniqueId::kBytes) {
      _exit(3);
    }
    const auto say = [&](int about, const std::string& text) {
      Report report{rank, about, {}};
      std::strncpy(report.text.data(), text.c_str(), report.text.size() - 1);
      if (write(pipes.report, &report, sizeof(report)) < 0) _exit(4);
    };
    auto wiring = process.bootstrap().join(test::options_of(*UniqueId::parse(bytes), rank, ranks));
    if (!wiring.ok()) {
      say(-2, wiring.status().text());
      _exit(5);
    }
    auto control = std::move(*Control::start(process.reactor(), std::move(*wiring)));
    control->set_patience(now_ns() + 20 * kNsPerSecond, nullptr);
    control->set_callbacks({{}, {}, [&](Rank dead, const std::string& text) { say(dead, text); }});
    const auto all = control->all_gather(blob_of(std::to_string(rank)));
    if (!all.ok() || !control->barrier().ok()) _exit(6);
    say(-1, "ready");
    if (leaver) {
      control->leave();
      _exit(0);
    }
    char byte = 0;
    static_cast<void>(!read(pipes.end, &byte, 1));
    control.reset();
  }

  Fd reports_;
  Fd end_;
};

TEST(Death, OfALeaf) { Forked(8).kill_and_expect(5); }
TEST(Death, OfAnInnerNode) { Forked(8).kill_and_expect(4); }
TEST(Death, OfTheRoot) { Forked(8).kill_and_expect(0); }
TEST(Death, OfOneOfTwo) { Forked(2).kill_and_expect(1); }
TEST(Death, OfOneOfMany) { Forked(17).kill_and_expect(8); }

TEST(Death, NotWhenStopped) {
  Forked ranks(4);
  kill(ranks.pids[2], SIGSTOP);
  EXPECT_FALSE(ranks.next(1'000));
  kill(ranks.pids[2], SIGCONT);
  ranks.kill_and_expect(3);
}

TEST(Death, NotWhenItHasLeftAndEnded) {
  Forked ranks(4, {3, 1});
  EXPECT_FALSE(ranks.next(500));
}

}  // namespace
}  // namespace accl
