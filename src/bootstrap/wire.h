// Reading and writing the payloads of frames: little-endian numbers, and bytes with their length.
//
// Values; one thread. A Reader never reads past its end: a short or wrong payload makes it fail for
// good and give zeros, so that the caller checks once, with done().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "src/base/socket.h"

namespace accl {

class WireWriter {
 public:
  template <class T>
  WireWriter& number(T value) {
    static_assert(std::is_integral_v<T>);
    return append(&value, sizeof(T));
  }
  WireWriter& raw(std::span<const std::byte> bytes) { return append(bytes.data(), bytes.size()); }
  WireWriter& blob(std::span<const std::byte> bytes) {
    return number(static_cast<uint32_t>(bytes.size())).raw(bytes);
  }
  WireWriter& text(std::string_view text) { return blob(std::as_bytes(std::span(text))); }
  const Blob& bytes() const { return bytes_; }

 private:
  WireWriter& append(const void* data, size_t size);

  Blob bytes_;
};

class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    static_assert(std::is_integral_v<T>);
    T value{};
    const auto bytes = raw(sizeof(T));
    if (ok_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> raw(size_t bytes) {
    if (!ok_ || rest_.size() < bytes) {
      ok_ = false;
      return {};
    }
    const auto taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  std::span<const std::byte> blob() { return raw(number<uint32_t>()); }
  /// A text of at most `max_bytes`; a longer one is a failure.
  std::string text(size_t max_bytes) {
    const auto bytes = blob();
    if (bytes.size() > max_bytes) ok_ = false;
    return ok_ ? text_of(bytes) : std::string();
  }
  /// What was read makes no sense: from here on reading gives zeros.
  void refuse() { ok_ = false; }
  bool ok() const { return ok_; }
  /// True if all went well and nothing is left.
  bool done() const { return ok_ && rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace accl
