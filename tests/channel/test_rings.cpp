// SPDX-License-Identifier: Apache-2.0
// Rings of copies under pipeline, one to eight stages, several runs on one ring.
#include <gtest/gtest.h>
#include <antiphase/context.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>

#include "tests/channel/ring_kernels.hpp"

namespace antiphase::test {
// One list per target; see kernels_async.cuh and kernels_staged.cuh.
namespace cpu {
std::vector<ring_case> async_rings();
std::vector<ring_case> staged_rings();
}  // namespace cpu
#if ANTIPHASE_HAS_CUDA
namespace cuda {
std::vector<ring_case> async_rings();
std::vector<ring_case> staged_rings();
}  // namespace cuda
#endif

namespace {

void run(const context& where, const ring_case& c) {
  std::vector<std::uint32_t> input(all_units * ring_threads);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = ring_input(static_cast<int>(i));
  const device_array<std::uint32_t> in(where, std::span<const std::uint32_t>(input));
  device_array<std::uint32_t> out(where, ring_threads);
  const ring_params params{in.data(), out.data()};
  where.runs_on().launch(c.kernel, {1, 1, 1}, &params, nullptr);
  where.runs_on().synchronize(nullptr);
  const auto result = out.to_host();
  for (int t = 0; t < ring_threads; ++t)
    ASSERT_EQ(result[static_cast<std::size_t>(t)], expected_of_ring(t, all_units))
        << c.kernel.name << ", " << c.stages << " stages, thread " << t;
}

void run_on_cpu(const std::vector<ring_case>& list) {
  ASSERT_EQ(list.size(), 8u);
  for (const landing copies : {landing::early, landing::late, landing::mixed})
    for (unsigned seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE("landing " + std::to_string(static_cast<int>(copies)) + ", seed " + std::to_string(seed));
      const context where(make_cpu_executor({.seed = seed, .copies = copies, .workers = 1}));
      for (const ring_case& c : list) run(where, c);
    }
}
TEST(rings, of_asynchronous_copies) { run_on_cpu(cpu::async_rings()); }
TEST(rings, of_staged_copies) { run_on_cpu(cpu::staged_rings()); }

#if ANTIPHASE_HAS_CUDA
void run_on_gpu(const std::vector<ring_case>& list, int compute_capability) {
  std::string why;
  const auto devices = cuda_devices(&why);
  if (devices.empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  const device_limits& gpu = devices.front();
  if (gpu.major * 10 + gpu.minor < compute_capability)
    GTEST_SKIP() << gpu.name << " is too old: this test needs compute capability "
                 << compute_capability / 10.0;
  const context where(make_cuda_executor());
  for (const ring_case& c : list) run(where, c);
}
TEST(rings, Cuda_of_asynchronous_copies) { run_on_gpu(cuda::async_rings(), 80); }
TEST(rings, Cuda_of_staged_copies) { run_on_gpu(cuda::staged_rings(), 75); }
#else
TEST(rings, Cuda_of_copies) { GTEST_SKIP() << "no GPU to test on: built without the GPU part"; }
#endif

}  // namespace
}  // namespace antiphase::test
