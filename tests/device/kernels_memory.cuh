// SPDX-License-Identifier: Apache-2.0
// Probe kernels: atomics, fences, polling across blocks and the clock.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/clock.cuh>
#include <antiphase/device/kernel.cuh>
#include "tests/device/probes.hpp"

namespace antiphase::probe {
inline namespace AP_TARGET {

// out: [0] tickets, [1] sum, [2] signed sum, [4, 5] 64-bit sum, [6] sum of floats, from 8 on a mark for each
// ticket.
struct atomics {
  using params = buffers;
  struct storage {};
  static constexpr int threads = 96;
  AP_DEV void operator()(const params& p) const {
    const unsigned t = block_index().x * threads + static_cast<unsigned>(thread_index());
    const std::uint32_t ticket = atomic_add(p.out, 1u);
    p.out[8 + ticket] = ticket + 1;
    atomic_add(p.out + 1, p.in[t]);
    atomic_add(reinterpret_cast<std::int32_t*>(p.out + 2), -static_cast<std::int32_t>(t));
    atomic_add(reinterpret_cast<std::uint64_t*>(p.out + 4), std::uint64_t{p.in[t]} << 20);
    atomic_add(reinterpret_cast<float*>(p.out + 6), static_cast<float>(t));
  }
};

// Each block adds its numbers to those of the block before. out: grid x 64 numbers, then a flag per block.
struct chain_up {
  using params = buffers;
  struct storage {};
  static constexpr int threads = 64;
  static constexpr residency blocks = residency::together;
  AP_DEV void operator()(const params& p) const {
    const unsigned block = block_index().x;
    std::uint32_t* flags = p.out + grid_extent().x * threads;
    const unsigned at = block * threads + static_cast<unsigned>(thread_index());
    if (block > 0 && thread_index() == 0) poll([&] { return load_acquire(flags + block - 1) != 0; });
    block_barrier();
    p.out[at] = p.in[at] + (block > 0 ? p.out[at - threads] : 0);
    device_fence();
    block_barrier();
    if (thread_index() == 0) store_release(flags + block, 1u);
  }
};

// Even blocks wait for the odd one after them. The number and its flag travel in one 64-bit word.
struct pairs_down {
  using params = buffers;
  struct storage {};
  static constexpr int threads = 1;
  static constexpr residency blocks = residency::together;
  AP_DEV void operator()(const params& p) const {
    const unsigned block = block_index().x;
    auto* words = reinterpret_cast<std::uint64_t*>(p.out);
    std::uint64_t value = p.in[block];
    if (block % 2 == 0) {
      std::uint64_t other = 0;
      poll([&] { return (other = load_acquire(words + block + 1)) != 0; });
      value += other >> 32;
    }
    store_release(words + block, (value & 0xFFFFFFFFu) << 32 | 1u);
  }
};

struct times {
  using params = buffers;
  struct storage {};
  static constexpr int threads = 32;
  AP_DEV void operator()(const params& p) const {
    const std::int64_t start = clock_now();
    std::uint32_t x = p.in[thread_index()];
    for (int i = 0; i < 100'000; ++i) x = x * 1664525u + 1013904223u;
    if (x == 0) p.out[32] = 1;  // keeps the loop from being optimised away
    const std::int64_t took = clock_now() - start;
    p.out[thread_index()] = took > 0 && took < 60'000'000'000;
  }
};

std::vector<kernel> memory_kernels() {
  return {kernel_of<atomics>("atomics"), kernel_of<chain_up>("chain-up"), kernel_of<pairs_down>("pairs-down"),
          kernel_of<times>("times")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::probe
