// TCP sockets: ports of a range, refused and accepted connections, options.
#include "src/base/tcp.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <vector>

namespace accl {
namespace {

SocketAddress loopback(const char* text = "127.0.0.1") {
  auto address = parse_address(text);
  return address.ok() ? *address : SocketAddress();
}

int option(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  getsockopt(fd, level, name, &value, &size);
  return value;
}

Status finish(int fd, const SocketAddress& to) {
  pollfd watched{fd, POLLOUT, 0};
  poll(&watched, 1, 5000);
  return connect_result(fd, to);
}

TEST(Tcp, ListensInItsRange) {
  constexpr PortRange kPorts{42110, 42112};
  std::vector<Fd> listeners;
  for (int i = 0; i < 3; i++) {
    auto made = listen_tcp(loopback(), kPorts);
    ASSERT_TRUE(made.ok()) << made.status().text();
    const auto at = local_address(made->get());
    ASSERT_TRUE(at.has_value());
    EXPECT_EQ(at->port, 42110 + i);
    listeners.push_back(std::move(*made));
  }
  auto one_more = listen_tcp(loopback(), kPorts);
  ASSERT_FALSE(one_more.ok());
  EXPECT_EQ(one_more.status().code(), Code::kSystem);
  EXPECT_EQ(one_more.status().text(),
            "cannot listen on 127.0.0.1, ports 42110-42112 (one is needed, all are taken): Address "
            "already in use");
  auto taken = listen_tcp(loopback(), {42111, 42111});
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.status().text(), "cannot listen on 127.0.0.1:42111: Address already in use");
}

TEST(Tcp, Connects) {
  for (const char* text : {"127.0.0.1", "::1"}) {
    auto listener = listen_tcp(loopback(text), {});
    ASSERT_TRUE(listener.ok()) << listener.status().text();
    const auto at = local_address(listener->get());
    auto fd = connect_tcp(*at);
    ASSERT_TRUE(fd.ok()) << fd.status().text();
    EXPECT_TRUE(finish(fd->get(), *at).ok());
    EXPECT_TRUE(is_tcp(fd->get()));
    EXPECT_EQ(option(fd->get(), IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option(fd->get(), SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_LE(option(fd->get(), IPPROTO_TCP, TCP_KEEPIDLE), 120);
  }
}

TEST(Tcp, ARefusalNamesAddressAndCause) {
  SocketAddress at;
  {
    auto listener = listen_tcp(loopback(), {});
    ASSERT_TRUE(listener.ok());
    at = *local_address(listener->get());
  }
  auto fd = connect_tcp(at);
  const Status status = fd.ok() ? finish(fd->get(), at) : std::move(fd.status());
  EXPECT_EQ(status.code(), Code::kRemote);
  EXPECT_EQ(status.text(), "cannot connect to " + describe(at) + ": Connection refused");
}

}  // namespace
}  // namespace accl
