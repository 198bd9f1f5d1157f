#include "src/base/thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>

namespace accl {
namespace {

TEST(ThreadTest, HasANameAndBlocksSignalsButNotFaults) {
  std::string name(16, '\0');
  bool blocks_term = false;
  bool blocks_segv = true;
  std::atomic<bool> go{false};
  auto thread = Thread::start("accl-engine-with-a-long-name", [&] {
    while (!go.load()) {
    }
    pthread_getname_np(pthread_self(), name.data(), name.size());
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocks_term = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGPROF) == 1;
    blocks_segv = sigismember(&mask, SIGSEGV) == 1;
  });
  ASSERT_TRUE(thread.ok());
  go = true;
  thread->join();
  EXPECT_STREQ(name.c_str(), "accl-engine-wit");
  EXPECT_TRUE(blocks_term);
  EXPECT_FALSE(blocks_segv);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGTERM), 0) << "the creator's mask is as before";
}

TEST(ThreadTest, DestructorWaitsAndMoveKeepsOneOwner) {
  std::atomic<int> done{0};
  {
    auto started = Thread::start("worker", [&] { done++; });
    ASSERT_TRUE(started.ok());
    Thread first = std::move(*started);
    EXPECT_FALSE(started->joinable());
    Thread second;
    second = std::move(first);
    EXPECT_TRUE(second.joinable());
    EXPECT_FALSE(first.joinable());  // NOLINT(bugprone-use-after-move): that is the point
  }
  EXPECT_EQ(done.load(), 1);
}

TEST(ThreadTest, RefusalIsAStatusThatNamesTheThread) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A stack that no address space holds makes pthread_create fail for every user, root too.
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size_t{1} << 60);
    pthread_setattr_default_np(&attributes);
    auto thread = Thread::start("starved", [] {});
    if (thread.ok()) _exit(1);
    const std::string& text = thread.status().text();
    const bool right = thread.status().code() == Code::kSystem &&
                       text.starts_with("cannot start thread 'starved': ") &&
                       text.find("ulimit -u") != std::string::npos;
    _exit(right ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace accl
