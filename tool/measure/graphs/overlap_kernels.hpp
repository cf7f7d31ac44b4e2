// SPDX-License-Identifier: Apache-2.0
// A pipelined kernel with knobs, for `bench overlap`: how much a step computes, how many stages there are.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <cstdint>
#include <vector>

namespace antiphase::tool {

inline constexpr int overlap_stages[] = {1, 2, 3, 4, 8};
constexpr int overlap_threads = 128, overlap_floats = 8;        // that a thread loads in a step
constexpr int overlap_tile = overlap_threads * overlap_floats;  // floats

struct overlap_params {
  const float* source;  // distinct x blocks tiles; block b takes tile b of each step
  float* sums;          // of each thread: of what it has loaded, as `rounds` change it
  std::int32_t steps;
  std::int32_t distinct;  // after so many steps the tiles repeat
  std::int32_t rounds;    // multiply-adds of each loaded float
  std::int32_t loads;     // 0: nothing is loaded, each step computes from what is there
  float a, b;             // x becomes a x + b
};
struct overlap_kernel {
  int stages;
  kernel code;
};
namespace cpu {
std::vector<overlap_kernel> overlap_kernels();
}
namespace cuda {
std::vector<overlap_kernel> overlap_kernels();
}

}  // namespace antiphase::tool
