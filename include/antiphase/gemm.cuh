// SPDX-License-Identifier: Apache-2.0
// Matrix products with an epilogue function of your own: for nvcc, and for g++, which compiles it for the CPU
// executor.
#pragma once
#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/warp.cuh>
#include <antiphase/gemm.hpp>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

namespace antiphase {
inline namespace AP_TARGET {

// An epilogue function: a callable (value, row, column) or (value, row, column, batch member) that returns a
// float. It may hold up to 2 KiB of values, such as factors and device pointers, and is trivially copyable.
// For nvcc its call operator is a __device__ function; AP_FN compiles for both compilers.
template <class F>
concept finishes_member =
    std::is_invocable_r_v<float, const F&, float, std::int64_t, std::int64_t, std::int64_t>;
template <class F>
concept finishes_results = std::is_trivially_copyable_v<F> && sizeof(F) <= 2048 &&
                           (finishes_member<F> ||
                            std::is_invocable_r_v<float, const F&, float, std::int64_t, std::int64_t>);

// gemm() of gemm.hpp, followed by C(i, j) = finish(v, i, j), or finish(v, i, j, n) in batch member n. v is
// the result of gemm(), with alpha, beta and options.epilogue, rounded to FP32.
//
//   struct causal {
//     float factor;
//     AP_FN float operator()(float value, std::int64_t row, std::int64_t column) const {
//       return column <= row ? factor * value : -INFINITY;
//     }
//   };
//   gemm(where, {.a = q, .b = k, .c = scores}, causal{0.125f}, {.stream = stream});
//
// The function is called once for each element of C, in any order. It may read through its own pointers, but
// no other element of C.
//
// Works with all policies: the function runs in a second launch, which reads and writes C once more at the
// speed of memory. That is the cost; the bits are those that a function within the product would give.
//
// Throws as gemm(), and not_supported where `where` is not what the call was compiled for (nvcc: a GPU, g++:
// the CPU executor).
template <finishes_results F> launch_counts gemm(const context& where, const gemm_problem& p, const F& finish,
                                                 const gemm_options& options = {});

namespace gemm_detail {

// A pass over C in tiles of 8 x 128 elements, their long side along the index with the smaller stride. Each
// warp takes one row of a tile.
template <class F> struct finish_by {
  static constexpr int rows_of_tile = 8, columns_of_tile = 128, of_lane = columns_of_tile / warp_size;
  static constexpr int threads = rows_of_tile * warp_size;
  struct params {
    F finish;
    float* c;
    float* const* c_of;  // of a batch by pointers; null: members lie member_stride apart
    std::int64_t row_stride, column_stride, member_stride;
    std::int64_t rows, columns;
    std::int64_t tiles_down, tiles_across, tiles;  // of a member; of all
    bool turned;                                   // transposed: rows here are columns of C
  };
  struct storage {};

  AP_DEV void operator()(const params& p) const {
    for (std::int64_t tile = block_index().x; tile < p.tiles; tile += grid_extent().x) {
      const std::int64_t row_of_tiles = tile / p.tiles_across, member = row_of_tiles / p.tiles_down;
      const std::int64_t i = row_of_tiles % p.tiles_down * rows_of_tile + warp_index();
      if (i < p.rows) finish_row(p, member, i, tile % p.tiles_across * columns_of_tile + lane_index());
    }
  }

 private:
  // All loads come before the first store, so that they overlap.
  AP_DEV static void finish_row(const params& p, std::int64_t member, std::int64_t i, std::int64_t first) {
    float* const row =
        (p.c_of != nullptr ? p.c_of[member] : p.c + member * p.member_stride) + i * p.row_stride;
    float value[of_lane];
    AP_UNROLL
    for (int n = 0; n < of_lane; ++n)
      if (const std::int64_t j = first + n * warp_size; j < p.columns) value[n] = row[j * p.column_stride];
    AP_UNROLL
    for (int n = 0; n < of_lane; ++n)
      if (const std::int64_t j = first + n * warp_size; j < p.columns)
        row[j * p.column_stride] = p.turned ? finished(p.finish, value[n], j, i, member)
                                            : finished(p.finish, value[n], i, j, member);
  }
  AP_DEV static float finished(const F& finish, float value, std::int64_t i, std::int64_t j,
                               std::int64_t member) {
    if constexpr (finishes_member<F>)
      return finish(value, i, j, member);
    else
      return finish(value, i, j);
  }
};

template <class F> launch_counts finish_all(const context& where, const gemm_problem& p, const F& finish,
                                            const gemm_options& options) {
  using pass = finish_by<F>;
  constexpr std::int64_t most_blocks = 1 << 20;  // beyond, a block takes several tiles
  const auto length = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  const bool turned = length(p.c.row_stride) < length(p.c.column_stride);
  const matrix_view<float> c = turned ? transposed(p.c) : p.c;
  if (c.rows == 0 || c.columns == 0 || options.batch.count == 0) return {};
  const std::int64_t down = ceil_div<std::int64_t>(c.rows, pass::rows_of_tile),
                     across = ceil_div<std::int64_t>(c.columns, pass::columns_of_tile);
  const typename pass::params arguments{.finish = finish,
                                        .c = c.data,
                                        .c_of = options.batch.c,
                                        .row_stride = c.row_stride,
                                        .column_stride = c.column_stride,
                                        .member_stride = options.batch.c_stride,
                                        .rows = c.rows,
                                        .columns = c.columns,
                                        .tiles_down = down,
                                        .tiles_across = across,
                                        .tiles = down * across * options.batch.count,
                                        .turned = turned};
  const auto blocks = static_cast<unsigned>(std::min(arguments.tiles, most_blocks));
  return where.runs_on().launch(kernel_of<pass>("gemm.own.finish"), {blocks, 1, 1}, &arguments,
                                options.stream);
}

}  // namespace gemm_detail

template <finishes_results F> launch_counts gemm(const context& where, const gemm_problem& p, const F& finish,
                                                 const gemm_options& options) {
  if ((where.kind() == target::cuda) != (AP_ON_GPU != 0))
    throw not_supported("this product was compiled for " +
                        std::string(AP_ON_GPU ? "GPUs, by nvcc" : "the CPU executor, by a host compiler") +
                        ": it cannot run on " + where.limits().name);
  launch_counts counts = gemm(where, p, options);
  return counts += gemm_detail::finish_all(where, p, finish, options);
}

}  // namespace AP_TARGET
}  // namespace antiphase
