#include "src/comm/member.h"

#include <cstring>
#include <functional>

#include "src/bootstrap/wire.h"

namespace accl {
namespace {

constexpr size_t kMaxTextBytes = 4096;

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

template <class T>
void read_into(WireReader* reader, T* value) {
  const auto bytes = reader->raw(sizeof *value);
  if (reader->ok()) std::memcpy(value, bytes.data(), sizeof *value);
}

}  // namespace

Token memory_key(const Config& config, const Token& process, Rank rank) {
  Token key{network_tag(), std::hash<std::string>{}(config.host_id)};
  if (config.shm_disable) key = process;
  if (config.shm_disable && config.p2p_disable) key[1] ^= static_cast<uint64_t>(rank) + 1;
  return key;
}

Blob pack(const Member& member) {
  WireWriter writer;
  writer.number(member.device).number(member.pid).number(member.machine);
  writer.number(member.start_time).number(member.pid_namespace).raw(bytes_of(member.process));
  writer.raw(bytes_of(member.cores)).number(member.granted_cores).text(member.host);
  writer.text(member.algorithm).raw(bytes_of(member.memory));
  writer.number(static_cast<uint8_t>(member.p2p_disable)).number(member.connections);
  write_contact(&writer, member.contact);
  writer.number(member.tree_ticket).number(member.data_ticket);
  return writer.bytes();
}

Result<Member> unpack_member(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  Member member;
  member.device = reader.number<int32_t>();
  member.pid = reader.number<int32_t>();
  member.machine = reader.number<uint64_t>();
  member.start_time = reader.number<uint64_t>();
  member.pid_namespace = reader.number<uint64_t>();
  read_into(&reader, &member.process);
  read_into(&reader, &member.cores);
  member.granted_cores = reader.number<int32_t>();
  member.host = reader.text(kMaxTextBytes);
  member.algorithm = reader.text(kMaxTextBytes);
  read_into(&reader, &member.memory);
  member.p2p_disable = reader.number<uint8_t>() != 0;
  member.connections = reader.number<int32_t>();
  member.contact = read_contact(&reader);
  member.tree_ticket = reader.number<uint32_t>();
  member.data_ticket = reader.number<uint32_t>();
  if (!reader.done() || member.connections < 1 || member.connections > kMaxConnections) {
    return remote_error("a peer introduced itself with a broken message");
  }
  return member;
}

}  // namespace accl
