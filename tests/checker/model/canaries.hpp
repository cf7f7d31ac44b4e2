// SPDX-License-Identifier: Apache-2.0
// Interface of the canary kernels.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <cstdint>

namespace antiphase::test {

constexpr int canary_bytes = 256;
struct canary_params {
  std::uint64_t* out;    // the values read
  std::uint64_t number;  // 3, unknown to the compiler
};

// Two threads of a block. One accesses the block's memory in the canary's way, the other reads or writes the
// last byte of the same range: with a barrier in between, or without.
struct canary {
  const char* name;
  int line;  // of the access
  bool writes;
  kernel racing, ordered;
};

constexpr int atomic_results = 20;  // the second width's results start there

}  // namespace antiphase::test
