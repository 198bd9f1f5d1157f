// Memory that processes share: a sealed memfd and one mapping of it, and memory that is really
// there.
//
// A memfd has no name, so nothing is left behind in /dev/shm whatever happens to its owners. Its
// size is sealed, because a file that a peer could shrink would turn every later access into
// SIGBUS. It is sparse: a page costs nothing until `populate` asks for it, and `populate` is where
// the system may refuse; an access to populated memory cannot fail.
//
// A SharedMemory is owned by one object; moving it keeps the mapping where it is. `populate` may be
// called by several threads at once, the rest belongs to the owner.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/base/fd.h"
#include "src/base/status.h"

namespace accl {

/// Padding between words that different processes write: two lines, because x86 fetches lines in
/// pairs and some aarch64 cores have lines of 128 bytes.
inline constexpr size_t kFalseSharingBytes = 128;
inline constexpr size_t kPageBytes = 4096;

/// A random number that tells one piece of shared memory (or process) from all others.
using Token = std::array<uint64_t, 2>;
Result<Token> random_token();

/// The first bytes of every shared layout of ours: what it is, so that a stranger's descriptor or
/// another build's layout is refused before anything in it is believed.
struct LayoutHeader {
  uint64_t magic = 0;
  uint32_t version = 0;
  uint32_t reserved = 0;
  uint64_t size = 0;  ///< bytes of the whole memory
  Token token{};
};

enum class Access : uint8_t { kRead, kReadWrite };

class SharedMemory {
 public:
  /// A new sparse memory of `size` bytes, all zero, mapped for reading and writing. `name` shows in
  /// /proc/self/maps only. kSystem when refused: the text has name, bytes and cause.
  static Result<SharedMemory> create(const char* name, size_t size);
  /// Maps memory that another process created; `fd` is kept. kRemote unless it is a memfd of
  /// exactly `size` bytes whose size is sealed, kSystem when the mapping is refused.
  static Result<SharedMemory> map(const char* name, Fd fd, size_t size, Access access);
  /// Bytes of the file behind `fd`.
  static Result<size_t> size_of(int fd);

  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  int fd() const { return fd_.get(); }

  /// Makes the pages under [offset, offset + size) exist, so that no later access can fail.
  Status populate(size_t offset, size_t size) const;

 private:
  const char* name_ = "";  ///< a literal, for the texts
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  Fd fd_;
};

/// The same for private memory of this process.
Status populate(void* data, size_t size);

}  // namespace accl
