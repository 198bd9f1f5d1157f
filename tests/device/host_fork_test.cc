// The host device around fork, exit and signals.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "accl/device.h"

#if defined(__SANITIZE_THREAD__)
#define ACCL_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ACCL_TEST_TSAN 1
#endif
#endif

namespace accl::host {
namespace {

// The thread sanitizer ends a process that starts threads after a fork of several threads.
#ifdef ACCL_TEST_TSAN
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

void increment(void* argument) { static_cast<std::atomic<int>*>(argument)->fetch_add(1); }

acclPoll_t never(void*) { return acclPollPending; }

/// Runs `body` in a child process; its exit status, or a signal's number negated.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a hang is a failure of the test, not of the machine
    body();
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(HostFork, TheParentsHandlesAreInvalidInTheChild) {
  if (kThreadSanitizer) GTEST_SKIP() << "beyond the thread sanitizer";
  acclStream_t stream = nullptr;
  acclEvent_t event = nullptr;
  ASSERT_EQ(acclStreamCreate(&stream), acclSuccess);
  ASSERT_EQ(acclEventCreate(&event), acclSuccess);
  ASSERT_EQ(acclStreamPoll(stream, never, nullptr), acclSuccess);
  ASSERT_EQ(acclEventRecord(event, stream), acclSuccess);
  const auto inert = [&] {
    return acclStreamIsIdle(stream) == 0 &&
           acclStreamSynchronize(stream) == acclErrorInvalidHandle &&
           acclStreamQuery(stream) == acclErrorInvalidHandle &&
           acclStreamPoll(stream, never, nullptr) == acclErrorInvalidHandle &&
           acclStreamDestroy(stream) == acclErrorInvalidHandle &&
           acclEventSynchronize(event) == acclErrorInvalidHandle &&
           acclEventDestroy(event) == acclErrorInvalidHandle &&
           acclDeviceSynchronize() == acclSuccess;
  };
  EXPECT_EQ(in_child([&] {
              if (!inert()) _exit(1);
              // The child's own: in the same slots, and yet other handles.
              acclStream_t mine = nullptr;
              acclEvent_t mark = nullptr;
              if (acclStreamCreate(&mine) != acclSuccess || mine == stream) _exit(2);
              if (acclEventCreate(&mark) != acclSuccess || mark == event) _exit(3);
              if (acclStreamSynchronize(stream) != acclErrorInvalidHandle) _exit(4);
              std::atomic<int> ran{0};
              if (acclLaunchHostFunc(mine, increment, &ran) != acclSuccess) _exit(5);
              while (ran == 0) std::this_thread::yield();  // the child's own worker
              if (acclStreamSynchronize(mine) != acclSuccess) _exit(6);
              _exit(0);
            }),
            0);
  EXPECT_EQ(acclStreamIsIdle(stream), 0) << "the parent goes on";
  EXPECT_EQ(acclStreamDestroy(stream), acclSuccess);
  EXPECT_EQ(acclEventDestroy(event), acclSuccess);
}

TEST(HostFork, MemoryGoesOnInTheChild) {
  void* memory = nullptr;
  ASSERT_EQ(acclMalloc(&memory, 100), acclSuccess);
  EXPECT_EQ(in_child([&] { _exit(acclFree(memory) == acclSuccess ? 0 : 1); }), 0);
  EXPECT_EQ(acclFree(memory), acclSuccess);
}

TEST(HostFork, WhileOtherThreadsAreAtIt) {
  if (kThreadSanitizer) GTEST_SKIP() << "beyond the thread sanitizer";
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    std::atomic<int> ran{0};
    while (!stop) {
      acclStream_t stream = nullptr;
      void* memory = nullptr;
      acclStreamCreate(&stream);
      acclLaunchHostFunc(stream, increment, &ran);
      acclMalloc(&memory, 64);
      acclStreamSynchronize(stream);
      acclFree(memory);
      acclStreamDestroy(stream);
    }
  });
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(in_child([&] {
                acclStream_t stream = nullptr;
                void* memory = nullptr;
                std::atomic<int> ran{0};
                if (acclMalloc(&memory, 64) != acclSuccess) _exit(1);
                if (acclStreamCreate(&stream) != acclSuccess) _exit(2);
                if (acclLaunchHostFunc(stream, increment, &ran) != acclSuccess) _exit(3);
                if (acclStreamSynchronize(stream) != acclSuccess) _exit(4);
                _exit(ran == 1 ? 0 : 5);
              }),
              0);
  }
  stop = true;
  busy.join();
}

TEST(HostExit, WithLiveStreamsIsSafe) {
  EXPECT_EQ(in_child([] {
              std::array<acclStream_t, 8> streams{};
              for (int device = 0; device < 8; ++device) {
                acclStream_t& stream = streams[static_cast<size_t>(device)];
                if (acclSetDevice(device) != acclSuccess) _exit(1);
                if (acclStreamCreate(&stream) != acclSuccess) _exit(2);
                if (acclStreamPoll(stream, never, nullptr) != acclSuccess) _exit(3);
              }
              std::exit(0);  // runs the static destructors
            }),
            0);
}

TEST(HostWorker, LeavesSignalsToTheProgram) {
  EXPECT_EQ(in_child([] {
              static std::atomic<pid_t> handler_tid{0};
              struct sigaction action {};
              action.sa_handler = [](int) { handler_tid = gettid(); };
              sigaction(SIGUSR1, &action, nullptr);
              acclStream_t stream = nullptr;
              if (acclStreamCreate(&stream) != acclSuccess) _exit(1);
              if (acclStreamPoll(stream, never, nullptr) != acclSuccess) _exit(2);
              sigset_t blocked;
              sigemptyset(&blocked);
              sigaddset(&blocked, SIGUSR1);
              pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
              kill(getpid(), SIGUSR1);
              usleep(50'000);
              if (handler_tid != 0) _exit(3);  // the worker took it
              pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
              _exit(handler_tid == gettid() ? 0 : 4);
            }),
            0);
}

TEST(HostDevices, AWrongSettingIsAClearErrorEverywhere) {
  // In a child that has not read the setting yet: this test runs in a process of its own
  // (`--gtest_filter` is not enough, the count is read once), so the child executes the binary
  // anew.
  EXPECT_EQ(in_child([] {
              setenv("ACCL_HOST_DEVICES", "eight", 1);
              execl("/proc/self/exe", "host_fork_test", "--check-wrong-setting", nullptr);
              _exit(99);
            }),
            0);
}

int check_wrong_setting() {
  const std::string want = "ACCL_HOST_DEVICES is \"eight\": want a whole number from 1 to 1024";
  const auto refused = [&](acclError_t error) {
    return error == acclErrorInvalidValue && want == acclGetLastErrorText();
  };
  int count = -1;
  acclStream_t stream = nullptr;
  void* memory = nullptr;
  if (!refused(acclGetDeviceCount(&count)) || count != -1) return 1;
  if (!refused(acclSetDevice(0))) return 2;
  if (!refused(acclStreamCreate(&stream)) || stream != nullptr) return 3;
  return refused(acclMalloc(&memory, 1)) && memory == nullptr ? 0 : 4;
}

}  // namespace
}  // namespace accl::host

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--check-wrong-setting") {
    return accl::host::check_wrong_setting();
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
