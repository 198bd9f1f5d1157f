// The functions that need no communicator, and those that this version refuses.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>
#include <string>
#include <thread>

#include "accl/nccl.h"

namespace {

TEST(StringsTest, VersionIsThatOfTheHeaderUnderBothNames) {
  int version = 0;
  EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, NCCL_VERSION_CODE);
  version = 0;
  EXPECT_EQ(pncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, 22707);
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
  EXPECT_STREQ(ncclGetLastError(nullptr), "ncclGetVersion: version is NULL");
}

TEST(StringsTest, EveryResultHasItsOwnSentence) {
  std::set<std::string> sentences;
  for (int code = 0; code <= 8; code++) {
    sentences.insert(ncclGetErrorString(static_cast<ncclResult_t>(code)));
  }
  EXPECT_EQ(sentences.size(), 9u);
  EXPECT_STREQ(ncclGetErrorString(ncclSuccess), "no error");
  EXPECT_STREQ(ncclGetErrorString(ncclRemoteError),
               "remote process exited or there was a network error");
  for (const int code : {-1, 9, 999, INT_MIN, INT_MAX}) {
    EXPECT_STREQ(ncclGetErrorString(static_cast<ncclResult_t>(code)), "unknown result code");
  }
}

TEST(StringsTest, LastErrorOfAnotherThreadShowsAndItsTextStaysPut) {
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
  const char* before = ncclGetLastError(nullptr);
  std::thread([] { EXPECT_EQ(ncclCommRevoke(nullptr, 0), ncclInvalidUsage); }).join();
  EXPECT_STREQ(before, "ncclGetVersion: version is NULL") << "a text given out does not change";
  EXPECT_STREQ(ncclGetLastError(nullptr),
               "ncclCommRevoke is not available in this version: see docs/compat.md");
}

TEST(StringsTest, LastErrorIsSafeFromManyThreads) {
  const auto hammer = [](bool version) {
    for (int i = 0; i < 2'000; i++) {
      static_cast<void>(version ? ncclGetVersion(nullptr) : ncclCommResume(nullptr));
      const std::string text = ncclGetLastError(nullptr);
      ASSERT_TRUE(text == "ncclGetVersion: version is NULL" ||
                  text == "ncclCommResume is not available in this version: see docs/compat.md")
          << text;
    }
  };
  hammer(true);
  std::thread first(hammer, true);
  std::thread second(hammer, false);
  first.join();
  second.join();
}

void expect_refused(ncclResult_t result, const std::string& function) {
  EXPECT_EQ(result, ncclInvalidUsage) << function;
  EXPECT_EQ(ncclGetLastError(nullptr),
            function + " is not available in this version: see docs/compat.md");
}

TEST(RefusedTest, CommunicatorFunctions) {
  int place = 0;
  auto* const unset = reinterpret_cast<ncclComm_t>(&place);
  ncclUniqueId id{};
  ncclComm_t comm = unset;
  expect_refused(ncclCommInitRankScalable(&comm, 1, 0, 1, &id, nullptr),
                 "ncclCommInitRankScalable");
  EXPECT_EQ(comm, nullptr);
  comm = unset;
  expect_refused(ncclCommSplit(nullptr, 0, 0, &comm, nullptr), "ncclCommSplit");
  EXPECT_EQ(comm, nullptr);
  comm = unset;
  expect_refused(ncclCommShrink(nullptr, nullptr, 0, &comm, nullptr, 0), "ncclCommShrink");
  EXPECT_EQ(comm, nullptr);
  comm = unset;
  expect_refused(ncclCommGrow(nullptr, 2, &id, 0, &comm, nullptr), "ncclCommGrow");
  EXPECT_EQ(comm, nullptr);
  expect_refused(ncclCommSplit(nullptr, 0, 0, nullptr, nullptr), "ncclCommSplit");
  expect_refused(ncclCommGetUniqueId(nullptr, &id), "ncclCommGetUniqueId");
  expect_refused(ncclCommRevoke(nullptr, NCCL_REVOKE_DEFAULT), "ncclCommRevoke");
  expect_refused(ncclCommSuspend(nullptr, NCCL_SUSPEND_MEM), "ncclCommSuspend");
  expect_refused(ncclCommResume(nullptr), "ncclCommResume");
  uint64_t bytes = 0;
  expect_refused(ncclCommMemStats(nullptr, ncclStatGpuMemTotal, &bytes), "ncclCommMemStats");
}

TEST(RefusedTest, CollectivesSignalsAndWindows) {
  expect_refused(ncclGather(nullptr, nullptr, 0, ncclInt8, 0, nullptr, nullptr), "ncclGather");
  expect_refused(ncclScatter(nullptr, nullptr, 0, ncclInt8, 0, nullptr, nullptr), "ncclScatter");
  expect_refused(ncclPutSignal(nullptr, 0, ncclInt8, 0, nullptr, 0, 0, 0, 0, nullptr, nullptr),
                 "ncclPutSignal");
  expect_refused(ncclSignal(0, 0, 0, 0, nullptr, nullptr), "ncclSignal");
  expect_refused(ncclWaitSignal(0, nullptr, nullptr, nullptr), "ncclWaitSignal");
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  expect_refused(ncclGroupSimulateEnd(&info), "ncclGroupSimulateEnd");
  int place = 0;
  auto* window = reinterpret_cast<ncclWindow_t>(&place);
  expect_refused(ncclCommWindowRegister(nullptr, &place, 4, &window, NCCL_WIN_DEFAULT),
                 "ncclCommWindowRegister");
  EXPECT_EQ(window, nullptr);
  expect_refused(ncclCommWindowDeregister(nullptr, nullptr), "ncclCommWindowDeregister");
  void* pointer = &place;
  expect_refused(ncclWinGetUserPtr(nullptr, nullptr, &pointer), "ncclWinGetUserPtr");
  EXPECT_EQ(pointer, nullptr);
}

TEST(RefusedTest, SettingsFunctions) {
  ncclParamHandle_t handle = nullptr;
  expect_refused(ncclParamBind(&handle, "NCCL_DEBUG"), "ncclParamBind");
  expect_refused(ncclParamGetI8(handle, nullptr), "ncclParamGetI8");
  expect_refused(ncclParamGetI16(handle, nullptr), "ncclParamGetI16");
  expect_refused(ncclParamGetI32(handle, nullptr), "ncclParamGetI32");
  expect_refused(ncclParamGetI64(handle, nullptr), "ncclParamGetI64");
  expect_refused(ncclParamGetU8(handle, nullptr), "ncclParamGetU8");
  expect_refused(ncclParamGetU16(handle, nullptr), "ncclParamGetU16");
  expect_refused(ncclParamGetU32(handle, nullptr), "ncclParamGetU32");
  expect_refused(ncclParamGetU64(handle, nullptr), "ncclParamGetU64");
  expect_refused(ncclParamGetStr(handle, nullptr), "ncclParamGetStr");
  expect_refused(ncclParamGet(handle, nullptr, 0, nullptr), "ncclParamGet");
  expect_refused(ncclParamGetParameter("NCCL_DEBUG", nullptr, nullptr), "ncclParamGetParameter");
  expect_refused(ncclParamGetAllParameterKeys(nullptr, nullptr), "ncclParamGetAllParameterKeys");
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
  ncclParamDumpAll();
  EXPECT_STREQ(ncclGetLastError(nullptr),
               "ncclParamDumpAll is not available in this version: see docs/compat.md");
}

TEST(StringsTest, ResetDebugInitReadsTheEnvironmentAgain) {
  setenv("NCCL_DEBUG", "WARN", 1);
  ncclResetDebugInit();
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
  const std::string line = ::testing::internal::GetCapturedStdout();
  EXPECT_TRUE(line.ends_with(" [0] ncclGetVersion NCCL WARN version is NULL\n")) << line;
  setenv("NCCL_DEBUG", "SHOUT", 1);
  ncclResetDebugInit();
  EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("NCCL_DEBUG='SHOUT' (from environment)"),
            std::string::npos);
  unsetenv("NCCL_DEBUG");
  ncclResetDebugInit();
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

}  // namespace
