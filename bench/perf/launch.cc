#include "bench/perf/launch.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bench/perf/team.h"
#include "src/base/clock.h"

namespace accl::perf {
namespace {

/// How long the others may take to report an error of their own before they are told to end, and
/// how long after that until they are killed.
constexpr std::uint64_t kGraceNs = 3 * kNsPerSecond;
constexpr std::uint64_t kTerminateNs = 2 * kNsPerSecond;

struct Child {
  pid_t pid = 0;
  bool running = false;
};

class Launcher {
 public:
  Launcher(const Options& options, Team& team) : options_(options), team_(team) {}
  bool start_all(const sigset_t& original_mask);
  int wait_all(const sigset_t& handled);

 private:
  void exec_child(int index, const sigset_t& original_mask, pid_t parent);
  void reap();
  void child_ended(int index, int status);
  void begin_ending(std::uint64_t grace_ns);
  void send_to_running(int signal_number);
  void escalate();
  bool any_running() const;

  const Options& options_;
  Team& team_;
  std::vector<Child> children_;
  int exit_code_ = 0;
  bool ending_ = false;
  bool terminated_ = false;
  std::uint64_t next_step_ns_ = 0;
};

void Launcher::exec_child(int index, const sigset_t& original_mask, pid_t parent) {
  // If we are killed in a way that lets us do nothing, the system ends the children.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kInternal);
  sigprocmask(SIG_SETMASK, &original_mask, nullptr);
  const std::string worker = fmt::format("--worker={}:{}", index, team_.fd());
  std::vector<char*> argv;
  argv.push_back(const_cast<char*>(options_.program.c_str()));
  argv.push_back(const_cast<char*>(worker.c_str()));
  for (const std::string& arg : options_.args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  fmt::print(stderr, "{}: cannot start process {}: {}\n", options_.program, index, strerror(errno));
  _exit(kInternal);
}

bool Launcher::start_all(const sigset_t& original_mask) {
  const pid_t parent = getpid();
  for (int index = 0; index < options_.processes; ++index) {
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) exec_child(index, original_mask, parent);
    if (pid < 0) {
      fmt::print(stderr, "{}: cannot start process {}: {}\n", options_.program, index,
                 strerror(errno));
      exit_code_ = kInternal;
      begin_ending(0);
      return false;
    }
    children_.push_back({pid, true});
  }
  return true;
}

bool Launcher::any_running() const {
  return std::any_of(children_.begin(), children_.end(),
                     [](const Child& child) { return child.running; });
}

void Launcher::send_to_running(int signal_number) {
  for (const Child& child : children_)
    if (child.running) kill(child.pid, signal_number);
}

void Launcher::begin_ending(std::uint64_t grace_ns) {
  if (ending_) return;
  ending_ = true;
  team_.fail(exit_code_);
  next_step_ns_ = now_ns() + grace_ns;
}

void Launcher::escalate() {
  if (!ending_ || now_ns() < next_step_ns_) return;
  send_to_running(terminated_ ? SIGKILL : SIGTERM);
  if (!terminated_) send_to_running(SIGCONT);  // a stopped process would not see it
  terminated_ = true;
  next_step_ns_ = now_ns() + kTerminateNs;
}

void Launcher::child_ended(int index, int status) {
  Child& child = children_[static_cast<size_t>(index)];
  child.running = false;
  const int per_process = options_.threads * options_.devices;
  const int first = index * per_process;
  const std::string ranks = per_process == 1
                                ? fmt::format("rank {}", first)
                                : fmt::format("ranks {}-{}", first, first + per_process - 1);
  if (WIFSIGNALED(status)) {
    const int signal_number = WTERMSIG(status);
    if (!terminated_)
      fmt::print(stderr, "{}: process {} of {} ({}, pid {}) was ended by signal {} ({})\n",
                 options_.program, index, options_.processes, ranks, child.pid, signal_number,
                 strsignal(signal_number));
    if (exit_code_ == 0) exit_code_ = 128 + signal_number;
    begin_ending(kGraceNs);
    return;
  }
  const int code = WEXITSTATUS(status);
  if (code == 0) return;
  // Wrong data is everybody's result and stands in the table; who failed otherwise has said so.
  if (code != kWrongData && team_.failure() == 0)
    fmt::print(stderr, "{}: process {} of {} ({}, pid {}) ended with code {}\n", options_.program,
               index, options_.processes, ranks, child.pid, code);
  if (exit_code_ == 0) exit_code_ = code;
  if (code != kWrongData) begin_ending(kGraceNs);
}

void Launcher::reap() {
  for (size_t i = 0; i < children_.size(); ++i) {
    int status = 0;
    if (children_[i].running && waitpid(children_[i].pid, &status, WNOHANG) == children_[i].pid)
      child_ended(static_cast<int>(i), status);
  }
}

int Launcher::wait_all(const sigset_t& handled) {
  while (any_running()) {
    const timespec tick{0, 100'000'000};
    const int signal_number = sigtimedwait(&handled, nullptr, &tick);
    if (signal_number > 0 && signal_number != SIGCHLD) {
      exit_code_ = 128 + signal_number;
      begin_ending(0);
    }
    reap();
    escalate();
  }
  return exit_code_;
}

}  // namespace

int run_processes(const Options& options) {
  const auto team = Team::create(options.members(), options.ranks(), true);
  if (team == nullptr) {
    fmt::print(stderr, "{}: no shared memory for {} ranks: {}\n", options.program, options.ranks(),
               strerror(errno));
    return kInternal;
  }
  // Signals are waited for, not handled: then nothing happens between two lines of ours.
  sigset_t handled;
  sigset_t original_mask;
  sigemptyset(&handled);
  for (const int signal_number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP})
    sigaddset(&handled, signal_number);
  sigprocmask(SIG_BLOCK, &handled, &original_mask);
  Launcher launcher(options, *team);
  launcher.start_all(original_mask);
  return launcher.wait_all(handled);
}

}  // namespace accl::perf
