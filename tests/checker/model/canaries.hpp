// SPDX-License-Identifier: Apache-2.0
// What the canary kernels offer to their tests.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <cstdint>

namespace antiphase::test {

constexpr int canary_bytes = 256;
struct canary_params {
  std::uint64_t* out;    // what was read
  std::uint64_t number;  // 3, which the compiler does not know
};

// Two threads of a block. One touches the block's memory in the canary's way, the other reads or writes the
// last byte of it: with a barrier between the two, or without.
struct canary {
  const char* name;
  int line;  // of the access
  bool writes;
  kernel racing, ordered;
};

constexpr int atomic_results = 20;  // the second width's begin there

}  // namespace antiphase::test
