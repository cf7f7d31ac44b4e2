// SPDX-License-Identifier: Apache-2.0
// Basics of mutants that map numbers to numbers.
#pragma once
#include <antiphase/device/kernel.cuh>

#include "tests/checker/mutants/mutant.hpp"

namespace antiphase::mutants {
inline namespace AP_TARGET {

// A kernel on numbers with blocks of `threads` threads. An index past the end reads as zero.
struct on_numbers {
  using params = numbers;
  static constexpr int threads = mutants::threads;
  struct storage {};
  AP_DEV static int place() { return static_cast<int>(block_index().x) * threads + thread_index(); }
  AP_DEV static std::uint32_t load(const params& p, int at) { return at >= 0 && at < p.size ? p.in[at] : 0; }
  AP_DEV static void store(const params& p, int at, std::uint32_t value) {
    if (at < p.size) p.out[at] = value;
  }
};
constexpr std::uint32_t input_or_zero(int i, int size) { return i >= 0 && i < size ? input(i) : 0; }
AP_FN constexpr std::uint32_t mixed(std::uint32_t mine, std::uint32_t other) { return mine * 31 + other + 1; }

}  // namespace AP_TARGET
}  // namespace antiphase::mutants
