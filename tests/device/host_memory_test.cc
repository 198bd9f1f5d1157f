// Memory of the host device: alignment, bookkeeping, sharing, refusal.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <string>

#include "accl/device.h"
#include "src/base/fd.h"

namespace accl::host {
namespace {

std::string last_text() { return acclGetLastErrorText(); }

/// Runs `body` in a child process; its return value is the exit status, a signal's number negated.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(HostMemory, IsAlignedAndWritable) {
  for (const size_t bytes : {size_t{1}, size_t{255}, size_t{4096}, size_t{1} << 20}) {
    void* memory = nullptr;
    ASSERT_EQ(acclMalloc(&memory, bytes), acclSuccess);
    EXPECT_EQ(std::bit_cast<uintptr_t>(memory) % 256, 0u);
    std::memset(memory, 7, bytes);
    EXPECT_EQ(acclFree(memory), acclSuccess);
  }
}

TEST(HostMemory, LargeMemoryBeginsOnAHugePage) {
  void* memory = nullptr;
  const size_t bytes = (size_t{2} << 20) + 1;
  ASSERT_EQ(acclMalloc(&memory, bytes), acclSuccess);
  EXPECT_EQ(std::bit_cast<uintptr_t>(memory) % (size_t{2} << 20), 0u);
  std::memset(memory, 7, bytes);
  EXPECT_EQ(acclFree(memory), acclSuccess);
}

TEST(HostMemory, NothingIsNull) {
  void* memory = &memory;
  EXPECT_EQ(acclMalloc(&memory, 0), acclSuccess);
  EXPECT_EQ(memory, nullptr);
  memory = &memory;
  EXPECT_EQ(acclMallocShared(&memory, 0), acclSuccess);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(acclFree(nullptr), acclSuccess);
}

TEST(HostMemory, NullArgumentsAreNamed) {
  EXPECT_EQ(acclMalloc(nullptr, 1), acclErrorInvalidValue);
  EXPECT_EQ(last_text(), "pointer is NULL");
  EXPECT_EQ(acclPointerGetAttributes(nullptr, nullptr), acclErrorInvalidValue);
  EXPECT_EQ(last_text(), "attributes is NULL");
  int byte = 0;
  EXPECT_EQ(acclMemcpy(nullptr, &byte, 1), acclErrorInvalidValue);
  EXPECT_EQ(last_text(), "to is NULL");
  EXPECT_EQ(acclMemcpy(&byte, nullptr, 1), acclErrorInvalidValue);
  EXPECT_EQ(last_text(), "from is NULL");
  EXPECT_EQ(acclMemcpy(nullptr, nullptr, 0), acclSuccess);
}

TEST(HostMemory, BadFreesAreErrors) {
  int local = 0;
  EXPECT_EQ(acclFree(&local), acclErrorInvalidValue);
  EXPECT_NE(last_text().find("does not begin a live allocation"), std::string::npos);
  void* memory = nullptr;
  ASSERT_EQ(acclMalloc(&memory, 64), acclSuccess);
  EXPECT_EQ(acclFree(static_cast<char*>(memory) + 1), acclErrorInvalidValue);
  EXPECT_EQ(acclFree(memory), acclSuccess);
  EXPECT_EQ(acclFree(memory), acclErrorInvalidValue);
}

TEST(HostMemory, AttributesTellWhatIsKnown) {
  ASSERT_EQ(acclSetDevice(3), acclSuccess);
  void* memory = nullptr;
  ASSERT_EQ(acclMalloc(&memory, 100), acclSuccess);
  ASSERT_EQ(acclSetDevice(0), acclSuccess);
  acclPointerAttributes_t attributes{};
  ASSERT_EQ(acclPointerGetAttributes(&attributes, static_cast<char*>(memory) + 99), acclSuccess);
  EXPECT_EQ(attributes.type, acclMemoryPrivate);
  EXPECT_EQ(attributes.device, 3);
  EXPECT_EQ(attributes.base, memory);
  EXPECT_EQ(attributes.bytes, 100u);
  ASSERT_EQ(acclPointerGetAttributes(&attributes, static_cast<char*>(memory) + 100), acclSuccess);
  EXPECT_EQ(attributes.type, acclMemoryUnknown);
  EXPECT_EQ(attributes.device, -1);
  EXPECT_EQ(attributes.base, nullptr);
  EXPECT_EQ(acclFree(memory), acclSuccess);
}

TEST(HostMemory, RefusalIsAnErrorThatSaysHowMuch) {
  void* memory = &memory;
  EXPECT_EQ(acclMalloc(&memory, SIZE_MAX), acclErrorMemoryAllocation);
  EXPECT_EQ(memory, nullptr);
  EXPECT_NE(last_text().find("cannot get 18446744073709551615 bytes"), std::string::npos);
  EXPECT_EQ(acclMalloc(&memory, size_t{1} << 55), acclErrorMemoryAllocation);
  EXPECT_NE(last_text().find("mmap: Cannot allocate memory"), std::string::npos) << last_text();
  EXPECT_EQ(acclMallocShared(&memory, size_t{1} << 50), acclErrorMemoryAllocation);
  EXPECT_NE(last_text().find("the system has"), std::string::npos) << last_text();
  EXPECT_EQ(memory, nullptr);
}

TEST(HostMemory, ALimitOnFileSizeRefusesSharedMemoryWithoutASignal) {
  EXPECT_EQ(in_child([] {
              const rlimit small{1 << 16, 1 << 16};
              setrlimit(RLIMIT_FSIZE, &small);
              void* memory = nullptr;
              if (acclMallocShared(&memory, 1 << 20) != acclErrorMemoryAllocation) return 1;
              if (last_text().find("the limit on file size is 65536") == std::string::npos)
                return 2;
              return acclMallocShared(&memory, 1 << 12) == acclSuccess ? 0 : 3;
            }),
            0);
}

TEST(HostMemory, ALimitOnDescriptorsRefusesSharedMemory) {
  EXPECT_EQ(in_child([] {
              const rlimit none{0, 0};
              setrlimit(RLIMIT_NOFILE, &none);
              void* memory = nullptr;
              if (acclMallocShared(&memory, 4096) != acclErrorMemoryAllocation) return 1;
              return last_text().find("memfd_create: Too many open files") == std::string::npos ? 2
                                                                                                : 0;
            }),
            0);
}

TEST(HostMemory, SharedMemoryIsZeroedSealedAndNameless) {
  void* memory = nullptr;
  const size_t bytes = 10000;
  ASSERT_EQ(acclMallocShared(&memory, bytes), acclSuccess);
  const auto* const begin = static_cast<const unsigned char*>(memory);
  for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(begin[i], 0) << i;
  int descriptor = -1;
  size_t offset = 0;
  size_t left = 0;
  ASSERT_EQ(acclMemExport(begin + 100, &descriptor, &offset, &left), acclSuccess);
  const Fd owned(descriptor);
  EXPECT_EQ(offset, 100u);
  EXPECT_EQ(left, bytes - 100);
  EXPECT_EQ(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(ftruncate(descriptor, 0), -1) << "a peer could cut the memory short";
  EXPECT_EQ(acclFree(memory), acclSuccess);
}

TEST(HostMemory, SharedMemoryIsFullyBackedOnReturn) {
  void* memory = nullptr;
  const size_t bytes = size_t{3} << 20;
  ASSERT_EQ(acclMallocShared(&memory, bytes), acclSuccess);
  std::array<unsigned char, (3 << 20) / 4096> resident{};
  ASSERT_EQ(mincore(memory, bytes, resident.data()), 0);
  for (const unsigned char page : resident) ASSERT_EQ(page & 1, 1);
  EXPECT_EQ(acclFree(memory), acclSuccess);
}

TEST(HostMemory, AnotherProcessSeesWhatIsWritten) {
  void* memory = nullptr;
  ASSERT_EQ(acclMallocShared(&memory, 8192), acclSuccess);
  int descriptor = -1;
  size_t offset = 0;
  size_t left = 0;
  auto* const word = static_cast<int*>(memory) + 1500;
  ASSERT_EQ(acclMemExport(word, &descriptor, &offset, &left), acclSuccess);
  const Fd owned(descriptor);
  *word = 1;
  EXPECT_EQ(in_child([&] {
              munmap(memory, 8192);  // the inherited mapping: only the import is left
              void* imported = nullptr;
              if (acclMemImport(&imported, descriptor, offset, sizeof(int)) != acclSuccess)
                return 1;
              auto* const seen = static_cast<int*>(imported);
              if (*seen != 1) return 2;
              *seen = 2;
              acclPointerAttributes_t attributes{};
              if (acclPointerGetAttributes(&attributes, imported) != acclSuccess) return 3;
              if (attributes.type != acclMemoryImported || attributes.bytes != sizeof(int))
                return 4;
              return acclFree(imported) == acclSuccess ? 0 : 5;
            }),
            0);
  EXPECT_EQ(*word, 2);
  EXPECT_EQ(acclFree(memory), acclSuccess);
}

TEST(HostMemory, OnlySharedMemoryIsExported) {
  void* memory = nullptr;
  ASSERT_EQ(acclMalloc(&memory, 64), acclSuccess);
  int descriptor = -1;
  size_t offset = 0;
  size_t left = 0;
  EXPECT_EQ(acclMemExport(memory, &descriptor, &offset, &left), acclErrorInvalidValue);
  EXPECT_NE(last_text().find("is not in memory of acclMallocShared"), std::string::npos);
  EXPECT_EQ(descriptor, -1);
  EXPECT_EQ(acclFree(memory), acclSuccess);
}

TEST(HostMemory, ImportsAreCheckedBeforeTheyAreTouched) {
  void* memory = nullptr;
  EXPECT_EQ(acclMemImport(&memory, -1, 0, 1), acclErrorInvalidValue);
  EXPECT_NE(last_text().find("descriptor -1: Bad file descriptor"), std::string::npos);

  const Fd unsealed(memfd_create("accl-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
  EXPECT_EQ(acclMemImport(&memory, unsealed.get(), 0, 1), acclErrorInvalidValue);
  EXPECT_NE(last_text().find("not a memfd sealed against shrinking"), std::string::npos);

  std::array<int, 2> pipes{};
  ASSERT_EQ(pipe2(pipes.data(), O_CLOEXEC), 0);
  const Fd reading(pipes[0]);
  const Fd writing(pipes[1]);
  EXPECT_EQ(acclMemImport(&memory, reading.get(), 0, 1), acclErrorInvalidValue);

  ASSERT_EQ(fcntl(unsealed.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(acclMemImport(&memory, unsealed.get(), 0, 0), acclErrorInvalidValue);
  EXPECT_EQ(acclMemImport(&memory, unsealed.get(), 4096, 1), acclErrorInvalidValue);
  EXPECT_EQ(acclMemImport(&memory, unsealed.get(), 1, SIZE_MAX), acclErrorInvalidValue);
  EXPECT_NE(last_text().find("are not within the 4096 bytes"), std::string::npos) << last_text();
  EXPECT_EQ(memory, nullptr);
  ASSERT_EQ(acclMemImport(&memory, unsealed.get(), 4095, 1), acclSuccess);
  *static_cast<char*>(memory) = 1;
  EXPECT_EQ(acclFree(memory), acclSuccess);
}

TEST(HostMemory, SharedMemoryReturnsItsDescriptors) {
  const auto next_free = [] {
    const int probe = dup(0);
    close(probe);
    return probe;
  };
  const int before = next_free();
  for (int i = 0; i < 100; ++i) {
    void* memory = nullptr;
    ASSERT_EQ(acclMallocShared(&memory, 4096), acclSuccess);
    ASSERT_EQ(acclFree(memory), acclSuccess);
  }
  EXPECT_EQ(next_free(), before);
}

}  // namespace
}  // namespace accl::host
