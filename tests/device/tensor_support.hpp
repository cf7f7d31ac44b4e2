// SPDX-License-Identifier: Apache-2.0
// Runs the Tensor Core kernels: the same cases on every executor.
#pragma once
#include <gtest/gtest.h>
#include <antiphase/context.hpp>
#include <antiphase/core/half.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/device/tensor_cases.hpp"

namespace antiphase::probe {
namespace cpu {
std::vector<kernel> matrix_kernels();
std::vector<kernel> wgmma_kernels();
std::vector<kernel> tf32_kernels();
std::vector<kernel> box_kernels();
}  // namespace cpu
#if ANTIPHASE_HAS_CUDA
namespace cuda {
std::vector<kernel> matrix_kernels();
std::vector<kernel> wgmma_kernels();
std::vector<kernel> tf32_kernels();
std::vector<kernel> box_kernels();
}  // namespace cuda
#endif

inline kernel find(const context& where, const std::string& name) {
  std::vector<std::vector<kernel>> lists;
  if (where.kind() == target::cpu)
    lists = {cpu::matrix_kernels(), cpu::wgmma_kernels(), cpu::tf32_kernels(), cpu::box_kernels()};
#if ANTIPHASE_HAS_CUDA
  if (where.kind() == target::cuda)
    lists = {cuda::matrix_kernels(), cuda::wgmma_kernels(), cuda::tf32_kernels(), cuda::box_kernels()};
#endif
  for (const auto& list : lists)
    for (const kernel& k : list)
      if (name == k.name) return k;
  throw std::logic_error("there is no kernel " + name);
}

template <class Params>
void launch(const context& where, const std::string& name, const Params& params, unsigned blocks = 1) {
  where.runs_on().launch(find(where, name), {blocks, 1, 1}, &params, nullptr);
  where.runs_on().synchronize(nullptr);
}

// CPU executors that read operands at different times.
inline std::vector<context> cpu_contexts() {
  std::vector<context> all;
  for (const landing copies : {landing::early, landing::late, landing::mixed})
    all.emplace_back(make_cpu_executor({.copies = copies}));
  return all;
}

// The first GPU if it has this compute capability; otherwise nothing, and the reason in `why`.
inline std::optional<context> gpu(int compute_capability, std::string& why) {
  const auto devices = cuda_devices(&why);
  if (devices.empty()) return std::nullopt;
  const device_limits& first = devices.front();
  if (first.major * 10 + first.minor >= compute_capability) return context(make_cuda_executor());
  why = first.name + " has compute capability " + std::to_string(first.major) + "." +
        std::to_string(first.minor);
  return std::nullopt;
}
#define ON_GPU(where, compute_capability)                                 \
  std::string why_not;                                                    \
  const auto where##_or_none = gpu(compute_capability, why_not);          \
  if (!where##_or_none) GTEST_SKIP() << "no GPU to test on: " << why_not; \
  const context& where = *where##_or_none

// Random numbers without a short period.
struct numbers {
  std::uint64_t state;
  std::uint64_t operator()() {  // SplitMix64
    std::uint64_t z = state += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
  }
  int between(int low, int high) {
    return low + static_cast<int>((*this)() % static_cast<std::uint64_t>(high - low + 1));
  }
};

}  // namespace antiphase::probe
