#include "src/control/messages.h"

#include <utility>

#include "src/bootstrap/wire.h"

namespace accl {
namespace {

constexpr size_t kMaxTextBytes = 4096;

Packet pack(ControlKind kind, const WireWriter& writer, SharedFds fds = nullptr) {
  return Connection::make_packet(static_cast<uint16_t>(kind), writer.bytes(), std::move(fds));
}

}  // namespace

Packet packet_of(const Entry& entry, SharedFds fds) {
  WireWriter writer;
  writer.number(entry.turn).number(entry.from).number(entry.part).number(entry.parts);
  writer.blob(entry.blob);
  return pack(ControlKind::kEntry, writer, std::move(fds));
}

Packet packet_of(const Message& message) {
  WireWriter writer;
  writer.number(message.from).number(message.kind).blob(message.payload);
  return pack(ControlKind::kMessage, writer);
}

Packet packet_of(ControlKind kind, const Notice& notice) {
  WireWriter writer;
  writer.number(notice.number).text(std::string_view(notice.text).substr(0, kMaxTextBytes));
  return pack(kind, writer);
}

Packet packet_of(ControlKind kind, uint32_t turn) {
  WireWriter writer;
  writer.number(turn);
  return pack(kind, writer);
}

Packet packet_of(ControlKind kind) { return pack(kind, {}); }

std::optional<Entry> entry_of(const Frame& frame) {
  WireReader reader(frame.payload);
  Entry entry;
  entry.turn = reader.number<uint32_t>();
  entry.from = reader.number<Rank>();
  entry.part = reader.number<uint16_t>();
  entry.parts = reader.number<uint16_t>();
  entry.blob = reader.blob();
  if (!reader.done() || entry.part >= entry.parts) return std::nullopt;
  return entry;
}

std::optional<Message> message_of(const Frame& frame) {
  WireReader reader(frame.payload);
  Message message;
  message.from = reader.number<Rank>();
  message.kind = reader.number<uint16_t>();
  message.payload = reader.blob();
  if (!reader.done() || message.payload.size() > kMaxFloodBytes) return std::nullopt;
  return message;
}

std::optional<Notice> notice_of(const Frame& frame) {
  WireReader reader(frame.payload);
  Notice notice;
  notice.number = reader.number<int32_t>();
  notice.text = reader.text(kMaxTextBytes);
  if (!reader.done()) return std::nullopt;
  return notice;
}

std::optional<uint32_t> turn_of(const Frame& frame) {
  WireReader reader(frame.payload);
  const auto turn = reader.number<uint32_t>();
  if (!reader.done()) return std::nullopt;
  return turn;
}

}  // namespace accl
