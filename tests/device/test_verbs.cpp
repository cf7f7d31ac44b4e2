// SPDX-License-Identifier: Apache-2.0
// All device functions, on every executor: the probes.
#include <gtest/gtest.h>
#include <algorithm>
#include <antiphase/context.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <antiphase/executor/shared_bytes.hpp>

#include "tests/device/probes.hpp"

namespace antiphase::probe {
// One list per target; see kernels_*.cuh.
namespace cpu {
std::vector<kernel> thread_kernels();
std::vector<kernel> memory_kernels();
std::vector<kernel> copy_kernels();
std::vector<kernel> bulk_kernels();
std::vector<kernel> cluster_kernels();
std::vector<kernel> update_kernels();
std::vector<kernel> arrival_kernels();
std::vector<kernel> storage_kernels();
}  // namespace cpu
#if ANTIPHASE_HAS_CUDA
namespace cuda {
std::vector<kernel> thread_kernels();
std::vector<kernel> memory_kernels();
std::vector<kernel> copy_kernels();
std::vector<kernel> bulk_kernels();
std::vector<kernel> cluster_kernels();
std::vector<kernel> update_kernels();
std::vector<kernel> arrival_kernels();
std::vector<kernel> storage_kernels();
}  // namespace cuda
#endif

void PrintTo(const probe& p, std::ostream* out) { *out << p.name; }

namespace {

kernel find(const std::string& name, std::initializer_list<std::vector<kernel>> lists) {
  for (const auto& list : lists)
    for (const kernel& k : list)
      if (name == k.name) return k;
  throw std::logic_error("there is no probe kernel " + name);
}

void run(const context& where, kernel k, const probe& p) {
  k.cluster = p.cluster;
  std::vector<std::uint32_t> input(p.in_size);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = in_at(i);
  const std::vector<std::uint32_t> zeros(p.out_size, 0);
  const device_array<std::uint32_t> in(where, std::span<const std::uint32_t>(input));
  device_array<std::uint32_t> out(where, std::span<const std::uint32_t>(zeros));
  const buffers params{out.data(), in.data(), static_cast<int>(p.in_size)};
  where.runs_on().launch(k, p.grid, &params, nullptr);
  where.runs_on().synchronize(nullptr);
  const auto result = out.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < result.size() && wrong < 5; ++i)
    if (result[i] != p.expected(i))
      ADD_FAILURE() << "out[" << i << "] is " << result[i] << ", expected " << p.expected(i) << ", wrong "
                    << ++wrong;
}

std::vector<probe> all_probes() {
  auto all = thread_probes();
  for (auto& p : memory_probes()) all.push_back(p);
  for (auto& p : cluster_probes()) all.push_back(p);
  for (auto& p : update_probes()) all.push_back(p);
  return all;
}

std::string name_of(const testing::TestParamInfo<probe>& info) {
  std::string name = info.param.name + "_" + std::to_string(info.param.grid.count());
  if (info.param.cluster > 1) name += "_in_clusters_of_" + std::to_string(info.param.cluster);
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

using verb = testing::TestWithParam<probe>;
TEST_P(verb, does_what_it_says_on_the_cpu_executor) {
  const kernel k = find(GetParam().name, {cpu::thread_kernels(), cpu::memory_kernels(), cpu::copy_kernels(),
                                          cpu::bulk_kernels(), cpu::cluster_kernels(), cpu::update_kernels(),
                                          cpu::arrival_kernels(), cpu::storage_kernels()});
  for (const landing copies : {landing::early, landing::late, landing::mixed})
    for (const int workers : {1, 2})
      for (const int resident : {0, 3})
        for (unsigned seed = 1; seed <= 3; ++seed) {
          SCOPED_TRACE("landing " + std::to_string(static_cast<int>(copies)) + ", workers " +
                       std::to_string(workers) + ", resident " + std::to_string(resident) + ", seed " +
                       std::to_string(seed));
          run(context(make_cpu_executor(
                  {.seed = seed, .copies = copies, .workers = workers, .resident_blocks = resident})),
              k, GetParam());
        }
}
INSTANTIATE_TEST_SUITE_P(probes, verb, testing::ValuesIn(all_probes()), name_of);

using verb_gpu = testing::TestWithParam<probe>;
TEST_P(verb_gpu, does_what_it_says) {
#if ANTIPHASE_HAS_CUDA
  std::string why;
  const auto devices = cuda_devices(&why);
  if (devices.empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  const device_limits& gpu = devices.front();
  if (gpu.major * 10 + gpu.minor < GetParam().compute_capability)
    GTEST_SKIP() << gpu.name << " has compute capability " << gpu.major << "." << gpu.minor
                 << ", this test needs " << GetParam().compute_capability / 10 << "."
                 << GetParam().compute_capability % 10;
  run(context(make_cuda_executor()),
      find(GetParam().name, {cuda::thread_kernels(), cuda::memory_kernels(), cuda::copy_kernels(),
                             cuda::bulk_kernels(), cuda::cluster_kernels(), cuda::update_kernels(),
                             cuda::arrival_kernels(), cuda::storage_kernels()}),
      GetParam());
#else
  GTEST_SKIP() << "no GPU to test on: built without the GPU part";
#endif
}
INSTANTIATE_TEST_SUITE_P(Cuda, verb_gpu, testing::ValuesIn(all_probes()), name_of);

TEST(shared_bytes, are_refused_for_fixed_storage_and_below_the_storage) {
  kernel k{.name = "any", .shared_bytes = 100, .shared = shared_kind::dynamic};
  EXPECT_EQ(with_shared_bytes(k, 100).shared_bytes, 100u);
  EXPECT_EQ(with_shared_bytes(k, 4097).shared_bytes, 4097u);
  EXPECT_THROW(with_shared_bytes(k, 99), bad_request);
  k.shared = shared_kind::fixed;
  EXPECT_THROW(with_shared_bytes(k, 200), bad_request);
}

// Launches that each read the output of another thread of the one before, alternating between two arrays.
void run_chain(const context& where, const kernel& link) {
  ASSERT_TRUE(link.overlaps_previous);
  constexpr unsigned blocks = 11, links = 30;
  std::vector<std::uint32_t> expected(blocks * static_cast<unsigned>(link.threads));
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = in_at(i);
  device_array<std::uint32_t> even(where, std::span<const std::uint32_t>(expected));
  device_array<std::uint32_t> odd(where, std::span<const std::uint32_t>(expected));
  for (unsigned i = 0; i < links; ++i) {
    auto& to = i % 2 == 0 ? odd : even;
    auto& from = i % 2 == 0 ? even : odd;
    const buffers params{to.data(), from.data(), static_cast<int>(expected.size())};
    where.runs_on().launch(link, {blocks}, &params, nullptr);
  }
  for (unsigned i = 0; i < links; ++i) {  // not between the launches, which would prevent their overlap
    std::reverse(expected.begin(), expected.end());
    for (auto& x : expected) x = chewed(x);
  }
  where.runs_on().synchronize(nullptr);
  EXPECT_EQ(even.to_host(), expected);
}
TEST(chained_launches, see_what_the_one_before_wrote) {
  run_chain(context(make_cpu_executor({.workers = 2})), find("chain-link", {cpu::cluster_kernels()}));
}
TEST(Cuda, chained_launches_see_what_the_one_before_wrote) {
#if ANTIPHASE_HAS_CUDA
  const auto devices = cuda_devices();
  if (devices.empty() || devices.front().major < 9)
    GTEST_SKIP() << "no GPU of compute capability 9.0 to test on";
  run_chain(context(make_cuda_executor()), find("chain-link", {cuda::cluster_kernels()}));
#else
  GTEST_SKIP() << "no GPU to test on: built without the GPU part";
#endif
}

}  // namespace
}  // namespace antiphase::probe
