// A stranger at the door: the bytes arrive at the accepting end of a handshake. Nobody who does not
// know the secret may get through, and an end that has refused must stay refused.
#include "src/bootstrap/handshake.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "tests/fuzz/fuzz.h"

namespace accl::fuzz {
namespace {

constexpr Secret kSecret = {std::byte{1}, std::byte{2}};
constexpr Nonce kNonce = {std::byte{9}};

struct Pair {
  Fd near;
  Fd far;
};

Pair make_pair() {
  std::array<int, 2> fds{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    std::abort();
  }
  return {Fd(fds[0]), Fd(fds[1])};
}

}  // namespace

std::vector<std::vector<uint8_t>> seeds() {
  // What a client that knows the secret says first, and garbage of several kinds.
  Pair pair = make_pair();
  Connection client(std::move(pair.near));
  Handshake speaks = Handshake::client(kSecret, {key_id_of(kSecret), 3}, kNonce);
  if (!speaks.advance(client).ok()) std::abort();
  std::vector<uint8_t> intro(256);
  const ssize_t got = read(pair.far.get(), intro.data(), intro.size());
  intro.resize(got > 0 ? static_cast<size_t>(got) : 0);
  std::vector<std::vector<uint8_t>> inputs = {intro, {}, {0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0}};
  inputs.push_back({'G', 'E', 'T', ' ', '/', ' ', 'H', 'T', 'T', 'P', '/', '1', '.', '1'});
  // The intro and then a proof that is none.
  std::vector<uint8_t> proof = intro;
  proof.insert(proof.end(), {32, 0, 0, 0, 3, 0, 0, 0});
  proof.insert(proof.end(), 32, 0x5a);
  inputs.push_back(std::move(proof));
  return inputs;
}

}  // namespace accl::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace accl;
  using namespace accl::fuzz;
  if (size > 4096) return 0;
  Pair pair = make_pair();
  Connection door(std::move(pair.near));
  const auto lookup = [](const Request& request) -> std::optional<Secret> {
    if (request.key == key_id_of(kSecret)) return kSecret;
    return std::nullopt;
  };
  Handshake handshake = Handshake::server(lookup, kNonce);
  // In two parts, so that frames arrive in pieces.
  const size_t first = size > 0 ? data[0] % (size + 1) : 0;
  Status status;
  for (const auto& part : {std::span(data, first), std::span(data + first, size - first)}) {
    if (!part.empty() && write(pair.far.get(), part.data(), part.size()) < 0) std::abort();
    if (status.ok()) status = handshake.advance(door);
  }
  if (handshake.done()) std::abort();
  return 0;
}
