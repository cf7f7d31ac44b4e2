// SPDX-License-Identifier: Apache-2.0
// Kernels that each do one thing as fast as the machine can.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/clock.cuh>
#include <antiphase/device/kernel.cuh>
#include <cmath>

#include "learn/model/probe.hpp"

namespace antiphase::probe::AP_TARGET {
namespace {

struct chase {
  using params = chase_params;
  struct storage {};
  static constexpr int threads = 32;

  AP_DEV void operator()(const params& p) const {
    if (thread_index() != 0) return;
    std::uint32_t at = *p.last;
    AP_ROLLED
    for (std::uint32_t i = 0; i < p.steps; ++i) at = p.next[at];
    *p.last = at;
  }
};

struct multiply {
  using params = multiply_params;
  struct storage {};
  static constexpr int threads = probe_threads;

  AP_DEV void operator()(const params& p) const {
    block_barrier();
    const std::int64_t begin = clock_now();
    float x[chains];
    AP_UNROLL
    for (int c = 0; c < chains; ++c) x[c] = static_cast<float>(thread_index() + c);
    AP_ROLLED
    for (int round = 0; round < p.rounds; ++round) {
      AP_UNROLL
      for (int link = 0; link < links; ++link) {
        AP_UNROLL
        for (int c = 0; c < chains; ++c) x[c] = std::fma(x[c], p.a, p.b);
      }
    }
    float sum = 0;
    AP_UNROLL
    for (int c = 0; c < chains; ++c) sum += x[c];
    p.sums[block_index().x * threads + static_cast<unsigned>(thread_index())] = sum;
    block_barrier();  // schedulers prefer the oldest warps, which end long before the others
    if (block_index().x == 0 && thread_index() == 0) *p.clocks = clock_now() - begin;
  }
};

struct read_shared {
  using params = read_params;
  struct alignas(16) packet {
    float value[4];
  };
  struct storage {
    packet packets[probe_threads];
  };
  static constexpr int threads = probe_threads;

  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    for (int i = 0; i < 4; ++i) s.packets[t].value[i] = static_cast<float>(t % 7 + i);
    block_barrier();
    const std::int64_t begin = clock_now();
    packet sum{};
    AP_ROLLED
    for (int round = 0; round < p.rounds; ++round) {
      AP_UNROLL
      for (int r = 0; r < reads; ++r) {
        const packet one = s.packets[(t + 32 * (r + round)) % threads];
        AP_UNROLL
        for (int i = 0; i < 4; ++i) sum.value[i] += one.value[i];
      }
    }
    p.sums[block_index().x * threads + static_cast<unsigned>(t)] =
        sum.value[0] + sum.value[1] + sum.value[2] + sum.value[3];
    block_barrier();
    if (block_index().x == 0 && t == 0) *p.clocks = clock_now() - begin;
  }
};

}  // namespace

kernels probe_kernels() {
  return {.chase = kernel_of<chase>("probe.chase"),
          .multiply = kernel_of<multiply>("probe.multiply"),
          .read = kernel_of<read_shared>("probe.read")};
}

}  // namespace antiphase::probe::AP_TARGET
