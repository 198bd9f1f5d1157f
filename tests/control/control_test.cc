// Control between ranks that are threads: exchanges, floods, verdicts, leaving.
#include "src/control/control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>

#include "src/base/clock.h"
#include "src/base/rng.h"
#include "tests/bootstrap/harness.h"

namespace accl {
namespace {

using test::as_threads;
using test::eventually;
using test::open_fds;
using test::Process;

/// Ranks with a process each or all in one, wired up.
class Ranks {
 public:
  explicit Ranks(int ranks, bool one_process = false) : controls(static_cast<size_t>(ranks)) {
    const int processes = one_process ? 1 : ranks;
    for (int i = 0; i < processes; ++i) processes_.push_back(std::make_unique<Process>());
    const UniqueId id = *processes_[0]->bootstrap().create_id();
    as_threads(ranks, [&](Rank rank) {
      auto wiring = process(rank).bootstrap().join(test::options_of(id, rank, ranks));
      ASSERT_TRUE(wiring.ok()) << wiring.status().text();
      auto control = Control::start(process(rank).reactor(), std::move(*wiring));
      ASSERT_TRUE(control.ok());
      (*control)->set_patience(now_ns() + 20 * kNsPerSecond, nullptr);
      controls[static_cast<size_t>(rank)] = std::move(*control);
    });
  }
  ~Ranks() { controls.clear(); }
  Control& operator[](Rank rank) { return *controls[static_cast<size_t>(rank)]; }
  Process& process(Rank rank) {
    return *processes_[processes_.size() == 1 ? 0 : static_cast<size_t>(rank)];
  }

 private:
  std::vector<std::unique_ptr<Process>> processes_;

 public:
  std::vector<std::unique_ptr<Control>> controls;
};

class Sizes : public testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(Sizes, ExchangesReachEverybody) {
  const auto [n, one_process] = GetParam();
  Ranks ranks(n, one_process);
  as_threads(n, [&, n = n](Rank rank) {
    for (int round = 0; round < 3; ++round) {
      const auto all = ranks[rank].all_gather(
          blob_of("rank " + std::to_string(rank) + " round " + std::to_string(round)));
      ASSERT_TRUE(all.ok());
      ASSERT_EQ((*all).size(), static_cast<size_t>(n));
      for (int other = 0; other < n; ++other) {
        EXPECT_EQ(text_of((*all)[static_cast<size_t>(other)]),
                  "rank " + std::to_string(other) + " round " + std::to_string(round));
      }
      ASSERT_TRUE(ranks[rank].barrier().ok());
      auto told = ranks[rank].broadcast(blob_of("from " + std::to_string(rank)), {});
      ASSERT_TRUE(told.ok());
      EXPECT_EQ(text_of(told->blob), "from 0");
    }
  });
}

TEST_P(Sizes, DescriptorsReachEverybody) {
  const auto [n, one_process] = GetParam();
  Ranks ranks(n, one_process);
  as_threads(n, [&, n = n](Rank rank) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const Fd reader(ends[0]);
    const Fd writer(ends[1]);
    auto all = ranks[rank].all_gather(blob_of("x"), std::span<const int>(&ends[1], 1));
    ASSERT_TRUE(all.ok());
    for (Contribution& one : *all) {
      ASSERT_EQ(one.fds.size(), 1u);
      EXPECT_EQ(fcntl(one.fds[0].get(), F_GETFD), FD_CLOEXEC);
      const char byte = static_cast<char>(rank);
      ASSERT_EQ(write(one.fds[0].get(), &byte, 1), 1);
    }
    ASSERT_TRUE(ranks[rank].barrier().ok());
    std::vector<bool> seen(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) {
      char byte = 0;
      ASSERT_EQ(read(reader.get(), &byte, 1), 1);
      seen[static_cast<size_t>(byte)] = true;
    }
    for (const bool one : seen) EXPECT_TRUE(one);
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Sizes,
                         testing::Combine(testing::Values(1, 2, 3, 8, 17), testing::Bool()));

TEST(Control, ManyDescriptorsComeInParts) {
  Ranks ranks(3);
  as_threads(3, [&](Rank rank) {
    std::vector<Fd> own;
    std::vector<int> numbers;
    for (int i = 0; i < (rank == 1 ? 250 : 1); ++i) {
      own.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
      numbers.push_back(own.back().get());
    }
    Blob big(300'000, std::byte{static_cast<uint8_t>(rank)});
    const auto all = ranks[rank].all_gather(big, numbers);
    ASSERT_TRUE(all.ok());
    EXPECT_EQ((*all)[1].fds.size(), 250u);
    EXPECT_EQ((*all)[2].fds.size(), 1u);
    EXPECT_EQ((*all)[2].blob, Blob(300'000, std::byte{2}));
  });
}

struct Heard {
  std::mutex mutex;
  std::vector<std::string> lines;
  void add(const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  }
  std::vector<std::string> copy() {
    const std::lock_guard lock(mutex);
    return lines;
  }
};

void listen(Control& control, Heard& heard) {
  control.set_callbacks({[&heard](Rank from, uint16_t kind, std::span<const std::byte> payload) {
                           heard.add("message " + std::to_string(from) + " " +
                                     std::to_string(kind) + " " + text_of(payload));
                         },
                         [&heard](Code code, const std::string& text) {
                           heard.add("verdict " + std::to_string(static_cast<int>(code)) + " " +
                                     text);
                         },
                         [&heard](Rank rank, const std::string& text) {
                           heard.add("death " + std::to_string(rank) + " " + text);
                         }});
}

TEST(Control, FloodsReachAllOthersInOrderAndEarlyOnesAreKept) {
  constexpr int n = 8;
  Ranks ranks(n);
  std::vector<Heard> heard(n);
  ranks[5].flood(7, blob_of("one"));
  ranks[5].flood(8, blob_of("two"));
  for (Rank rank = 0; rank < n; ++rank) {
    listen(ranks[rank], heard[static_cast<size_t>(rank)]);
  }
  for (size_t rank = 0; rank < n; ++rank) {
    if (rank == 5) continue;
    ASSERT_TRUE(eventually([&] { return heard[rank].copy().size() == 2; })) << rank;
    EXPECT_EQ(heard[rank].copy(), (std::vector<std::string>{"message 5 7 one", "message 5 8 two"}));
  }
  EXPECT_TRUE(heard[5].copy().empty());
  ranks.controls.clear();
}

TEST(Control, OneVerdictForAll) {
  constexpr int n = 8;
  Ranks ranks(n);
  std::vector<Heard> heard(n);
  for (Rank rank = 0; rank < n; ++rank) {
    listen(ranks[rank], heard[static_cast<size_t>(rank)]);
  }
  as_threads(n, [&](Rank rank) {
    ranks[rank].propose(Code::kInvalidUsage, "says rank " + std::to_string(rank));
  });
  for (size_t rank = 0; rank < n; ++rank) {
    ASSERT_TRUE(eventually([&] { return !heard[rank].copy().empty(); })) << rank;
    EXPECT_EQ(heard[rank].copy(), heard[0].copy());
  }
  EXPECT_EQ(heard[0].copy().size(), 1u);
  EXPECT_EQ(heard[0].copy()[0].substr(0, 20), "verdict 5 says rank ");
  ranks.controls.clear();
}

TEST(Control, ReportedDeathIsTheSameEverywhere) {
  Ranks ranks(4);
  std::vector<Heard> heard(4);
  for (Rank rank = 0; rank < 4; ++rank) listen(ranks[rank], heard[static_cast<size_t>(rank)]);
  ranks[3].report_death(1, "rank 1 is gone");
  for (auto& one : heard) {
    ASSERT_TRUE(eventually([&] { return one.copy().size() == 1; }));
    EXPECT_EQ(one.copy()[0], "death 1 rank 1 is gone");
  }
  ranks.controls.clear();
}

TEST(Control, LeavingIsSilentAndLingeringForwards) {
  constexpr int n = 8;
  Ranks ranks(n);
  std::vector<Heard> heard(n);
  for (Rank rank = 0; rank < n; ++rank) {
    listen(ranks[rank], heard[static_cast<size_t>(rank)]);
  }
  for (const Rank rank : {0, 4, 6}) ranks.controls[static_cast<size_t>(rank)].reset();
  ranks[7].flood(1, blob_of("still here"));  // its way to the others leads over 6, 4, 0
  for (const size_t rank : {1u, 2u, 3u, 5u}) {
    ASSERT_TRUE(eventually([&] { return heard[rank].copy().size() == 1; })) << rank;
    EXPECT_EQ(heard[rank].copy()[0], "message 7 1 still here");
  }
  ranks.controls.clear();
  for (const auto& rank : heard) EXPECT_LE(const_cast<Heard&>(rank).copy().size(), 1u);
}

TEST(Control, NothingIsLeftAfterAllHaveLeft) {
  Process process;
  const auto once = [&] {
    const UniqueId id = *process.bootstrap().create_id();
    as_threads(5, [&](Rank rank) {
      auto wiring = process.bootstrap().join(test::options_of(id, rank, 5));
      ASSERT_TRUE(wiring.ok()) << wiring.status().text();
      auto control = Control::start(process.reactor(), std::move(*wiring));
      (*control)->set_patience(now_ns() + 20 * kNsPerSecond, nullptr);
      ASSERT_TRUE((*control)->barrier().ok());
    });
  };
  once();
  int before = open_fds();
  ASSERT_TRUE(eventually([&] {
    const int now = open_fds();
    return std::exchange(before, now) == now;
  }));
  for (int i = 0; i < 20; ++i) once();
  EXPECT_TRUE(eventually([&] { return open_fds() <= before; })) << before << " then " << open_fds();
}

TEST(Control, TimeOutNamesTheMissing) {
  Ranks ranks(4);
  as_threads(2, [&](Rank rank) {
    ranks[rank].set_patience(now_ns() + 300 * kNsPerMs, nullptr);
    auto result = ranks[rank].all_gather(blob_of("x"));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), Code::kRemote);
    EXPECT_EQ(result.status().text(), "initialisation timed out: waiting for ranks 2, 3 of 4");
  });
}

/// A neighbour that knows the secret but breaks the protocol is cut off, and everybody hears it.
TEST(Control, GarbageFromANeighbourIsADeathAndNoCrash) {
  Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    Process process;
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    Wiring wiring{0, 2, {}};
    wiring.neighbours.push_back({1, getpid(), "somewhere", Connection(Fd(ends[0]))});
    Connection peer{Fd(ends[1])};
    auto control = std::move(*Control::start(process.reactor(), std::move(wiring)));
    Heard heard;
    listen(*control, heard);
    for (int i = 0; i < 20; ++i) {
      Blob payload(rng.below(40));
      for (auto& byte : payload) byte = static_cast<std::byte>(rng.below(3) == 0 ? rng.next() : 0);
      static_cast<void>(peer.send(static_cast<uint16_t>(64 + rng.below(12)), payload));
    }
    peer = Connection();
    // Either it is found out, or its noise happened to be a goodbye.
    control->set_patience(now_ns() + 50 * kNsPerMs, nullptr);
    static_cast<void>(control->all_gather({}));
    control->leave();
    for (const std::string& line : heard.copy()) {
      const bool cut = line.find("rank 1 (pid ") != std::string::npos;
      EXPECT_TRUE(cut || line.rfind("message", 0) == 0 || line.rfind("verdict", 0) == 0 ||
                  line.rfind("death", 0) == 0)
          << line;
    }
  }
}

TEST(Control, ADeathEndsExchangesOfAllRanks) {
  Ranks ranks(4, true);
  as_threads(4, [&](Rank rank) {
    if (rank == 3) return ranks[2].report_death(3, "rank 3 is gone");
    const Status status = ranks[rank].barrier();
    EXPECT_EQ(status.text(), "rank 3 is gone");
    EXPECT_EQ(status.code(), Code::kRemote);
  });
}

TEST(Control, AbortEndsAWait) {
  Ranks ranks(2);
  std::atomic<bool> abort{false};
  ranks[0].set_patience(now_ns() + 20 * kNsPerSecond, &abort);
  std::thread later([&] { abort.store(true); });
  const Status status = ranks[0].barrier();
  later.join();
  EXPECT_EQ(status.text(), "initialisation was aborted");
}

}  // namespace
}  // namespace accl
