// SPDX-License-Identifier: Apache-2.0
// Children forked while other threads compute: each child computes the same as its parent, bit for bit.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <antiphase/context.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/scan.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "tests/sanitized.hpp"

namespace antiphase {
namespace {

// GCC 12's AddressSanitizer passes its allocator's lock to the child in the state in which another thread
// holds it.
#define AP_SKIP_WHERE_CHILDREN_CANNOT_ALLOCATE()                                                         \
  if (test::sanitized)                                                                                   \
  GTEST_SKIP() << "AddressSanitizer's allocator may be locked for ever in a child that is forked while " \
                  "other threads run"

// Returns 0 if `child` returns true in a child process; -1 if false; else the signal that ended it (SIGALRM:
// timeout).
int forked(const std::function<bool()>& child) {
  const pid_t of = fork();
  if (of == 0) {
    alarm(20);
    _exit(child() ? 0 : 1);
  }
  int status = 0;
  waitpid(of, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<float>(i * 37 % 1009) / 512 - 1;
  return made;
}

// A product that accumulates in scratch memory, and scans whose tiles exchange totals in it.
struct work {
  static constexpr std::int64_t m = 5, n = 3, k = 1000, length = 5001;
  std::vector<float> a = numbers(m * k), b = numbers(k * n), in = numbers(length);

  std::vector<float> results(const context& where, stream on) const {
    std::vector<float> c(m * n), out(length);
    gemm(where,
         {.a = row_major(a.data(), m, k), .b = row_major(b.data(), k, n), .c = row_major(c.data(), m, n)},
         {.stream = on});
    scan(where, {.type = element::f32, .in = in.data(), .out = out.data(), .length = length}, {.stream = on});
    c.insert(c.end(), out.begin(), out.end());
    return c;
  }
};

TEST(forks, find_executors_that_are_at_work) {
  AP_SKIP_WHERE_CHILDREN_CANNOT_ALLOCATE();
  const context one(make_cpu_executor({.workers = 1})), other(make_cpu_executor({.workers = 2}));
  const auto another_stream = reinterpret_cast<stream>(64);
  const work of;
  const std::vector<float> expected = of.results(one, nullptr);
  const auto computes = [&] {
    return of.results(one, nullptr) == expected && of.results(other, another_stream) == expected &&
           of.results(context::on("cpu"), nullptr) == expected;
  };
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (const context* const where : {&one, &other, &one})
    others.emplace_back([&, where] {
      while (!stop) of.results(*where, where == &one ? nullptr : another_stream);
    });
  for (int i = 0; i < 24 && !HasFailure(); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(i * 331 % 2000));
    EXPECT_EQ(forked([&] { return computes() && (i % 8 != 0 || forked(computes) == 0); }), 0)
        << "child " << i;
  }
  stop = true;
  for (std::thread& each : others) each.join();
}

// Each iteration has a new parent, whose thread makes the process's first library call.
TEST(forks, find_what_the_first_call_makes_half_made) {
  AP_SKIP_WHERE_CHILDREN_CANNOT_ALLOCATE();
  const work of;
  const auto computes = [&] { return of.results(context::on("cpu"), nullptr).back() != 0; };
  for (int i = 0; i < 40 && !HasFailure(); ++i)
    EXPECT_EQ(forked([&] {
                std::thread(computes).detach();
                std::this_thread::sleep_for(std::chrono::microseconds(i * 30));
                return forked(computes) == 0;
              }),
              0)
        << "parent " << i;
}

}  // namespace
}  // namespace antiphase
