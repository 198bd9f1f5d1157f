// ncclCommInitRankConfig with the structs of all headers: sizes from 24 to 96 bytes, versions from
// 2.14 on. What a header did not have is not read.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "tests/support/rank_check.h"

namespace accl {
namespace {

// As many bytes as the largest struct; what lies beyond `size` is garbage on purpose.
struct AnyConfig {
  alignas(ncclConfig_t) std::array<unsigned char, 128> bytes{};

  AnyConfig(size_t size, unsigned version) {
    bytes.fill(0x5a);
    const unsigned magic = 0xcafebeef;
    std::memcpy(bytes.data(), &size, sizeof size);
    std::memcpy(bytes.data() + 8, &magic, sizeof magic);
    std::memcpy(bytes.data() + 12, &version, sizeof version);
    for (size_t at = 16; at + 4 <= size; at += 4) set(at, NCCL_CONFIG_UNDEF_INT);
    for (const size_t pointer :
         {offsetof(ncclConfig_t, netName), offsetof(ncclConfig_t, commName)}) {
      const char* none = nullptr;
      if (pointer + sizeof none <= size) std::memcpy(bytes.data() + pointer, &none, sizeof none);
    }
  }
  void set(size_t at, int value) { std::memcpy(bytes.data() + at, &value, sizeof value); }
  ncclConfig_t* get() { return reinterpret_cast<ncclConfig_t*>(bytes.data()); }
};

ncclResult_t init_alone(AnyConfig& config, ncclComm_t* comm) {
  ncclUniqueId id{};
  const ncclResult_t made = ncclGetUniqueId(&id);
  return made != ncclSuccess ? made : ncclCommInitRankConfig(comm, 1, id, 0, config.get());
}

struct Header {
  unsigned version;
  size_t size;
};

constexpr Header kHeaders[] = {
    {NCCL_VERSION(2, 14, 0), 24}, {NCCL_VERSION(2, 17, 0), 48}, {NCCL_VERSION(2, 18, 0), 48},
    {NCCL_VERSION(2, 27, 0), 72}, {NCCL_VERSION(2, 28, 0), 80}, {NCCL_VERSION(2, 29, 0), 88},
    {NCCL_VERSION(2, 30, 0), 96},
};

void expect_works(AnyConfig& config, const std::string& what, RankCheck& check) {
  ncclComm_t comm = nullptr;
  if (!check.ok(init_alone(config, &comm), what)) return;
  float value = 4;
  check.ok(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr), what);
  check.ok(ncclCommDestroy(comm), what);
}

int in_a_process(const std::function<void(RankCheck&)>& body) {
  return Ranks::run(1, [&](int, Blackboard&) {
    RankCheck check(0);
    body(check);
    return check.code();
  })[0];
}

TEST(InitRankConfig, TakesTheStructsOfAllHeaders) {
  EXPECT_EQ(in_a_process([](RankCheck& check) {
              for (const Header& header : kHeaders) {
                AnyConfig config(header.size, header.version);
                const std::string what = "version " + std::to_string(header.version) + " size " +
                                         std::to_string(header.size);
                expect_works(config, what, check);
                config.set(offsetof(ncclConfig_t, blocking), 1);
                expect_works(config, what + " blocking", check);
              }
            }),
            0);
}

TEST(InitRankConfig, TakesEverySizeBetween) {
  EXPECT_EQ(in_a_process([](RankCheck& check) {
              for (size_t size = 24; size <= 96; size++) {
                AnyConfig config(size, NCCL_VERSION(2, 30, 5));
                // The last bytes may be a part of a field, which is then not read.
                for (size_t at = size / 4 * 4; at < size; at++) config.bytes[at] = 0x5a;
                if (size % 8 != 0) continue;  // sizeof of a struct with pointers
                expect_works(config, "size " + std::to_string(size), check);
              }
            }),
            0);
}

// Padding of an old header may hold anything where newer ones have a field.
TEST(InitRankConfig, DoesNotReadWhatTheHeaderDidNotHave) {
  EXPECT_EQ(in_a_process([](RankCheck& check) {
              AnyConfig old(24, NCCL_VERSION(2, 14, 0));
              old.set(20, -12345);
              expect_works(old, "2.14 with garbage in its padding", check);
              AnyConfig large(96, NCCL_VERSION(2, 14, 0));
              for (size_t at = 20; at < 96; at += 4) large.set(at, -12345);
              expect_works(large, "a large struct that says it is of 2.14", check);
            }),
            0);
}

TEST(InitRankConfig, RefusesOtherSizesAndMagics) {
  EXPECT_EQ(in_a_process([](RankCheck& check) {
              ncclComm_t comm = nullptr;
              for (const size_t size : {size_t{0}, size_t{8}, size_t{16}, size_t{23}}) {
                AnyConfig config(24, NCCL_VERSION(2, 14, 0));
                std::memcpy(config.bytes.data(), &size, sizeof size);
                check.refused(init_alone(config, &comm), ncclInvalidArgument,
                              {"size " + std::to_string(size)}, "too small");
              }
              for (const size_t size : {size_t{104}, size_t{120}}) {
                AnyConfig config(size, NCCL_VERSION(2, 31, 0));
                check.refused(init_alone(config, &comm), ncclInvalidUsage,
                              {std::to_string(size) + " bytes", "at most 96 bytes"}, "too large");
              }
              AnyConfig zero(24, NCCL_VERSION(2, 14, 0));
              zero.set(8, 0);
              check.refused(init_alone(zero, &comm), ncclInvalidArgument, {"magic 0x0"}, "magic");
              check.that(comm == nullptr, "a refused init left a communicator");
            }),
            0);
}

TEST(InitRankConfig, ChecksTheFieldsOfTheHeader) {
  EXPECT_EQ(in_a_process([](RankCheck& check) {
              ncclComm_t comm = nullptr;
              AnyConfig config(96, NCCL_VERSION(2, 30, 0));
              config.set(offsetof(ncclConfig_t, minCTAs), 0);
              check.refused(init_alone(config, &comm), ncclInvalidArgument, {"config.minCTAs is 0"},
                            "minCTAs");
              AnyConfig later(96, NCCL_VERSION(2, 30, 0));
              later.set(88, 0);
              check.refused(init_alone(later, &comm), ncclInvalidArgument,
                            {"config.maxP2pPeers is 0"}, "maxP2pPeers");
              AnyConfig waits(24, NCCL_VERSION(2, 14, 0));
              waits.set(offsetof(ncclConfig_t, blocking), 0);
              check.refused(init_alone(waits, &comm), ncclInvalidUsage,
                            {"config.blocking 0", "not available"}, "non-blocking");
            }),
            0);
}

// A communicator's name stands in the texts of its failures.
TEST(InitRankConfig, TheNameStandsInTexts) {
  Ranks ranks;
  ranks.start(2, [](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.commName = "optimizer";
    ncclComm_t comm = nullptr;
    const ncclUniqueId id = shared_id(rank, board);
    if (!check.ok(ncclCommInitRankConfig(&comm, 2, id, rank, &config), "init")) return 1;
    int value = 0;
    check.refused(ncclBcast(&value, 1, ncclInt, rank, comm, nullptr) == ncclSuccess
                      ? ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr)
                      : ncclInvalidUsage,
                  ncclInvalidUsage, {"'optimizer'", "operation 1 differs in root"}, "mismatch");
    check.ok(ncclCommAbort(comm), "abort");
    return check.code();
  });
  EXPECT_EQ(ranks.wait(std::chrono::seconds(20)), ExitCodes(2, 0));
}

}  // namespace
}  // namespace accl
