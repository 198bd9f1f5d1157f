// The handshake: both ends of a connection prove that they know the secret before either reads
// anything else.
//
//   client -> server  intro      wire version, key id, nonce, which service
//   server -> client  challenge  wire version, status, nonce
//   client -> server  proof      keyed BLAKE2b of both nonces and the intro, as client
//   server -> client  welcome    status, keyed BLAKE2b of the same, as server
//
// A state machine over a Connection with a stranger's limits: it never blocks and holds at most one
// small frame. The caller bounds the time. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "src/base/socket.h"
#include "src/base/status.h"
#include "src/bootstrap/unique_id.h"

namespace accl {

/// Which service of a process a client wants: a communicator's key and a number (see door.h).
struct Request {
  KeyId key{};
  uint32_t ticket = 0;
  bool operator==(const Request&) const = default;
};

class Handshake {
 public:
  static constexpr uint16_t kWireVersion = 1;
  static constexpr size_t kMaxPayloadBytes = 64;
  using Lookup = std::function<std::optional<Secret>(const Request&)>;

  /// The end that has connected. `wire_version` is only ever another one in tests.
  static Handshake client(const Secret& secret, const Request& request, const Nonce& nonce,
                          uint16_t wire_version = kWireVersion);
  /// The end that has accepted; `lookup` finds the secret that a request needs.
  static Handshake server(Lookup lookup, const Nonce& nonce);

  /// Goes on as far as the bytes allow. After an error the connection is to be closed, after its
  /// queue is flushed if that works at once.
  Status advance(Connection& link);
  bool done() const { return step_ == Step::kDone; }
  /// Client: true once the server has answered; before that the end of the connection only means
  /// that the server was busy, and one may try again.
  bool answered() const { return answered_; }
  /// Client: true if the server does not have the service.
  bool unknown() const { return unknown_; }
  /// Server: what the client asked for. Only when done.
  const Request& request() const { return request_; }

 private:
  enum class Step { kSendIntro, kAwaitIntro, kAwaitChallenge, kAwaitProof, kAwaitWelcome, kDone };

  Handshake(Step step, const Nonce& nonce) : step_(step), own_nonce_(nonce) {}
  Status take(const Frame& frame, Connection& link);
  Status take_intro(const Frame& frame, Connection& link);
  Status take_challenge(const Frame& frame, Connection& link);
  Status take_proof(const Frame& frame, Connection& link);
  Status take_welcome(const Frame& frame);
  Blob proof(bool as_client) const;

  Step step_;
  Nonce own_nonce_;
  Nonce peer_nonce_{};
  Secret secret_{};
  Request request_;
  uint16_t wire_version_ = kWireVersion;
  Lookup lookup_;
  bool answered_ = false;
  bool unknown_ = false;
};

}  // namespace accl
