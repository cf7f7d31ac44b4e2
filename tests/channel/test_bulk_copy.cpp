// SPDX-License-Identifier: Apache-2.0
// The bulk copy kernel on every executor: exact results, tails of any length, nothing written outside.
#include <gtest/gtest.h>
#include <antiphase/context.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>

#include "tests/channel/bulk_copy_case.hpp"

namespace antiphase::test {
// One list per target; see kernels_bulk.cuh.
namespace cpu {
std::vector<bulk_copy_case> bulk_copies();
}
#if ANTIPHASE_HAS_CUDA
namespace cuda {
std::vector<bulk_copy_case> bulk_copies();
}
#endif

namespace {

using examples::bulk_copy_params;

constexpr std::size_t guard = 64;
constexpr float untouched = -77;

void run(const context& where, const bulk_copy_case& c, std::int64_t size, unsigned blocks) {
  SCOPED_TRACE("size " + std::to_string(size) + ", blocks " + std::to_string(blocks));
  const auto n = static_cast<std::size_t>(size);
  std::vector<float> input(n), before(n + guard, untouched);
  for (std::size_t i = 0; i < n; ++i) input[i] = static_cast<float>(i * 7919 % 1'000'003);
  const device_array<float> from(where, std::span<const float>(input));
  device_array<float> to(where, std::span<const float>(before));
  const bulk_copy_params params{from.data(), to.data(), size};
  where.runs_on().launch(c.kernel, {blocks, 1, 1}, &params, nullptr);
  where.runs_on().synchronize(nullptr);
  const auto result = to.to_host();
  for (std::size_t i = 0; i < result.size(); ++i)
    ASSERT_EQ(result[i], i < n ? examples::transformed(input[i], static_cast<std::int64_t>(i)) : untouched)
        << "at " << i;
}

std::vector<std::int64_t> sizes_around(int tile) {
  return {0, 1, 3, 4, 5, tile - 1, tile, tile + 1, tile + 4, 2 * tile + 2, 7 * tile, 11 * tile + 3};
}

class bulk_copy : public testing::TestWithParam<std::size_t> {};
TEST_P(bulk_copy, is_exact_on_the_cpu_executor) {
  const bulk_copy_case c = cpu::bulk_copies()[GetParam()];
  for (const landing copies : {landing::early, landing::late, landing::mixed})
    for (unsigned seed = 1; seed <= 4; ++seed) {
      const context where(
          make_cpu_executor({.seed = seed, .copies = copies, .workers = 1 + static_cast<int>(seed % 2)}));
      SCOPED_TRACE("landing " + std::to_string(static_cast<int>(copies)) + ", seed " + std::to_string(seed));
      for (const std::int64_t size : sizes_around(c.policy.tile))
        for (unsigned blocks : {1u, 3u}) run(where, c, size, blocks);
    }
}

TEST_P(bulk_copy, Cuda_is_exact) {
#if ANTIPHASE_HAS_CUDA
  std::string why;
  const auto devices = cuda_devices(&why);
  if (devices.empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  if (devices.front().major < 9)
    GTEST_SKIP() << devices.front().name << " has no bulk copies: they need compute capability 9.0";
  const context where(make_cuda_executor());
  const bulk_copy_case c = cuda::bulk_copies()[GetParam()];
  for (const std::int64_t size : sizes_around(c.policy.tile))
    for (unsigned blocks : {1u, 3u}) run(where, c, size, blocks);
  for (unsigned blocks : {1u, 132u, 400u}) run(where, c, 3'000'003, blocks);
#else
  GTEST_SKIP() << "no GPU to test on: built without the GPU part";
#endif
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) {
  std::string name = cpu::bulk_copies()[info.param].kernel.name;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(policies, bulk_copy, testing::Range<std::size_t>(0, 10), name_of);

TEST(bulk_copy_list, covers_one_to_five_stages) {
  const auto list = cpu::bulk_copies();
  ASSERT_EQ(list.size(), 10u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(list[static_cast<std::size_t>(i)].policy.stages, i % 5 + 1);
}

}  // namespace
}  // namespace antiphase::test
