// B01, B03: /dev/shm too small, read-only or absent. The library keeps nothing there, so everything
// works and there is nothing to warn of.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

using Prepare = std::function<bool()>;

// One job of `ranks` in a mount namespace that `prepare` has changed: right data, no warning.
int job(int ranks, const Prepare& prepare) {
  if (!own_mounts() || !prepare()) return kNotPossibleHere;
  setenv("NCCL_DEBUG", "WARN", 1);
  StderrLog log;
  const bool good =
      run_with_comm(RankKind::kProcesses, ranks, [&](int rank, ncclComm_t comm, RankCheck& check) {
        const size_t count = (8 << 20) / sizeof(float);
        std::vector<float> in(count);
        std::vector<float> out(count, -1);
        for (size_t i = 0; i < count; i++)
          in[i] = static_cast<float>(rank + static_cast<int>(i % 7));
        check.ok(ncclAllReduce(in.data(), out.data(), count, ncclFloat, ncclSum, comm, nullptr),
                 "AllReduce");
        bool right = true;
        for (size_t i = 0; i < count; i++) {
          right &= out[i] ==
                   static_cast<float>(ranks * (ranks - 1) / 2 + ranks * static_cast<int>(i % 7));
        }
        check.that(right, "wrong data");
      });
  const std::string said = log.text();
  fputs(said.c_str(), stderr);
  return good && said.empty() ? 0 : 1;
}

void expect_good(int ranks, const Prepare& prepare) {
  const ExitCodes codes = Ranks::run(1, [&](int, Blackboard&) { return job(ranks, prepare); });
  if (codes[0] == kNotPossibleHere) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(codes[0], 0);
}

TEST(ScenarioB01, DevShmOf64KiB) {
  expect_good(4, [] { return mount_dev_shm("size=64k"); });
}

TEST(ScenarioB01, DevShmOf4MiB) {
  expect_good(4, [] { return mount_dev_shm("size=4m"); });
}

TEST(ScenarioB03, DevShmReadOnly) {
  expect_good(2, [] { return mount_dev_shm("", MS_RDONLY); });
}

TEST(ScenarioB03, DevShmAbsent) {
  expect_good(2, [] { return umount2("/dev/shm", MNT_DETACH) == 0; });
}

}  // namespace
}  // namespace accl
