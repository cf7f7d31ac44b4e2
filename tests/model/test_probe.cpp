// SPDX-License-Identifier: Apache-2.0
// Kernels that measure a machine perform the work that they are timed for; measuring itself needs a GPU.
#include <gtest/gtest.h>
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/measure_machine.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "learn/model/probe.hpp"

namespace antiphase {
namespace {

const context& on_cpu() {
  static const context where = context::on("cpu");
  return where;
}

TEST(probe, a_thread_follows_pointers) {
  std::vector<std::uint32_t> next(64 * 4);
  for (std::uint32_t i = 0; i < 64; ++i) next[i * 4] = (i * 5 + 3) % 64 * 4;
  const device_array<std::uint32_t> there(on_cpu(), next);
  device_array<std::uint32_t> last(on_cpu(), std::vector<std::uint32_t>{0});
  const probe::chase_params p{there.data(), 1001, last.data()};
  on_cpu().runs_on().launch(probe::cpu::probe_kernels().chase, {1, 1, 1}, &p, nullptr);
  std::uint32_t at = 0;
  for (int i = 0; i < 1001; ++i) at = next[at];
  EXPECT_EQ(last.to_host()[0], at);
}

TEST(probe, every_multiply_add_is_there) {
  device_array<float> sums(on_cpu(), 2 * probe::probe_threads);
  device_array<std::int64_t> clocks(on_cpu(), 1);
  const probe::multiply_params p{2, 1, 1, sums.data(), clocks.data()};  // each link adds 1
  on_cpu().runs_on().launch(probe::cpu::probe_kernels().multiply, {2, 1, 1}, &p, nullptr);
  const std::vector<float> found = sums.to_host();
  for (int i = 0; i < 2 * probe::probe_threads; ++i) {
    const int thread = i % probe::probe_threads;
    ASSERT_EQ(found[static_cast<std::size_t>(i)],
              static_cast<float>(probe::chains * (thread + 2 * probe::links) + 28))
        << i;
  }
}

TEST(probe, every_read_is_there) {
  device_array<float> sums(on_cpu(), probe::probe_threads);
  device_array<std::int64_t> clocks(on_cpu(), 1);
  const probe::read_params p{3, sums.data(), clocks.data()};
  on_cpu().runs_on().launch(probe::cpu::probe_kernels().read, {1, 1, 1}, &p, nullptr);
  const std::vector<float> found = sums.to_host();
  for (int t = 0; t < probe::probe_threads; ++t) {
    float expected = 0;
    for (int round = 0; round < 3; ++round)
      for (int r = 0; r < probe::reads; ++r)
        expected += static_cast<float>(4 * ((t + 32 * (r + round)) % probe::probe_threads % 7) + 6);
    ASSERT_EQ(found[static_cast<std::size_t>(t)], expected) << t;
  }
}

TEST(probe, measuring_asks_for_a_gpu) { EXPECT_THROW(measure_machine(on_cpu()), not_supported); }

TEST(probe, CudaFindsAMachine) {
  const context best = context::best();
  if (best.kind() != target::cuda) GTEST_SKIP() << "no GPU";
  const machine_profile p = measure_machine(best);
  EXPECT_GT(p.clock.value, 0.5e9);
  EXPECT_LT(p.clock.value, 4e9);
  EXPECT_GT(p.multiply_adds.value, 50);
  EXPECT_LT(p.multiply_adds.value, 130);
  EXPECT_GT(p.shared_bytes.value, 90);
  EXPECT_LT(p.shared_bytes.value, 130);
  EXPECT_GT(p.memory_bytes.value, 1e11);
  EXPECT_GT(p.memory_latency.value, p.cache_latency.value);
  EXPECT_GT(p.cache_latency.value, 5e-8);
  EXPECT_LT(p.memory_latency.value, 3e-6);
  const machine_profile again = parse_profile(to_text(p), "text");
  for (const machine_member& m : machine_members())
    EXPECT_EQ((again.*m.figure).value, (p.*m.figure).value) << m.name;
}

}  // namespace
}  // namespace antiphase
