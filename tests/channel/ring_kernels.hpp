// SPDX-License-Identifier: Apache-2.0
// Parameters and expected results of the ring kernels, for kernels and host.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/executor/kernel.hpp>
#include <cstdint>
#include <vector>

namespace antiphase::test {

// A block of ring_threads threads passes units of ring_threads words through shared memory. Each thread loads
// one word of each unit and uses one that another thread loaded.
constexpr int ring_threads = 64;
struct ring_params {
  const std::uint32_t* in;
  std::uint32_t* out;  // a number per thread
};
// Several runs on one ring, from none to many steps; unit numbers continue from run to run.
constexpr int runs = 6;
AP_FN constexpr int run_length(int run) {
  constexpr int lengths[runs] = {5, 0, 1, 17, 2, 9};
  return lengths[run];
}
constexpr int all_units = 34;

AP_FN constexpr int word_used(int thread, int unit) { return (thread * 5 + unit * 3 + 32) % ring_threads; }
AP_FN constexpr std::uint32_t folded(std::uint32_t before, std::uint32_t word) {
  return before * 31 + word + 1;
}

inline std::uint32_t ring_input(int i) { return static_cast<std::uint32_t>(i) * 40503u + 77u; }
inline std::uint32_t expected_of_ring(int thread, int units) {
  std::uint32_t sum = 0;
  for (int unit = 0; unit < units; ++unit)
    sum = folded(sum, ring_input(unit * ring_threads + word_used(thread, unit)));
  return sum;
}

struct ring_case {
  int stages;
  antiphase::kernel kernel;
};

}  // namespace antiphase::test
