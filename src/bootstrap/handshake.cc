#include "src/bootstrap/handshake.h"

#include <sodium.h>

#include <string>
#include <utility>

#include "src/bootstrap/wire.h"

namespace accl {
namespace {

constexpr uint32_t kMagic = 0x4c434341;  // "ACCL"
constexpr size_t kProofBytes = 32;

enum FrameKind : uint16_t { kIntro = 1, kChallenge, kProof, kWelcome };
enum Answer : uint8_t { kFine, kUnknown, kOtherVersion, kWrongSecret };

Blob intro_bytes(const Request& request, const Nonce& nonce, uint16_t wire_version) {
  WireWriter writer;
  writer.number(kMagic).number(wire_version).number(uint16_t{0});
  writer.raw(request.key).number(request.ticket).raw(nonce);
  return writer.bytes();
}

std::string versions_differ(int there, int here) {
  return "different library versions: wire format " + std::to_string(there) + " there, " +
         std::to_string(here) + " here";
}

template <class Array>
void copy(std::span<const std::byte> from, Array* to) {
  if (from.size() == to->size()) std::memcpy(to->data(), from.data(), from.size());
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

Handshake Handshake::client(const Secret& secret, const Request& request, const Nonce& nonce,
                            uint16_t wire_version) {
  Handshake handshake(Step::kSendIntro, nonce);
  handshake.secret_ = secret;
  handshake.request_ = request;
  handshake.wire_version_ = wire_version;
  return handshake;
}

Handshake Handshake::server(Lookup lookup, const Nonce& nonce) {
  Handshake handshake(Step::kAwaitIntro, nonce);
  handshake.lookup_ = std::move(lookup);
  return handshake;
}

Status Handshake::advance(Connection& link) {
  if (step_ == Step::kSendIntro) {
    link.set_limits(kMaxPayloadBytes, false);
    step_ = Step::kAwaitChallenge;
    ACCL_TRY(link.send(kIntro, intro_bytes(request_, own_nonce_, wire_version_)));
  }
  if (step_ == Step::kAwaitIntro) link.set_limits(kMaxPayloadBytes, false);
  ACCL_TRY(link.receive());
  while (!done()) {
    const std::optional<Frame> frame = ACCL_TRY(link.next());
    if (!frame) {
      if (!link.at_end()) return {};
      return remote_error("the peer closed the connection during the handshake");
    }
    ACCL_TRY(take(*frame, link));
  }
  return {};
}

Status Handshake::take(const Frame& frame, Connection& link) {
  if (step_ == Step::kAwaitIntro && frame.kind == kIntro) return take_intro(frame, link);
  if (step_ == Step::kAwaitChallenge && frame.kind == kChallenge)
    return take_challenge(frame, link);
  if (step_ == Step::kAwaitProof && frame.kind == kProof) return take_proof(frame, link);
  if (step_ == Step::kAwaitWelcome && frame.kind == kWelcome) return take_welcome(frame);
  return remote_error("the peer does not speak the handshake");
}

Status Handshake::take_intro(const Frame& frame, Connection& link) {
  WireReader reader(frame.payload);
  const auto magic = reader.number<uint32_t>();
  wire_version_ = reader.number<uint16_t>();
  reader.number<uint16_t>();
  copy(reader.raw(request_.key.size()), &request_.key);
  request_.ticket = reader.number<uint32_t>();
  copy(reader.raw(peer_nonce_.size()), &peer_nonce_);
  if (!reader.done() || magic != kMagic) {
    return remote_error("the peer does not speak the handshake");
  }
  const std::optional<Secret> secret = lookup_(request_);
  Answer answer = kFine;
  if (wire_version_ != kWireVersion) {
    answer = kOtherVersion;
  } else if (!secret) {
    answer = kUnknown;
  }
  WireWriter writer;
  writer.number(kWireVersion).number(static_cast<uint16_t>(answer)).raw(own_nonce_);
  ACCL_TRY(link.send(kChallenge, writer.bytes()));
  if (answer == kOtherVersion) return remote_error(versions_differ(wire_version_, kWireVersion));
  if (answer == kUnknown) return remote_error("the peer asks for a service that is not here");
  secret_ = *secret;
  step_ = Step::kAwaitProof;
  return {};
}

Status Handshake::take_challenge(const Frame& frame, Connection& link) {
  answered_ = true;
  WireReader reader(frame.payload);
  const auto version = reader.number<uint16_t>();
  const auto answer = reader.number<uint16_t>();
  copy(reader.raw(peer_nonce_.size()), &peer_nonce_);
  if (!reader.done()) return remote_error("the peer does not speak the handshake");
  if (answer == kOtherVersion) return invalid_usage(versions_differ(version, wire_version_));
  if (answer != kFine) {
    unknown_ = true;
    return invalid_usage("the peer does not know the unique id (any more)");
  }
  step_ = Step::kAwaitWelcome;
  return link.send(kProof, proof(true));
}

Status Handshake::take_proof(const Frame& frame, Connection& link) {
  const bool fine = same(frame.payload, proof(true));
  WireWriter writer;
  writer.number(static_cast<uint16_t>(fine ? kFine : kWrongSecret));
  writer.raw(fine ? proof(false) : Blob(kProofBytes));
  ACCL_TRY(link.send(kWelcome, writer.bytes()));
  if (!fine) return remote_error("the peer does not know the secret");
  step_ = Step::kDone;
  return {};
}

Status Handshake::take_welcome(const Frame& frame) {
  WireReader reader(frame.payload);
  const auto answer = reader.number<uint16_t>();
  const auto theirs = reader.raw(kProofBytes);
  if (!reader.done()) return remote_error("the peer does not speak the handshake");
  if (answer != kFine) return invalid_usage("the peer refuses the secret of the unique id");
  if (!same(theirs, proof(false))) return remote_error("the peer does not know the secret");
  step_ = Step::kDone;
  return {};
}

Blob Handshake::proof(bool as_client) const {
  // The role keeps a proof from being reflected, the nonces keep it from being replayed.
  const bool we_are_client = lookup_ == nullptr;
  WireWriter writer;
  writer.text(as_client ? "accl client" : "accl server");
  writer.raw(intro_bytes(request_, we_are_client ? own_nonce_ : peer_nonce_, kWireVersion));
  writer.raw(we_are_client ? peer_nonce_ : own_nonce_);
  Blob hash(kProofBytes);
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(writer.bytes().data()),
                     writer.bytes().size(), reinterpret_cast<const unsigned char*>(secret_.data()),
                     secret_.size());
  return hash;
}

}  // namespace accl
