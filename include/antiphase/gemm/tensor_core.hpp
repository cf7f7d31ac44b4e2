// SPDX-License-Identifier: Apache-2.0
// Matrix products with f16 operands on Tensor Cores: the problem, and the policies that select a kernel.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/core/tensor_map.hpp>
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

// The same with TMA loads: a block of two computing warpgroups, tiles of 128 x columns outputs in steps of 64
// k.
struct warpgroup_policy {
  int columns = 256;  // a warpgroup computes 64 x columns: columns / 2 sums per thread
  int stages = 4;

  constexpr bool operator==(const warpgroup_policy&) const = default;
  constexpr extent2 tile() const { return {128, columns}; }
};
constexpr int warpgroup_depth = 64;  // k of a stage: a row of a swizzle
constexpr bool valid(const warpgroup_policy& p) {
  return (p.columns == 64 || p.columns == 128 || p.columns == 256) && p.stages >= 2;
}

// The problem with tensor maps: A in boxes of 64 k x 128 rows, B in boxes of 64 columns x 64 k.
struct tensor_core_tensors {
  tensor_map a, b;
  tensor_core_problem problem;
};

}  // namespace antiphase::gemms
