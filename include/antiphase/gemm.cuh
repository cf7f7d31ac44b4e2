// SPDX-License-Identifier: Apache-2.0
// Matrix products with a function of your own applied to their results: for nvcc, and for g++, which compiles
// it for the CPU executor.
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

// A function of a result's value, row and column, and perhaps the member of the batch: a type whose call
// gives a float. It may hold values, up to 2 KiB of them: factors, pointers to memory of the device. For nvcc
// its call is a __device__ function (AP_FN compiles for both).
template <class F>
concept finishes_member =
    std::is_invocable_r_v<float, const F&, float, std::int64_t, std::int64_t, std::int64_t>;
template <class F>
concept finishes_results = std::is_trivially_copyable_v<F> && sizeof(F) <= 2048 &&
                           (finishes_member<F> ||
                            std::is_invocable_r_v<float, const F&, float, std::int64_t, std::int64_t>);

// As gemm() of gemm.hpp, and then C(i, j) = finish(v, i, j), or finish(v, i, j, n) in member n, where v is
// what gemm() gives: with alpha, beta and options.epilogue, rounded to FP32. It is called once for each
// element of C, in any order, and may read what it has pointers to, but no other element of C.
//
// All policies serve, the fastest ones too, since the function runs in a launch behind the product: C is read
// and written once more. That is what it costs, at the speed of memory; the bits are those that a function
// within the product would give.
//
// Throws what gemm() throws, and not_supported where `where` is not what the call was compiled for (nvcc: a
// GPU, g++: the CPU executor).
template <finishes_results F> launch_counts gemm(const context& where, const gemm_problem& p, const F& finish,
                                                 const gemm_options& options = {});

namespace gemm_detail {

// A pass over C. A block takes tiles of 8 x 128 elements, along the index whose elements are closer together;
// a warp a row of them.
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
    bool turned;                                   // rows are columns of C
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
  // All is read before anything is written, so that the reads overlap.
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
  constexpr std::int64_t most_blocks = 1 << 20;  // of which each takes several tiles then
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
  return where.runs_on().launch(kernel_of<pass>("gemm.own.finish"), {blocks, 1, 1}, &arguments, options.on);
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
