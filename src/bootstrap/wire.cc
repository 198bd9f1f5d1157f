#include "src/bootstrap/wire.h"

namespace accl {

WireWriter& WireWriter::append(const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), bytes, bytes + size);
  return *this;
}

}  // namespace accl
