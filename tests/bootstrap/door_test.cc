// The door and the handshake: who gets in, and what strangers get.
#include "src/bootstrap/door.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "src/base/clock.h"
#include "src/base/rng.h"
#include "src/bootstrap/unique_id.h"
#include "src/bootstrap/wire.h"
#include "tests/bootstrap/harness.h"

namespace accl {
namespace {

using test::Process;

/// Both ends of a handshake over a socket pair.
struct Pair {
  Pair() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    client = Connection(Fd(ends[0]));
    server = Connection(Fd(ends[1]));
  }
  Connection client;
  Connection server;
};

const Secret kSecret = *random_secret();
const Request kRequest{key_id_of(kSecret), 5};

Handshake server_with(const std::optional<Secret>& secret) {
  return Handshake::server([secret](const Request&) { return secret; }, *random_secret());
}

struct Outcome {
  std::string client;
  std::string server;
};

Outcome shake(Handshake client, Handshake server) {
  Pair pair;
  Outcome outcome;
  for (int i = 0; i < 6; ++i) {
    if (outcome.client.empty()) outcome.client = client.advance(pair.client).text();
    if (outcome.server.empty()) outcome.server = server.advance(pair.server).text();
  }
  if (outcome.client.empty()) outcome.client = client.done() ? "done" : "waits";
  if (outcome.server.empty()) outcome.server = server.done() ? "done" : "waits";
  if (server.done()) {
    EXPECT_EQ(server.request(), kRequest);
  }
  return outcome;
}

TEST(Handshake, BothProveTheSecret) {
  const Outcome outcome =
      shake(Handshake::client(kSecret, kRequest, *random_secret()), server_with(kSecret));
  EXPECT_EQ(outcome.client, "done");
  EXPECT_EQ(outcome.server, "done");
}

TEST(Handshake, AWrongSecretIsToldSo) {
  const Outcome outcome =
      shake(Handshake::client(*random_secret(), kRequest, *random_secret()), server_with(kSecret));
  EXPECT_EQ(outcome.client, "the peer refuses the secret of the unique id");
  EXPECT_EQ(outcome.server, "the peer does not know the secret");
}

TEST(Handshake, AnUnknownServiceIsToldSo) {
  const Outcome outcome =
      shake(Handshake::client(kSecret, kRequest, *random_secret()), server_with(std::nullopt));
  EXPECT_EQ(outcome.client, "the peer does not know the unique id (any more)");
  EXPECT_EQ(outcome.server, "the peer asks for a service that is not here");
}

TEST(Handshake, AnotherWireVersionIsNamed) {
  const Outcome outcome =
      shake(Handshake::client(kSecret, kRequest, *random_secret(), 9), server_with(kSecret));
  EXPECT_EQ(outcome.client, "different library versions: wire format 1 there, 9 here");
  EXPECT_EQ(outcome.server, "different library versions: wire format 9 there, 1 here");
}

/// A recorded conversation played again does not get in, because the server's nonce is new.
TEST(Handshake, AReplayIsRefused) {
  Pair pair;
  Handshake client = Handshake::client(kSecret, kRequest, *random_secret());
  Handshake server = server_with(kSecret);
  Blob said;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(client.advance(pair.client).ok());
    std::array<std::byte, 512> bytes{};
    const ssize_t got = recv(pair.server.fd(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) said.insert(said.end(), bytes.begin(), bytes.begin() + got);
    ASSERT_TRUE(server.advance(pair.server).ok());
  }
  ASSERT_TRUE(server.done());
  Pair second;
  Handshake again = server_with(kSecret);
  ASSERT_EQ(write(second.client.fd(), said.data(), said.size()), static_cast<ssize_t>(said.size()));
  Status status = again.advance(second.server);  // reads no more than one frame's worth
  if (status.ok()) status = again.advance(second.server);
  EXPECT_EQ(status.text(), "the peer does not know the secret");
}

TEST(Handshake, GarbageOfAnyKindEndsIt) {
  Rng rng(7);
  for (int round = 0; round < 3000; ++round) {
    Pair pair;
    Handshake server = server_with(kSecret);
    Blob bytes(1 + rng.below(300));
    for (auto& byte : bytes) byte = static_cast<std::byte>(rng.next());
    if (round % 2 == 0 && bytes.size() > 8) {  // a plausible header
      const auto length = static_cast<uint32_t>(rng.below(70));
      const auto kind = static_cast<uint16_t>(rng.below(6));
      std::memcpy(bytes.data(), &length, 4);
      std::memcpy(bytes.data() + 4, &kind, 2);
      std::memset(bytes.data() + 6, 0, 2);
    }
    ASSERT_GT(write(pair.client.fd(), bytes.data(), bytes.size()), 0);
    pair.client = Connection();
    EXPECT_FALSE(server.advance(pair.server).ok());
    EXPECT_FALSE(server.done());
  }
}

TEST(Connection, FramesSurviveEverySplit) {
  Rng rng(3);
  for (int round = 0; round < 50; ++round) {
    Pair pair;
    pair.server.set_limits(1 << 20, true);
    std::vector<Blob> sent;
    Blob stream;
    for (int i = 0; i < 20; ++i) {
      sent.emplace_back(rng.below(2000), static_cast<std::byte>(i));
      const Packet packet = Connection::make_packet(static_cast<uint16_t>(i), sent.back());
      stream.insert(stream.end(), packet.bytes->begin(), packet.bytes->end());
    }
    size_t taken = 0;
    for (size_t at = 0; at < stream.size();) {
      const size_t part = std::min<size_t>(1 + rng.below(700), stream.size() - at);
      ASSERT_EQ(write(pair.client.fd(), stream.data() + at, part), static_cast<ssize_t>(part));
      at += part;
      ASSERT_TRUE(pair.server.receive().ok());
      while (true) {
        auto frame = pair.server.next();
        ASSERT_TRUE(frame.ok());
        if (!*frame) break;
        EXPECT_EQ((*frame)->kind, taken);
        EXPECT_EQ((*frame)->payload, sent[taken]);
        ++taken;
      }
    }
    EXPECT_EQ(taken, sent.size());
  }
}

TEST(Connection, LimitsHold) {
  Pair pair;
  ASSERT_TRUE(pair.client.send(1, Blob(300)).ok());
  ASSERT_TRUE(pair.server.receive().ok());
  EXPECT_EQ(pair.server.next().status().text(), "a frame of 300 bytes is over the limit of 256");
  Pair other;
  auto fds = std::make_shared<std::vector<Fd>>();
  fds->emplace_back(dup(0));
  ASSERT_TRUE(other.client.send(Connection::make_packet(1, {}, fds)).ok());
  ASSERT_TRUE(other.server.receive().ok());
  EXPECT_EQ(other.server.next().status().text(),
            "a frame announces 1 file descriptors that did not come or may not come");
}

TEST(UniqueId, ParseSaysWhatIsWrong) {
  const UniqueId id = *UniqueId::create({.door = *random_secret()});
  EXPECT_EQ(UniqueId::parse(id.bytes())->bytes(), id.bytes());
  EXPECT_EQ(id.origin(),
            "pid " + std::to_string(getpid()) + " on host " + host_name().substr(0, 28));
  auto bytes = id.bytes();
  bytes[20] ^= std::byte{1};
  EXPECT_EQ(UniqueId::parse(bytes).status().text(),
            "the unique id is damaged: it changed on its way to this rank");
  bytes = id.bytes();
  bytes[8] = std::byte{9};
  EXPECT_EQ(
      UniqueId::parse(bytes).status().text(),
      "the unique id has format 9, this library has format 2: it was made by another version");
  bytes[0] = std::byte{9};
  EXPECT_EQ(UniqueId::parse(bytes).status().text(),
            "the unique id was not made by ncclGetUniqueId of this library");
  bytes.fill(std::byte{0});
  EXPECT_EQ(UniqueId::parse(bytes).status().text(),
            "the unique id is all zeros: it never reached this rank from the one that made it");
  EXPECT_EQ(UniqueId::parse(std::span(bytes).first(64)).status().text(),
            "a unique id has 128 bytes, not 64");
}

/// A stranger: connects, says something, and perhaps stays.
Fd stranger(const UniqueId& id, std::string_view words) {
  const Contact at = id.contact();
  auto fd =
      test::over_tcp() ? connect_tcp(at.addresses.at(0)) : connect_abstract(door_name(at.door));
  EXPECT_TRUE(fd.ok() && *fd);
  pollfd connected{fd->get(), POLLOUT, 0};
  EXPECT_EQ(poll(&connected, 1, 5'000), 1);
  if (!words.empty()) {
    EXPECT_GT(send(fd->get(), words.data(), words.size(), MSG_NOSIGNAL), 0);
  }
  return std::move(*fd);
}

bool closed_within(int fd, int timeout_ms) {
  pollfd watched{fd, POLLIN, 0};
  char bytes[256];
  while (poll(&watched, 1, timeout_ms) == 1) {
    if (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0) return true;
  }
  return false;
}

TEST(Door, StrangersDoNotDisturbAHealthyInit) {
  Process process;
  const UniqueId id = *process.bootstrap().create_id();
  std::vector<Fd> quiet;
  for (int i = 0; i < 400; ++i) quiet.push_back(stranger(id, i % 2 == 0 ? "" : "\x28"));
  for (int i = 0; i < 50; ++i) stranger(id, "");  // connects and closes
  for (const size_t bytes : {size_t{3}, size_t{64}}) {
    for (int i = 0; i < 100; ++i) stranger(id, std::string(bytes, static_cast<char>(i * 37)));
  }
  const Fd http = stranger(id, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const Fd garbage = stranger(id, std::string(10'000, '\xee'));
  test::as_threads(4, [&](Rank rank) {
    const auto wiring = process.bootstrap().join(test::options_of(id, rank, 4));
    EXPECT_TRUE(wiring.ok());
  });
  EXPECT_TRUE(closed_within(http.get(), 1'000));
  EXPECT_TRUE(closed_within(garbage.get(), 1'000));
  // The quiet ones were too many, so the oldest have gone; the last go when their time is up.
  EXPECT_TRUE(closed_within(quiet.front().get(), 1'000));
  EXPECT_TRUE(closed_within(quiet.back().get(), 15'000));
}

TEST(Reactor, TimersTasksAndRemovedHandlers) {
  auto reactor = std::move(*Reactor::create());
  std::vector<int> order;
  reactor->after(20, [&] { order.push_back(2); });
  reactor->after(1, [&] { order.push_back(1); });
  const auto never = reactor->after(1, [&] { order.push_back(9); });
  reactor->cancel(never);
  reactor->post([&] { order.push_back(0); });
  const uint64_t until = now_ns() + 5 * kNsPerSecond;
  while (order.size() < 3 && now_ns() < until) reactor->run_once(100);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));

  Pair pair;
  int calls = 0;
  const auto both = [&](uint32_t) {
    ++calls;
    reactor->remove(pair.client.fd());
    reactor->remove(pair.server.fd());
  };
  ASSERT_TRUE(reactor->add(pair.client.fd(), 4 /* EPOLLOUT */, both).ok());
  ASSERT_TRUE(reactor->add(pair.server.fd(), 4, both).ok());
  reactor->run_once(100);
  reactor->run_once(0);
  EXPECT_EQ(calls, 1);  // the first took the second's turn away
  EXPECT_EQ(reactor->watched(), 0u);
}

}  // namespace
}  // namespace accl
