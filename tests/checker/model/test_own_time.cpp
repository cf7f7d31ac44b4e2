// SPDX-License-Identifier: Apache-2.0
// The time of a run: what a machine has no processor for does not count.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <functional>
#include <thread>

#include "checker/runs/process/process_family.hpp"

namespace antiphase::checker_detail {
namespace {

// A process that does this until the test ends.
class process {
 public:
  explicit process(const std::function<void()>& does) : id(fork()) {
    if (id != 0) return;
    for (;;) does();
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  ~process() {
    kill(id, SIGKILL);
    waitpid(id, nullptr, 0);
  }
  const pid_t id;
};

void one_processor() {
  cpu_set_t all;
  CPU_ZERO(&all);
  const int any = sched_getcpu();
  CPU_SET(any, &all);
  sched_setaffinity(0, sizeof all, &all);
}
constexpr double watched = 1;  // seconds
double seconds_of(pid_t of) {
  own_time time(of);
  for (const moment end = after(watched); std::chrono::steady_clock::now() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    time.seconds();
  }
  return time.seconds();
}
void spin() {
  static volatile int seen = 0;
  for (int turn = 0; turn < 1000; ++turn) seen = seen + turn;
}
void yield_to_others() { setpriority(PRIO_PROCESS, 0, 19), spin(); }
void wait_for_a_child() {
  const pid_t child = fork();
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (child == 0) yield_to_others();
  waitpid(child, nullptr, 0);
}

TEST(OwnTime, StandsStillWhereAMachineHasNoProcessor) {
  std::thread([] {  // its affinity is that of the processes it starts
    one_processor();
    const process other(spin), third(spin);
    for (const auto& does : {yield_to_others, wait_for_a_child}) {
      const process slow(does);
      EXPECT_LT(seconds_of(slow.id), 0.6 * watched);
    }
  })
      .join();
}

TEST(OwnTime, IncludesSleep) {
  const process sleeps([] { pause(); });
  EXPECT_GT(seconds_of(sleeps.id), 0.8 * watched);
}

TEST(OwnTime, IsThatOfProcessorsWhereItRuns) {
  const process runs(spin);
  const double counted = seconds_of(runs.id);
  timespec used{};
  clockid_t clock = 0;
  ASSERT_EQ(clock_getcpuclockid(runs.id, &clock), 0);
  clock_gettime(clock, &used);
  EXPECT_NEAR(counted, static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec), 0.3);
}

}  // namespace
}  // namespace antiphase::checker_detail
