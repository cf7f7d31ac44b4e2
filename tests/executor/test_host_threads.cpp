// SPDX-License-Identifier: Apache-2.0
// Calls from many host threads at once, including the process's first ones: the same results as alone, bit
// for bit.
#include <gtest/gtest.h>

#include <antiphase/context.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/scan.hpp>
#include <cstdint>
#include <cstring>
#include <latch>
#include <thread>
#include <vector>

namespace antiphase {
namespace {

constexpr int host_threads = 32;
constexpr std::int64_t rows = 37, columns = 41, depth = 35;

std::vector<float> numbers(std::int64_t count, int seed) {
  std::vector<float> made(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = static_cast<float>((i * 37 + static_cast<std::size_t>(seed) * 101) % 1009) / 512 - 1;
  return made;
}

// Results of host thread `number`: a product by each step of the ladder, and a scan.
struct results {
  std::vector<float> product, scanned;
};
results compute(const context& where, int number) {
  const auto some = static_cast<std::size_t>(number) % std::size(gemms::steps);
  device_array<float> a(where, numbers(rows * depth, number)), b(where, numbers(depth * columns, number + 1)),
      c(where, numbers(rows * columns, number + 2)), x(where, numbers(5003, number + 3));
  gemm(where,
       {.a = {a.data(), rows, depth, depth, 1},
        .b = {b.data(), depth, columns, columns, 1},
        .c = {c.data(), rows, columns, columns, 1},
        .alpha = 1.5f,
        .beta = -0.5f},
       {.policy = gemms::steps[some].name});
  scan(
      where,
      {.type = element::f32, .in = x.data(), .out = x.data(), .length = static_cast<std::int64_t>(x.size())});
  return {c.to_host(), x.to_host()};
}

bool same_bits(const std::vector<float>& one, const std::vector<float>& other) {
  return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0;
}

// `get` returns the context of each thread.
template <class Get> void expect_as_alone(Get get) {
  std::vector<results> together(host_threads);
  std::latch start(host_threads);
  std::vector<std::thread> hosts;
  for (int i = 0; i < host_threads; ++i)
    hosts.emplace_back([&, i] {
      start.arrive_and_wait();
      together[static_cast<std::size_t>(i)] = compute(get(), i);
    });
  for (std::thread& host : hosts) host.join();
  for (int i = 0; i < host_threads; ++i) {
    const results alone = compute(context(make_cpu_executor({.workers = 1})), i);
    EXPECT_TRUE(same_bits(together[static_cast<std::size_t>(i)].product, alone.product))
        << "product of thread " << i;
    EXPECT_TRUE(same_bits(together[static_cast<std::size_t>(i)].scanned, alone.scanned))
        << "scan of thread " << i;
  }
}

// Under ctest each test is its own process, so both include the setup of the first call.
TEST(host_threads, share_a_context) {
  const context where(make_cpu_executor({.workers = 2}));
  expect_as_alone([&] { return where; });
}
TEST(host_threads, have_a_context_each) {
  expect_as_alone([] { return context::on("cpu"); });
}

}  // namespace
}  // namespace antiphase
