// SPDX-License-Identifier: Apache-2.0
// GEMM straight from global memory: one output per thread, nothing shared.
#pragma once
#include <antiphase/device/kernel.cuh>
#include <antiphase/gemm/problem.hpp>
#include "library/gemm/fp32/epilogue.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan: a warp computes 32 neighbouring columns of one row, a block a square of side x side. Every operand is
// read from global memory side times.
struct naive {
  static constexpr int side = 32;
  static constexpr int threads = side * side;
  using params = problem;
  struct storage {};

  AP_DEV void operator()(const params& p) const {
    const std::int64_t tiles_across = ceil_div<std::int64_t>(p.n(), side);
    const std::int64_t row = block_index().x / tiles_across * side + thread_index() / side;
    const std::int64_t column = block_index().x % tiles_across * side + thread_index() % side;
    if (row >= p.m() || column >= p.n()) return;
    float sum = 0;
    for (std::int64_t k = 0; k < p.k(); ++k) sum = multiply_add(p.a(row, k), p.b(k, column), sum);
    float* const c = &p.c(row, column);
    *c = blend(p, sum, c);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
