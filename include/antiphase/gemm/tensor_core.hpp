// SPDX-License-Identifier: Apache-2.0
// Matrix products with f16 operands on Tensor Cores: the problem, and the policies that select a kernel.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/core/view.hpp>
#include <antiphase/gemm/policy.hpp>

namespace antiphase::gemms {

// C = A * B with A of M x K and B of K x N in f16, C in f32, all row-major (column_stride 1). Rows of A and B
// begin at multiples of 16 bytes. Extents are arbitrary.
struct tensor_core_problem {
  matrix_view<const f16> a, b;
  matrix_view<float> c;

  AP_FN constexpr std::int64_t m() const { return c.rows; }
  AP_FN constexpr std::int64_t n() const { return c.columns; }
  AP_FN constexpr std::int64_t k() const { return a.columns; }
};

// A block computes tile.m x tile.n outputs in steps of tile_k, a warp warp.m x warp.n of them.
struct tensor_policy {
  extent2 tile = {128, 128};
  int tile_k = 32;  // 32 or 64: a row of A's tile is a row of a swizzle
  extent2 warp = {64, 32};
  int stages = 3;
  shared_kind shared = shared_kind::dynamic;
  int blocks = 2;  // resident per multiprocessor, that the compiler limits registers for

  constexpr bool operator==(const tensor_policy&) const = default;
  constexpr int threads() const { return tile.m / warp.m * (tile.n / warp.n) * 32; }
};
constexpr bool valid(const tensor_policy& p) {
  const bool whole = p.tile.m % p.warp.m == 0 && p.tile.n % p.warp.n == 0 && p.warp.m % 16 == 0 &&
                     p.warp.n % 16 == 0 && p.tile.n % 64 == 0;
  const bool rows = p.tile_k == 32 || p.tile_k == 64;
  if (!whole || !rows || p.stages < 1 || p.threads() > 1024) return false;
  const int pieces = 8 * p.threads();  // elements that all threads copy in one round
  return p.tile.m * p.tile_k % pieces == 0 && p.tile.n * p.tile_k % pieces == 0;
}

}  // namespace antiphase::gemms
