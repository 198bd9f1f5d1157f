// The socket transport over real TCP connections: order, windows, references, slow sockets, loss,
// and peers that send nonsense.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "src/base/rng.h"
#include "src/base/tcp.h"
#include "tests/base/sanitized.h"
#include "tests/transport/rig.h"
#include "transport/socket/mesh.h"

namespace accl::test {
namespace {

constexpr int kStreams = 8;
constexpr size_t kMax = socket::kMaxMessage;

struct Ends {
  Fd made;
  Fd accepted;
};

Ends connect_pair() {
  const SocketAddress loopback = value_of(parse_address("127.0.0.1"));
  Fd listener = value_of(listen_tcp(loopback, {}));
  const auto at = local_address(listener.get());
  Ends ends;
  ends.made = value_of(connect_tcp(*at));
  while (!ends.accepted) ends.accepted = Fd(accept(listener.get(), nullptr, nullptr));
  tune_tcp(ends.accepted.get());
  return ends;
}

/// Two ranks, each with its mesh, joined in both directions.
class Sockets {
 public:
  explicit Sockets(int connections = 1, bool attached = true) {
    for (auto& mesh : meshes_) {
      mesh = std::make_unique<socket::Mesh>(std::vector<std::string>{"rank 0", "rank 1"},
                                            connections, kStreams);
    }
    if (attached) attach();
  }
  void attach() {
    for (Rank from : {0, 1}) {
      for (int i = 0; i < mesh(0).connections(); i++) {
        Ends ends = connect_pair();
        fds.push_back(ends.made.get());
        mesh(1 - from).attach_in(from, i, std::move(ends.accepted), {});
        mesh(from).attach_out(1 - from, i, std::move(ends.made));
      }
    }
  }
  socket::Mesh& mesh(Rank rank) { return *meshes_[static_cast<size_t>(rank)]; }
  Pair open(int stream, Rank from = 0) {
    return {mesh(from).open_send(1 - from, stream), mesh(1 - from).open_recv(from, stream)};
  }

  /// Rank `rank` is gone, with its sockets.
  void end(Rank rank) { meshes_[static_cast<size_t>(rank)] = nullptr; }

  std::vector<int> fds;  ///< of the connections that ranks made

 private:
  std::array<std::unique_ptr<socket::Mesh>, 2> meshes_;
};

Slice await(RecvEnd& end, SendEnd& sender, uint32_t signature = 7) {
  for (int i = 0; i < 200000; i++) {
    if (const Slice message = end.front(signature)) return message;
    static_cast<void>(sender.settled());
  }
  return {};
}

void await_take(RecvEnd& end, SendEnd& sender, uint64_t number, size_t bytes) {
  const Slice message = await(end, sender);
  ASSERT_TRUE(message) << "message " << number << " is missing: " << end.status().text();
  ASSERT_EQ(message.size, bytes) << "message " << number;
  ASSERT_TRUE(holds(message, number)) << "message " << number << " has wrong contents";
  end.pop();
}

TEST(Socket, MessagesArriveInOrderAndOnce) {
  for (const int connections : {1, 3}) {
    Sockets sockets(connections);
    Pair pair = sockets.open(5);
    EXPECT_FALSE(pair.recv->front(7));
    const std::vector<size_t> sizes = {8, 0, 4096, 48, kMax, 49, 1, 100000, 5000};
    uint64_t sent = 0;
    for (uint64_t received = 0; received < 2000; received++) {
      while (sent < received + 4 && try_send(*pair.send, sent, sizes[sent % sizes.size()])) sent++;
      ASSERT_GT(sent, received);
      ASSERT_NO_FATAL_FAILURE(
          await_take(*pair.recv, *pair.send, received, sizes[received % sizes.size()]));
    }
    EXPECT_TRUE(pair.send->status().ok() && pair.recv->status().ok());
  }
}

TEST(Socket, AWindowIsBoundedAndComesBack) {
  Sockets sockets;
  for (int stream = 0; const size_t bytes : {size_t{0}, size_t{8}, size_t{4097}, kMax}) {
    Pair pair = sockets.open(stream++);
    uint64_t sent = 0;
    while (try_send(*pair.send, sent, bytes)) ASSERT_LT(++sent, 1000u);
    EXPECT_GE(sent, bytes == kMax ? 2u : 60u);
    EXPECT_TRUE(pair.send->status().ok()) << "full is not failed";
    for (uint64_t i = 0; i < 3000; i++) {
      ASSERT_NO_FATAL_FAILURE(await_take(*pair.recv, *pair.send, i, bytes));
      for (int tries = 0; tries < 100000 && sent == i + 1; tries++) {
        if (try_send(*pair.send, sent, bytes)) sent++;
      }
      ASSERT_GT(sent, i + 1) << "a drained stream has room";
    }
  }
}

// One stream is full to the brim and nobody reads it; the others share its connection.
TEST(Socket, AFullStreamDoesNotStopTheOthers) {
  Sockets sockets;
  Pair full = sockets.open(0);
  uint64_t sent = 0;
  while (try_send(*full.send, sent, kMax)) sent++;
  for (int stream = 1; stream < kStreams; stream++) {
    Pair pair = sockets.open(stream);
    for (uint64_t i = 0; i < 50; i++) {
      ASSERT_TRUE(try_send(*pair.send, i, 100000));
      ASSERT_NO_FATAL_FAILURE(await_take(*pair.recv, *pair.send, i, 100000));
    }
  }
  for (uint64_t i = 0; i < sent; i++) {
    ASSERT_NO_FATAL_FAILURE(await_take(*full.recv, *full.send, i, kMax));
  }
}

TEST(Socket, WhatIsSentBeforeTheConnectionStandsWaits) {
  Sockets sockets(2, false);
  Pair pair = sockets.open(1);
  ASSERT_TRUE(try_send(*pair.send, 0, 1000));
  ASSERT_TRUE(try_send(*pair.send, 1, kMax));
  EXPECT_FALSE(pair.send->settled());
  EXPECT_FALSE(pair.recv->front(7));
  sockets.attach();
  ASSERT_NO_FATAL_FAILURE(await_take(*pair.recv, *pair.send, 0, 1000));
  ASSERT_NO_FATAL_FAILURE(await_take(*pair.recv, *pair.send, 1, kMax));
  EXPECT_TRUE(pair.send->settled());
}

TEST(Socket, BytesThatCameWithTheHandshakeCount) {
  Sockets sockets(1, false);
  Pair pair = sockets.open(0);
  Ends ends = connect_pair();
  const socket::DataHeader header{.stream = 0, .bytes = 100, .signature = 7};
  std::vector<std::byte> early(sizeof header + 60);
  std::vector<std::byte> payload(100);
  fill({payload.data(), payload.size()}, 3);
  std::memcpy(early.data(), &header, sizeof header);
  std::memcpy(early.data() + sizeof header, payload.data(), 60);
  sockets.mesh(1).attach_in(0, 0, std::move(ends.accepted), early);
  EXPECT_FALSE(pair.recv->front(7));
  ASSERT_EQ(write(ends.made.get(), payload.data() + 60, 40), 40);
  ASSERT_NO_FATAL_FAILURE(await_take(*pair.recv, *pair.send, 3, 100));
}

TEST(Socket, PushedMessagesAreSentFromWhereTheyLie) {
  Sockets sockets;
  Pair pair = sockets.open(0);
  ASSERT_TRUE(pair.send->by_reference());
  EXPECT_FALSE(pair.send->push({nullptr, kMax + 1}, 7));
  std::vector<std::byte> source(kMax);
  for (uint64_t i = 0; i < 300; i++) {
    fill({source.data(), source.size()}, i);
    ASSERT_TRUE(pair.send->push({source.data(), source.size()}, 7));
    ASSERT_TRUE(try_send(*pair.send, i, 8)) << "copies and references keep their order";
    ASSERT_NO_FATAL_FAILURE(await_take(*pair.recv, *pair.send, i, kMax));
    EXPECT_EQ(pair.send->flushed(), i + 1);
    ASSERT_NO_FATAL_FAILURE(await_take(*pair.recv, *pair.send, i, 8));
  }
}

TEST(Socket, AnotherSignatureIsAMismatchNotAMessage) {
  Sockets sockets;
  Pair pair = sockets.open(0);
  ASSERT_TRUE(try_send(*pair.send, 1, 40, 9));
  while (!pair.recv->mismatched(7)) ASSERT_FALSE(pair.recv->front(7));
  EXPECT_EQ(pair.recv->arrived(), 9u);
  EXPECT_FALSE(pair.recv->mismatched(9));
  ASSERT_NO_FATAL_FAILURE(take(*pair.recv, 1, 40, 9));
}

void send_all(SendEnd& end, uint64_t messages, uint64_t seed) {
  Rng rng(seed);
  std::vector<std::byte> source(kMax);
  for (uint64_t i = 0; i < messages; i++) {
    const size_t bytes = rng.below(20) == 0 ? rng.below(kMax + 1) : rng.below(2000);
    if (bytes > 1500) {
      fill({source.data(), bytes}, i);
      while (!end.push({source.data(), bytes}, 7)) std::this_thread::yield();
      while (end.flushed() != end.pushed()) std::this_thread::yield();
    } else {
      while (!try_send(end, i, bytes)) std::this_thread::yield();
    }
  }
  while (!end.settled()) std::this_thread::yield();
}

bool take_all(RecvEnd& end, uint64_t messages, uint64_t seed) {
  Rng rng(seed);
  for (uint64_t i = 0; i < messages; i++) {
    const size_t bytes = rng.below(20) == 0 ? rng.below(kMax + 1) : rng.below(2000);
    Slice message;
    while (!(message = end.front(7))) {
      if (!end.status().ok()) return false;
      std::this_thread::yield();
    }
    if (message.size != bytes || !holds(message, i)) return false;
    end.pop();
  }
  return true;
}

TEST(Socket, RandomMessagesBetweenProcesses) {
  const uint64_t messages = kSanitized ? 5000 : 50000;
  Sockets sockets(2);
  Pair pair = sockets.open(3);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    send_all(*pair.send, messages, 43);
    _exit(pair.send->status().ok() ? 0 : 1);
  }
  EXPECT_TRUE(take_all(*pair.recv, messages, 43)) << pair.recv->status().text();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Buffers as small as the system allows: every call moves a part of a message.
TEST(Socket, TinySocketBuffers) {
  Sockets sockets;
  for (const int fd : sockets.fds) {
    const int tiny = 1;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &tiny, sizeof tiny);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &tiny, sizeof tiny);
  }
  Pair pair = sockets.open(0);
  std::thread writer([&] { send_all(*pair.send, 300, 5); });
  EXPECT_TRUE(take_all(*pair.recv, 300, 5)) << pair.recv->status().text();
  writer.join();
}

TEST(Socket, LossNamesPeerAddressAndCauseOnBothSides) {
  Sockets sockets;
  Pair pair = sockets.open(0);
  ASSERT_TRUE(try_send(*pair.send, 0, 8));
  ASSERT_NO_FATAL_FAILURE(await_take(*pair.recv, *pair.send, 0, 8));
  ASSERT_EQ(shutdown(sockets.fds[0], SHUT_RDWR), 0);
  Status receiver = pair.recv->status();
  for (int i = 0; i < 1000 && receiver.ok(); i++) {
    usleep(1000);
    receiver = pair.recv->status();
  }
  EXPECT_EQ(receiver.code(), Code::kRemote);
  EXPECT_TRUE(receiver.text().starts_with("the connection from rank 0 at 127.0.0.1:"))
      << receiver.text();
  EXPECT_TRUE(receiver.text().ends_with(" was lost: closed by the peer")) << receiver.text();
  const Status sender = pair.send->status();
  EXPECT_EQ(sender.code(), Code::kRemote);
  EXPECT_NE(sender.text().find("the connection to rank 1"), std::string::npos) << sender.text();
  EXPECT_FALSE(pair.send->reserve(8));
}

TEST(Socket, AWriterThatEndsKeepsWhatItSentReadable) {
  Sockets sockets;
  Pair pair = sockets.open(0);
  ASSERT_TRUE(try_send(*pair.send, 0, 5000));
  ASSERT_TRUE(try_send(*pair.send, 1, 8));
  ASSERT_TRUE(pair.send->settled());
  pair.send = nullptr;
  sockets.end(0);
  for (uint64_t i = 0; i < 2; i++) {
    Slice message;
    for (int tries = 0; tries < 100000 && !message; tries++) message = pair.recv->front(7);
    ASSERT_TRUE(message);
    EXPECT_TRUE(holds(message, i));
    pair.recv->pop();
  }
}

// The credit that the reader returns meets a closed socket, which must not cost it what is unread.
TEST(Socket, CreditForAWriterThatEndedLosesNothing) {
  Sockets sockets;
  Pair pair = sockets.open(0);
  Pair marker = sockets.open(1);
  constexpr uint64_t kLooked = 130;  // worth two credits
  constexpr uint64_t kMessages = 140;
  for (uint64_t i = 0; i < kMessages; i++) {
    if (i == kLooked) {  // all so far is off the socket once the marker is; the rest stays there
      ASSERT_TRUE(try_send(*marker.send, 0, 8));
      ASSERT_TRUE(await(*marker.recv, *marker.send));
    }
    ASSERT_TRUE(try_send(*pair.send, i, 1000));
    ASSERT_TRUE(pair.send->settled());
  }
  pair.send = nullptr;
  marker.send = nullptr;
  sockets.end(0);
  for (uint64_t i = 0; i < kMessages; i++) {
    Slice message;
    for (int tries = 0; tries < 100000 && !message; tries++) message = pair.recv->front(7);
    ASSERT_TRUE(message) << "message " << i << ": " << pair.recv->status().text();
    ASSERT_TRUE(holds(message, i));
    pair.recv->pop();
  }
}

TEST(Socket, LentMemoryIsFreeOnceTheConnectionIsLost) {
  Sockets sockets(1, false);
  Pair pair = sockets.open(0);
  std::vector<std::byte> source(kMax);
  ASSERT_TRUE(pair.send->push({source.data(), source.size()}, 7));
  EXPECT_EQ(pair.send->flushed(), 0u);
  sockets.mesh(0).fail(1, system_error("cannot reach rank 1"));
  EXPECT_EQ(pair.send->status().text(), "cannot reach rank 1");
  EXPECT_EQ(pair.send->flushed(), 1u);
  EXPECT_FALSE(pair.send->settled()) << "it has not left, and never will";
}

TEST(Socket, NonsenseEndsTheConnection) {
  struct Case {
    socket::DataHeader header;
    const char* text;
  };
  for (const Case& wrong :
       {Case{{.magic = 1}, "nonsense"}, Case{{.stream = kStreams}, "nonsense"},
        Case{{.bytes = static_cast<uint32_t>(kMax) + 1}, "nonsense"},
        Case{{.bytes = ~0u}, "nonsense"}, Case{{.bytes = kMax}, "more than its window allows"}}) {
    Sockets sockets(1, false);
    Pair pair = sockets.open(0);
    Ends ends = connect_pair();
    sockets.mesh(1).attach_in(0, 0, std::move(ends.accepted), {});
    const std::vector<std::byte> payload(wrong.header.bytes > kMax ? 0 : wrong.header.bytes);
    Status status = pair.recv->status();
    for (int i = 0; i < 4 && status.ok(); i++) {
      EXPECT_EQ(write(ends.made.get(), &wrong.header, sizeof wrong.header),
                static_cast<ssize_t>(sizeof wrong.header));
      for (size_t at = 0; at < payload.size();) {
        const ssize_t sent = write(ends.made.get(), payload.data() + at, payload.size() - at);
        if (sent > 0) at += static_cast<size_t>(sent);
        static_cast<void>(pair.recv->front(8));
        if (!pair.recv->status().ok()) break;
      }
      usleep(2000);
      status = pair.recv->status();
    }
    EXPECT_EQ(status.code(), Code::kRemote);
    EXPECT_NE(status.text().find(wrong.text), std::string::npos) << status.text();
  }
}

TEST(Socket, CreditThatWasNotGivenEndsTheConnection) {
  Sockets sockets(1, false);
  Pair pair = sockets.open(0);
  Ends ends = connect_pair();
  sockets.mesh(0).attach_out(1, 0, std::move(ends.made));
  const socket::Credit credit{.stream = 0, .cost = 512};
  ASSERT_EQ(write(ends.accepted.get(), &credit, sizeof credit),
            static_cast<ssize_t>(sizeof credit));
  Status status = pair.send->status();
  for (int i = 0; i < 1000 && status.ok(); i++) {
    usleep(1000);
    status = pair.send->status();
  }
  EXPECT_NE(status.text().find("gives credit"), std::string::npos) << status.text();
}

TEST(Socket, APeerThatCannotBeReachedFailsItsStreams) {
  Sockets sockets(1, false);
  Pair pair = sockets.open(0);
  sockets.mesh(0).fail(1, remote_error("cannot connect to rank 1"));
  EXPECT_EQ(pair.send->status().text(), "cannot connect to rank 1");
  EXPECT_FALSE(pair.send->reserve(8));
}

}  // namespace
}  // namespace accl::test
