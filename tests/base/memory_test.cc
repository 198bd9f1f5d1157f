#include "src/base/memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "tests/base/sanitized.h"

namespace accl {
namespace {

size_t descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}
size_t mappings_named(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(name) != std::string::npos;
  return count;
}
Fd copy_of(int fd) { return Fd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

/// Runs `body` in a child with a limit set; its text comes back.
std::string under_limit(decltype(RLIMIT_FSIZE) resource, rlim_t bytes,
                        const std::function<std::string()>& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{bytes, bytes};
    std::string text = setrlimit(resource, &limit) == 0 ? body() : "no limit set";
    const bool written = write(writing.get(), text.data(), text.size()) >= 0;
    _exit(written ? 0 : 1);
  }
  writing.reset();
  std::string text;
  char buffer[512];
  for (ssize_t n = 0; (n = read(reading.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) text += "killed by signal " + std::to_string(WTERMSIG(status));
  return text;
}

TEST(SharedMemory, IsZeroAndSparse) {
  auto memory = SharedMemory::create("test-sparse", size_t{1} << 40);
  ASSERT_TRUE(memory.ok()) << memory.status().text();
  ASSERT_TRUE(memory->populate(size_t{1} << 39, 100).ok());
  EXPECT_EQ(memory->data()[size_t{1} << 39], std::byte{0});
  struct stat info {};
  ASSERT_EQ(fstat(memory->fd(), &info), 0);
  EXPECT_GT(info.st_blocks, 0);
  EXPECT_LE(info.st_blocks * 512, 4 << 20) << "only what was populated exists";
}

TEST(SharedMemory, IsSealedAndClosedOnExec) {
  auto memory = SharedMemory::create("test-seal", 8192);
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(ftruncate(memory->fd(), 4096), 0);
  EXPECT_NE(ftruncate(memory->fd(), 16384), 0);
  EXPECT_NE(fcntl(memory->fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(SharedMemory, AMappingSharesBytesAndOutlivesItsCreator) {
  SharedMemory second;
  {
    auto first = SharedMemory::create("test-share", 8192);
    ASSERT_TRUE(first.ok());
    auto mapped = SharedMemory::map("test-share", copy_of(first->fd()), 8192, Access::kReadWrite);
    ASSERT_TRUE(mapped.ok()) << mapped.status().text();
    second = std::move(*mapped);
    std::memcpy(first->data() + 5000, "hello", 5);
  }
  EXPECT_EQ(std::memcmp(second.data() + 5000, "hello", 5), 0);
}

TEST(SharedMemory, StrangersAreRefused) {
  auto memory = SharedMemory::create("test-strange", 8192);
  ASSERT_TRUE(memory.ok());
  auto wrong_size = SharedMemory::map("the segment", copy_of(memory->fd()), 4096, Access::kRead);
  ASSERT_FALSE(wrong_size.ok());
  EXPECT_EQ(wrong_size.status().code(), Code::kRemote);
  EXPECT_EQ(wrong_size.status().text(),
            "the memory offered as the segment has 8192 bytes, expected 4096");

  Fd unsealed(memfd_create("test-unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
  auto shrinkable = SharedMemory::map("the segment", std::move(unsealed), 4096, Access::kRead);
  ASSERT_FALSE(shrinkable.ok());
  EXPECT_EQ(
      shrinkable.status().text(),
      "the memory offered as the segment is refused: its size is not sealed, it could vanish");

  auto nothing = SharedMemory::map("the segment", Fd(), 4096, Access::kRead);
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.status().text(), "cannot ask for a file's size: Bad file descriptor");
}

TEST(SharedMemory, PopulateStaysInside) {
  auto memory = SharedMemory::create("test-range", 8192);
  ASSERT_TRUE(memory.ok());
  EXPECT_TRUE(memory->populate(0, 8192).ok());
  EXPECT_TRUE(memory->populate(8000, 192).ok());
  const Status status = memory->populate(8000, 193);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.text(), "8000 + 193 is outside of the 8192 bytes of test-range");
}

TEST(SharedMemory, ALimitOnFileSizesIsAnErrorNotASignal) {
  const std::string text = under_limit(RLIMIT_FSIZE, 65536, [] {
    auto memory = SharedMemory::create("test-limit", 1 << 20);
    return memory.ok() ? std::string("created") : memory.status().text();
  });
  EXPECT_EQ(text,
            "cannot create 1048576 bytes of memory for test-limit: the limit of file sizes "
            "(RLIMIT_FSIZE) is 65536 bytes");
}

TEST(SharedMemory, ALimitOnAddressSpaceIsAnError) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers need the address space";
  const std::string text = under_limit(RLIMIT_AS, rlim_t{1} << 30, [] {
    auto memory = SharedMemory::create("test-limit", size_t{8} << 30);
    return memory.ok() ? std::string("created") : memory.status().text();
  });
  EXPECT_EQ(text,
            "cannot map 8589934592 bytes of memory for test-limit: Cannot allocate memory "
            "(RLIMIT_AS is 1073741824 bytes)");
}

TEST(SharedMemory, TooManyDescriptorsIsAnError) {
  const std::string text = under_limit(RLIMIT_NOFILE, 3, [] {
    auto memory = SharedMemory::create("test-limit", 4096);
    return memory.ok() ? std::string("created") : memory.status().text();
  });
  EXPECT_EQ(text,
            "cannot create 4096 bytes of memory for test-limit: memfd_create: "
            "Too many open files");
}

TEST(SharedMemory, LeavesNothingBehind) {
  const auto files = [] {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      ++count;
    }
    return count;
  };
  const size_t before_files = files();
  const size_t before = descriptors();
  for (int i = 0; i < 100; ++i) {
    auto memory = SharedMemory::create("test-leak", 1 << 20);
    ASSERT_TRUE(memory.ok());
    ASSERT_TRUE(memory->populate(0, 1 << 20).ok());
    auto mapped = SharedMemory::map("test-leak", copy_of(memory->fd()), 1 << 20, Access::kRead);
    ASSERT_TRUE(mapped.ok());
    EXPECT_EQ(mappings_named("test-leak"), 2u);
    EXPECT_EQ(files(), before_files) << "nothing has a name in /dev/shm";
    SharedMemory moved = std::move(*mapped);
    moved = std::move(*memory);
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(mappings_named("test-leak"), 0u);
}

TEST(Populate, PrivateMemoryKeepsItsContents) {
  constexpr size_t kSize = 10 * kPageBytes;
  void* data = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(data, MAP_FAILED);
  std::memcpy(static_cast<char*>(data) + 100, "kept", 4);
  EXPECT_TRUE(populate(data, kSize).ok());
  EXPECT_EQ(std::memcmp(static_cast<char*>(data) + 100, "kept", 4), 0);
  unsigned char present[10] = {};
  ASSERT_EQ(mincore(data, kSize, present), 0);
  for (const unsigned char page : present) EXPECT_EQ(page & 1, 1);
  munmap(data, kSize);
}

TEST(Populate, MemoryThatIsNotThereIsAnError) {
  void* data = mmap(nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(data, MAP_FAILED);
  munmap(data, kPageBytes);
  const Status status = populate(data, kPageBytes);
  EXPECT_EQ(status.code(), Code::kSystem);
  EXPECT_EQ(status.text(),
            "cannot get 4096 bytes of memory for this process: Cannot allocate memory");
}

TEST(RandomToken, TokensDiffer) {
  auto first = random_token();
  auto second = random_token();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
}

TEST(Fd, ClosesOnceAndMoves) {
  const size_t before = descriptors();
  {
    Fd fd = copy_of(0);
    ASSERT_TRUE(fd);
    const int number = fd.get();
    Fd other = std::move(fd);
    EXPECT_FALSE(fd);
    EXPECT_EQ(other.get(), number);
    Fd third = copy_of(0);
    third = std::move(other);
    EXPECT_EQ(third.get(), number);
    EXPECT_EQ(descriptors(), before + 1);
  }
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace accl
