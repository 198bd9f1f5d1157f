#include "src/bootstrap/messages.h"

#include <algorithm>
#include <utility>

#include "src/bootstrap/wire.h"

namespace accl {
namespace {

constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxTextBytes = 4096;

Packet pack(BootstrapKind kind, const WireWriter& writer) {
  return Connection::make_packet(static_cast<uint16_t>(kind), writer.bytes());
}

bool is(const Frame& frame, BootstrapKind kind) {
  return frame.kind == static_cast<uint16_t>(kind);
}

Address read_address(WireReader* reader) {
  Address address;
  address.contact = read_contact(reader);
  address.ticket = reader->number<uint32_t>();
  return address;
}

void write_address(WireWriter* writer, const Address& address) {
  write_contact(writer, address.contact);
  writer->number(address.ticket);
}

}  // namespace

Packet packet_of(const Hello& hello) {
  WireWriter writer;
  writer.text(hello.version).number(hello.rank).number(hello.ranks).number(hello.timeout_ms);
  writer.number(hello.pid).text(hello.host);
  write_address(&writer, hello.address);
  return pack(BootstrapKind::kHello, writer);
}

Packet packet_of(const Kin& kin) {
  WireWriter writer;
  writer.number(kin.rank).number(kin.pid).text(kin.host);
  return pack(BootstrapKind::kKin, writer);
}

Packet packet_of_assign(const Address& parent) {
  WireWriter writer;
  write_address(&writer, parent);
  return pack(BootstrapKind::kAssign, writer);
}

Packet packet_of_refuse(const Status& why) {
  WireWriter writer;
  writer.number(static_cast<int32_t>(why.code())).text(why.text().substr(0, kMaxTextBytes));
  return pack(BootstrapKind::kRefuse, writer);
}

Packet packet_of(BootstrapKind kind) { return pack(kind, {}); }

std::optional<Hello> hello_of(const Frame& frame) {
  if (!is(frame, BootstrapKind::kHello)) return std::nullopt;
  WireReader reader(frame.payload);
  Hello hello;
  hello.version = reader.text(kMaxNameBytes);
  hello.rank = reader.number<Rank>();
  hello.ranks = reader.number<int32_t>();
  hello.timeout_ms = reader.number<uint64_t>();
  hello.pid = reader.number<int32_t>();
  hello.host = reader.text(kMaxNameBytes);
  hello.address = read_address(&reader);
  if (!reader.done()) return std::nullopt;
  return hello;
}

std::optional<Kin> kin_of(const Frame& frame) {
  if (!is(frame, BootstrapKind::kKin)) return std::nullopt;
  WireReader reader(frame.payload);
  Kin kin;
  kin.rank = reader.number<Rank>();
  kin.pid = reader.number<int32_t>();
  kin.host = reader.text(kMaxNameBytes);
  if (!reader.done()) return std::nullopt;
  return kin;
}

std::optional<Address> assign_of(const Frame& frame) {
  if (!is(frame, BootstrapKind::kAssign)) return std::nullopt;
  WireReader reader(frame.payload);
  const Address address = read_address(&reader);
  if (!reader.done()) return std::nullopt;
  return address;
}

Status refusal_of(const Frame& frame) {
  WireReader reader(frame.payload);
  const auto code = reader.number<int32_t>();
  std::string text = reader.text(kMaxTextBytes);
  const bool known =
      code > static_cast<int32_t>(Code::kOk) && code < static_cast<int32_t>(Code::kInProgress);
  if (!reader.done() || !known) return remote_error("refused, with a message that makes no sense");
  return {static_cast<Code>(code), std::move(text)};
}

std::string describe_process(Rank rank, int pid, const std::string& host) {
  return "rank " + std::to_string(rank) + " (pid " + std::to_string(pid) + " on host " + host + ")";
}

std::string describe_ms(uint64_t time_ms) {
  if (time_ms >= 1000 && time_ms % 1000 == 0) return std::to_string(time_ms / 1000) + " s";
  return std::to_string(time_ms) + " ms";
}

}  // namespace accl
