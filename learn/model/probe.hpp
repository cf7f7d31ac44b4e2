// SPDX-License-Identifier: Apache-2.0
// Kernels that measure a machine, by target.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <cstdint>

namespace antiphase::probe {

// One thread chases pointers: i = next[i], `steps` times, from where the previous run ended.
struct chase_params {
  const std::uint32_t* next;
  std::uint32_t steps;
  std::uint32_t* last;
};
// Each thread computes x = x a + b, in several independent chains.
constexpr int chains = 8, links = 16, probe_threads = 1024, reads = 16;
struct multiply_params {
  int rounds;  // of links in each chain
  float a, b;
  float* sums;           // of each thread, over its chains
  std::int64_t* clocks;  // that block 0 took
};
// Each thread repeatedly reads 16 bytes of shared memory; neighbouring threads read adjacent ones.
struct read_params {
  int rounds;  // of `reads`
  float* sums;
  std::int64_t* clocks;
};

struct kernels {
  kernel chase, multiply, read;
};
namespace cpu {
kernels probe_kernels();
}
namespace cuda {
kernels probe_kernels();
}

}  // namespace antiphase::probe
