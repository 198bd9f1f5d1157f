// Every message of bootstrap and control: the first byte says which, the rest is its payload.
// What is taken for a message must be the same after it has been written and read again.
#include "src/bootstrap/messages.h"

#include <array>
#include <cstdlib>
#include <functional>

#include "src/bootstrap/unique_id.h"
#include "src/control/messages.h"
#include "tests/fuzz/fuzz.h"

namespace accl::fuzz {
namespace {

Frame frame_of(const Packet& packet) {
  Frame frame;
  frame.payload.assign(packet.bytes->begin() + Connection::kHeaderBytes, packet.bytes->end());
  return frame;
}

void require(bool held) {
  if (!held) std::abort();
}

void hello(const Frame& frame) {
  if (const auto read = hello_of(frame)) {
    require(frame_of(packet_of(*read)).payload == frame.payload);
  }
}

void kin(const Frame& frame) {
  if (const auto read = kin_of(frame)) {
    require(frame_of(packet_of(*read)).payload == frame.payload);
  }
}

void assign(const Frame& frame) {
  if (const auto read = assign_of(frame)) {
    require(frame_of(packet_of_assign(*read)).payload == frame.payload);
  }
}

void refusal(const Frame& frame) { require(!refusal_of(frame).ok()); }

void entry(const Frame& frame) {
  if (const auto read = entry_of(frame)) {
    require(frame_of(packet_of(*read, nullptr)).payload == frame.payload);
  }
}

void message(const Frame& frame) {
  if (const auto read = message_of(frame)) {
    require(frame_of(packet_of(*read)).payload == frame.payload);
  }
}

void notice(const Frame& frame) {
  if (const auto read = notice_of(frame)) {
    require(frame_of(packet_of(ControlKind::kVerdict, *read)).payload == frame.payload);
  }
}

void turn(const Frame& frame) {
  if (const auto read = turn_of(frame)) {
    require(frame_of(packet_of(ControlKind::kBarrierUp, *read)).payload == frame.payload);
  }
}

void unique_id(const Frame& frame) {
  const auto id = UniqueId::parse(frame.payload);
  if (id.ok()) require(!id->origin().empty());
}

constexpr std::array kReaders = {hello,   kin,    assign, refusal,  entry,
                                 message, notice, turn,   unique_id};

}  // namespace

std::vector<std::vector<uint8_t>> seeds() {
  const Blob blob(20, std::byte{7});
  const Packet packets[] = {
      packet_of(Hello{.version = "2.27.7", .rank = 1, .ranks = 4, .host = "host"}),
      packet_of(Kin{.rank = 3, .pid = 77, .host = "host"}),
      packet_of_assign({}),
      packet_of_refuse(remote_error("no")),
      packet_of(Entry{.turn = 1, .from = 2, .blob = blob}, nullptr),
      packet_of(Message{.from = 1, .kind = 2, .payload = blob}),
      packet_of(ControlKind::kVerdict, Notice{5, "operation 17 differs"}),
      packet_of(ControlKind::kBarrierUp, uint32_t{3})};
  std::vector<std::vector<uint8_t>> inputs;
  const auto add = [&](std::span<const std::byte> payload) {
    std::vector<uint8_t> input = {static_cast<uint8_t>(inputs.size())};
    for (const std::byte byte : payload) input.push_back(std::to_integer<uint8_t>(byte));
    inputs.push_back(std::move(input));
  };
  for (const Packet& packet : packets) {
    add(std::span(*packet.bytes).subspan(Connection::kHeaderBytes));
  }
  const auto id = UniqueId::create({});
  require(id.ok());
  add(id->bytes());
  return inputs;
}

}  // namespace accl::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace accl::fuzz;
  if (size == 0) return 0;
  accl::Frame frame;
  const auto payload = bytes_of(data + 1, size - 1);
  frame.payload.assign(payload.begin(), payload.end());
  kReaders[data[0] % kReaders.size()](frame);
  return 0;
}
