#include "src/base/tcp.h"

#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>

namespace accl {
namespace {

constexpr int kBacklog = 4096;
constexpr int kIdleS = 60;  // before the first probe
constexpr int kProbeS = 10;
constexpr int kProbes = 6;
constexpr unsigned kUnackedMs = 60'000;  // data that nobody acknowledges: the connection is lost

void set(int fd, int level, int name, int value) {
  static_cast<void>(setsockopt(fd, level, name, &value, sizeof value));
}

Result<Fd> make_socket(int family) {
  Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error(std::string("cannot create a TCP socket: ") + strerror(errno));
  return fd;
}

bool bind_at(int fd, const SocketAddress& at) {
  const NativeAddress address = native(at);
  return bind(fd, address.get(), address.length) == 0 && listen(fd, kBacklog) == 0;
}

}  // namespace

Result<Fd> listen_tcp(const SocketAddress& at, PortRange ports) {
  int error = 0;
  for (uint32_t port = ports.first; port <= ports.last; port++) {
    // A fresh socket for each: one that could not listen may stay bound.
    Fd fd = ACCL_TRY(make_socket(at.family));
    set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (at.family == AF_INET6) set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (bind_at(fd.get(), at.with_port(static_cast<uint16_t>(port)))) return fd;
    error = errno;
    if (error != EADDRINUSE && error != EACCES) break;
  }
  std::string where = describe(at.with_port(ports.first));
  if (ports.first != ports.last) {
    where = describe(at.with_port(0)) + ", ports " + std::to_string(ports.first) + "-" +
            std::to_string(ports.last);
    if (error == EADDRINUSE) where += " (one is needed, all are taken)";
  }
  return system_error("cannot listen on " + where + ": " + strerror(error));
}

Result<Fd> connect_tcp(const SocketAddress& to) {
  Fd fd = ACCL_TRY(make_socket(to.family));
  tune_tcp(fd.get());
  const NativeAddress address = native(to);
  while (connect(fd.get(), address.get(), address.length) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINPROGRESS) break;
    return remote_error("cannot connect to " + describe(to) + ": " + strerror(errno));
  }
  return fd;
}

Status connect_result(int fd, const SocketAddress& to) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0) return {};
  return remote_error("cannot connect to " + describe(to) + ": " + strerror(error));
}

void tune_tcp(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kIdleS);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kProbeS);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  const unsigned unacked = kUnackedMs;
  static_cast<void>(setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked, sizeof unacked));
}

bool is_tcp(int fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return false;
  return domain == AF_INET || domain == AF_INET6;
}

}  // namespace accl
