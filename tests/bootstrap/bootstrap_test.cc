// Joining: who becomes a communicator, and the texts when it does not work.
#include "src/bootstrap/bootstrap.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>

#include "src/base/clock.h"
#include "src/bootstrap/dial.h"
#include "src/bootstrap/door.h"
#include "src/bootstrap/messages.h"
#include "src/bootstrap/rank_list.h"
#include "tests/bootstrap/harness.h"

namespace accl {
namespace {

using test::as_threads;
using test::options_of;
using test::Process;

std::string host() { return host_name(); }
std::string pid() { return std::to_string(getpid()); }
std::string named(Rank rank) { return describe_process(rank, getpid(), host()); }

/// The error of a join; "" if it went well.
std::string try_join(Process& process, JoinOptions options) {
  auto wiring = process.bootstrap().join(options);
  return wiring.ok() ? "" : wiring.status().text();
}

TEST(RankList, Texts) {
  EXPECT_EQ(describe_ranks({5}), "rank 5");
  EXPECT_EQ(describe_ranks({3, 5, 6, 7}), "ranks 3, 5-7");
  EXPECT_EQ(describe_ranks({1, 2}), "ranks 1, 2");
}

TEST(Tree, ParentsAndChildrenAgree) {
  for (int n = 1; n <= 70; ++n) {
    int edges = 0;
    for (Rank rank = 0; rank < n; ++rank) {
      for (const Rank child : tree_children(rank, n)) {
        EXPECT_EQ(tree_parent(child), rank);
        ++edges;
      }
    }
    EXPECT_EQ(edges, n - 1);
  }
}

TEST(Join, WiresTheTree) {
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < 8; ++i) processes.push_back(std::make_unique<Process>());
  const UniqueId id = *processes[3]->bootstrap().create_id();
  as_threads(8, [&](Rank rank) {
    const auto wiring =
        processes[static_cast<size_t>(rank)]->bootstrap().join(options_of(id, rank, 8));
    ASSERT_TRUE(wiring.ok());
    std::vector<Rank> expected = tree_children(rank, 8);
    if (rank != 0) expected.insert(expected.begin(), tree_parent(rank));
    ASSERT_EQ(wiring->neighbours.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(wiring->neighbours[i].rank, expected[i]);
      EXPECT_EQ(wiring->neighbours[i].pid, getpid());
      EXPECT_EQ(wiring->neighbours[i].host, host());
    }
  });
}

TEST(Join, ManyIdsAtOnce) {
  Process process;
  as_threads(6, [&](int) {
    for (int i = 0; i < 5; ++i) {
      const UniqueId id = *process.bootstrap().create_id();
      as_threads(3, [&](Rank rank) { EXPECT_EQ(try_join(process, options_of(id, rank, 3)), ""); });
    }
  });
}

TEST(Join, RefusesBadArgumentsLocally) {
  Process process;
  const UniqueId id = *process.bootstrap().create_id();
  EXPECT_EQ(try_join(process, options_of(id, 4, 4)),
            "rank 4 is out of range: the communicator has 4 ranks");
  EXPECT_EQ(try_join(process, options_of(id, 0, 0)),
            "the number of ranks is 0, but must be at least 1");
  EXPECT_EQ(try_join(process, options_of(UniqueId(), 0, 1)),
            "the unique id is all zeros: it never reached this rank from the one that made it");
}

TEST(Join, DifferentNumbersOfRanks) {
  Process process;
  const UniqueId id = *process.bootstrap().create_id();
  std::vector<std::string> texts(2);
  as_threads(2, [&](Rank rank) {
    texts[static_cast<size_t>(rank)] = try_join(process, options_of(id, rank, rank == 0 ? 3 : 4));
  });
  EXPECT_EQ(texts[0], texts[1]);
  const std::string head = "the ranks disagree on how many they are: ";
  const std::string one = named(0) + " says 3";
  const std::string two = named(1) + " says 4";
  EXPECT_TRUE(texts[0] == head + one + ", " + two || texts[0] == head + two + ", " + one)
      << texts[0];
}

TEST(Join, ARepeatedRank) {
  Process process;
  const UniqueId id = *process.bootstrap().create_id();
  as_threads(2, [&](int) {
    EXPECT_EQ(try_join(process, options_of(id, 1, 3)), "rank 1 joined twice: pid " + pid() +
                                                           " on host " + host() + " and pid " +
                                                           pid() + " on host " + host());
  });
  // Who comes later hears the same.
  EXPECT_EQ(try_join(process, options_of(id, 2, 3)).substr(0, 19), "rank 1 joined twice");
}

TEST(Join, DifferentVersions) {
  Process process;
  const UniqueId id = *process.bootstrap().create_id();
  std::vector<std::string> texts(2);
  as_threads(2, [&](Rank rank) {
    JoinOptions options = options_of(id, rank, 3);
    if (rank == 1) options.version = "2.26.0";
    texts[static_cast<size_t>(rank)] = try_join(process, options);
  });
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[0].find("different library versions: "), std::string::npos) << texts[0];
  EXPECT_NE(texts[0].find(named(1) + " has 2.26.0"), std::string::npos) << texts[0];
  EXPECT_NE(texts[0].find(named(0) + " has 2.27.7"), std::string::npos) << texts[0];
}

TEST(Join, AnIdIsForOneCommunicator) {
  Process process;
  const UniqueId id = *process.bootstrap().create_id();
  as_threads(2, [&](Rank rank) { EXPECT_EQ(try_join(process, options_of(id, rank, 2)), ""); });
  auto again = process.bootstrap().join(options_of(id, 0, 2));
  EXPECT_EQ(again.status().code(), Code::kInvalidUsage);
  EXPECT_EQ(
      again.status().text(),
      "the unique id was used before, for a communicator of 2 ranks: every communicator needs "
      "an id of its own");
}

TEST(Join, TheMakerOfTheIdHasEnded) {
  std::optional<UniqueId> id;
  {
    Process maker;
    id = *maker.bootstrap().create_id();
  }
  Process process;
  const std::string text = try_join(process, options_of(*id, 0, 1));
  const std::string head = "the process that made the unique id (pid " + pid() + " on host ";
  EXPECT_EQ(text.substr(0, head.size()), head);
  EXPECT_NE(text.find("does not serve it: it has ended"), std::string::npos) << text;
}

TEST(Join, TimeOutNamesTheMissing) {
  Process process;
  const UniqueId id = *process.bootstrap().create_id();
  as_threads(5, [&](int i) {
    const Rank rank = i < 3 ? i : (i == 3 ? 4 : 8);
    JoinOptions options = options_of(id, rank, 9);
    options.timeout_ms = 1'000;
    auto wiring = process.bootstrap().join(options);
    ASSERT_FALSE(wiring.ok());
    EXPECT_EQ(wiring.status().code(), Code::kRemote);
    EXPECT_EQ(wiring.status().text(),
              "initialisation timed out after 1 s: waiting for ranks 3, 5-7 of 9");
  });
}

TEST(Join, AbortTellsTheOthers) {
  Process process;
  const UniqueId id = *process.bootstrap().create_id();
  std::atomic<bool> abort{false};
  as_threads(2, [&](Rank rank) {
    JoinOptions options = options_of(id, rank, 3);
    if (rank == 1) options.abort = &abort;
    if (rank == 0) {
      std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        abort.store(true);
      });
      EXPECT_EQ(try_join(process, options),
                named(1) + " left during initialisation: it died or gave up");
      later.join();
    } else {
      EXPECT_EQ(try_join(process, options), "initialisation was aborted");
    }
  });
}

/// Someone who knows the secret but talks nonsense afterwards harms nobody.
TEST(Join, NonsenseAfterTheHandshakeIsIgnored) {
  Process process;
  const UniqueId id = *process.bootstrap().create_id();
  std::atomic<int> connected{0};
  std::vector<std::shared_ptr<Dial>> dials;
  std::vector<Connection> kept;
  for (int i = 0; i < 3; ++i) {
    run_in(
        process.reactor(),
        [&, i] {
          dials.push_back(Dial::start(
              process.reactor(),
              {.contact = id.contact(), .secret = id.secret(), .ticket = Door::kRootTicket},
              [&, i](Result<Connection> connection) {
                ASSERT_TRUE(connection.ok());
                const auto kind = static_cast<uint16_t>(i == 0 ? 99 : 16);
                static_cast<void>(connection->send(kind, Blob(static_cast<size_t>(i) * 9)));
                kept.push_back(std::move(*connection));
                ++connected;
              }));
        },
        5'000);
  }
  ASSERT_TRUE(test::eventually([&] { return connected.load() == 3; }));
  as_threads(2, [&](Rank rank) { EXPECT_EQ(try_join(process, options_of(id, rank, 2)), ""); });
  run_in(
      process.reactor(), [&] { dials.clear(); }, 5'000);
}

}  // namespace
}  // namespace accl
