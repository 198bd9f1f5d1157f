#include "src/bootstrap/contact.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

namespace accl {
namespace {

// FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo, 1991).
constexpr uint64_t kHashBasis = 0xcbf29ce484222325;
uint64_t hashed(uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

constexpr size_t address_bytes(int family) { return family == AF_INET ? 4 : 16; }

}  // namespace

uint64_t machine_tag() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  return hashed(kHashBasis, boot.empty() ? host_name() : boot);
}

uint64_t network_tag() {
  struct stat info {};
  uint64_t tag = machine_tag();
  if (stat("/proc/self/ns/net", &info) == 0) {
    tag = hashed(tag, std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino));
  }
  return tag != 0 ? tag : 1;
}

std::string describe(const Contact& contact) {
  std::string text;
  for (const SocketAddress& address : contact.addresses) {
    text += (text.empty() ? "" : ", ") + describe(address);
  }
  return text.empty() ? "its unix socket" : text;
}

void write_contact(WireWriter* writer, const Contact& contact) {
  const size_t count = std::min(contact.addresses.size(), Contact::kMaxAddresses);
  writer->raw(contact.door).number(contact.network).number(static_cast<uint8_t>(count));
  for (size_t i = 0; i < count; i++) {
    const SocketAddress& address = contact.addresses[i];
    writer->number(static_cast<uint8_t>(address.family == AF_INET ? 4 : 6)).number(address.port);
    writer->raw(std::span(address.bytes).first(address_bytes(address.family)));
  }
}

Contact read_contact(WireReader* reader) {
  Contact contact;
  const auto door = reader->raw(contact.door.size());
  if (reader->ok()) std::copy_n(door.begin(), contact.door.size(), contact.door.begin());
  contact.network = reader->number<uint64_t>();
  const auto count = reader->number<uint8_t>();
  if (count > Contact::kMaxAddresses) reader->refuse();
  for (size_t i = 0; reader->ok() && i < count; i++) {
    SocketAddress address;
    const auto version = reader->number<uint8_t>();
    if (version != 4 && version != 6) reader->refuse();
    address.family = version == 4 ? AF_INET : AF_INET6;
    address.port = reader->number<uint16_t>();
    const auto bytes = reader->raw(address_bytes(address.family));
    if (!reader->ok()) break;
    std::copy_n(bytes.begin(), address_bytes(address.family), address.bytes.begin());
    contact.addresses.push_back(address);
  }
  if (!reader->ok()) contact.addresses.clear();
  return contact;
}

}  // namespace accl
