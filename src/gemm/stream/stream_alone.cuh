// SPDX-License-Identifier: Apache-2.0
// Streaming products of few k whose warps have a tile each, from memory to registers and back, without a barrier (sm_80).
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/device/global.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/warp.cuh>
#include "src/gemm/sparse_lines.cuh"
#include "src/gemm/stream/stream_lanes.cuh"
#include "src/gemm/stream/stream_reader.cuh"
#include "src/gemm/stream/stream_store.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
//   by 16 k: load, convert, multiply (FP64 Tensor Cores) | store
// With few k there is nothing to divide: a warp has its tile and all k, and other warps work while it waits. What a product then takes is
// what its warps issue, so there are no slots, no barriers and no choices for an element. The four warps of a block lie two by two, so that
// each line is read twice, once from the multiprocessor's own cache. An output has the same sum in the same order as of any other stream
// that does not divide K.
template <stream_policy P> struct stream_alone {
  static_assert(valid(P) && P.by == stream_loader::alone && P.stages == 1);
  using sums = stream_sums<P>;
  static constexpr int warps_of_block = P.warps.m * P.warps.n, threads = warps_of_block * warp_size, blocks_wanted = P.blocks;
  static constexpr bool overlaps_previous = true;
  using params = stream_problem;

  // storage ---------------------------------------------------------------------------------------------------------------------
  static constexpr int rows = sums::rows, columns = sums::columns, lines = rows + columns;
  struct storage {
    staged_rows<P> c[warps_of_block];
    line_register<lines> sparse[warps_of_block];  // where any are
  };

 private:
  // Of a warp: first lines, and the member.
  struct tile_place {
    std::int64_t top, left;
    std::uint32_t member;
  };

  // lines of few nonzeros ---------------------------------------------------------------------------------------------------------
  // Nonzeros of the lane's lines, a byte for each: K is at most 128.
  template <int Lines> AP_DEV static std::uint32_t counted(const lane_elements<Lines>& of) {
    std::uint32_t all = 0;
    AP_UNROLL
    for (int l = 0; l < of.count; ++l) all += static_cast<std::uint32_t>(nonzeros_of(of.x[l])) << 8 * l;
    return all;
  }
  // What lines begin with: those that do not exist have enough.
  template <int Lines> AP_DEV static std::uint32_t enough_for(std::uint32_t absent) {
    std::uint32_t all = 0;
    AP_UNROLL
    for (int l = 0; l < Lines / 8; ++l) all += (absent >> l & 1u) * dense_line << 8 * l;
    return all;
  }
  // Whether any of the lane's lines has fewer than a dense one.
  template <int Lines> AP_DEV static bool any_few(std::uint32_t counts) {
    constexpr std::uint32_t tops = 0x80808080u >> (32 - Lines), up_to_tops = (0x80u - dense_line) * 0x01010101u;
    return (~(counts + up_to_tops) & tops) != 0;
  }
  // Of an operand's lines from `top` on, to their place in what is known of the tile: whether any are sparse.
  template <int Lines> AP_DEV static bool find_sparse(const line_operand& o, std::uint32_t member, std::int64_t top, int k,
                                                      std::uint32_t counts_of_lane, line_register<lines>& known, int at) {
    bool any = false;
    const float* const data = o.of_member(member);
    AP_ROLLED
    for (int n = 0; n < Lines; ++n) {
      const int nonzeros = static_cast<int>(shuffle(counts_of_lane, 4 * (n % 16 / 2)) >> 8 * (n / 16 * 2 + n % 2) & 0xFFu);
      const bool sparse = is_sparse_count(nonzeros) && top + n < o.lines;
      if (sparse) find_nonzeros(data + (top + n) * o.line_stride, o.k_stride, k, known.found[at + n]);
      if (lane_index() == 0) known.nonzeros[at + n] = nonzeros;
      any = any || sparse;
    }
    return any;
  }
  AP_DEV static bool find_sparse(const params& p, const tile_place& at, line_register<lines>& known, std::uint32_t counts_of_long,
                                 std::uint32_t counts_of_short) {
    const int k = static_cast<int>(p.k);
    const bool any_long = find_sparse<rows>(p.of_long, at.member, at.top, k, counts_of_long, known, 0);
    const bool any_short = find_sparse<columns>(p.of_short, at.member, at.left, k, counts_of_short, known, rows);
    warp_sync();
    return any_long || any_short;
  }

  // By bit, the lane's outputs of its i-th sixteen lines that are of a sparse line. What an infinity or a NaN has made of an output stays.
  AP_DEV static std::uint32_t sparse_outputs(const sums& sum, const line_register<lines>& known, int i, int g, int q) {
    std::uint32_t some = 0;
    AP_UNROLL
    for (int n = 0; n < 2 * sums::outputs_of_row; ++n) {
      const cell_place at = sums::output(n, g, q);
      const double v = sum.at(i * sums::across + n % sums::outputs_of_row / sums::wide).value[n / sums::outputs_of_row][n % sums::wide];
      const bool sparse = is_sparse_count(known.nonzeros[16 * i + at.row]) || is_sparse_count(known.nonzeros[rows + at.column]);
      some |= static_cast<std::uint32_t>(sparse && v - v == 0) << n;
    }
    return some;
  }
  // Computes them.
  AP_DEV static void mend(const params& p, const tile_place& at, std::uint32_t some, int i, const line_register<lines>& known, int g, int q,
                          staged_rows<P>& out) {
    AP_ROLLED
    for (int n = 0; n < 2 * sums::outputs_of_row; ++n) {
      const cell_place here = sums::output(n, g, q);
      const int row = 16 * i + here.row;
      if ((some >> n & 1u) == 0 || at.top + row >= p.of_long.lines || at.left + here.column >= p.of_short.lines) continue;
      const line_nonzeros& found = known.found[is_sparse_count(known.nonzeros[row]) ? row : rows + here.column];
      out.at[here.row][here.column] = static_cast<float>(exact_output(p.of_long, p.of_long.of_member(at.member), at.top + row, p.of_short,
                                                                      p.of_short.of_member(at.member), at.left + here.column, found));
    }
  }

  // kernel ----------------------------------------------------------------------------------------------------------------------
  struct product {
    sums sum = {};
    std::uint32_t counts_of_long, counts_of_short;
    bool dense;  // all lines, as counted so far
  };
  // For each way that operands lie there is code that knows it.
  template <bool LongAlongK, bool ShortAlongK> AP_DEV static product multiply(const params& p, const tile_place& at, int g, int q) {
    const int k = static_cast<int>(p.k);
    lane_rows<rows, LongAlongK> of_long;
    lane_rows<columns, ShortAlongK> of_short;
    begin_and_wait(
        p, at.member, [&](const float* data) { of_long.begin(p.of_long, data, at.top, g, q); },
        [&](const float* data) { of_short.begin(p.of_short, data, at.left, g, q); },
        [&] { compute_first(of_long.digest() ^ of_short.digest()); });

    product out{{}, enough_for<rows>(of_long.absent()), enough_for<columns>(of_short.absent()), k <= 2};
    AP_ROLLED
    for (int k_left = k; k_left > 0; k_left -= direct_step) {
      lane_elements<rows> a;
      lane_elements<columns> b;
      of_long.read(a, k_left, q), of_short.read(b, k_left, q);
      of_long.move(p.of_long), of_short.move(p.of_short);
      if (k_left == k && k > 2)
        out.dense = ballot(!plenty(a.x, k - 2 * q, of_long.absent()) || !plenty(b.x, k - 2 * q, of_short.absent())) == 0;
      if (!out.dense) {
        out.counts_of_long += counted(a), out.counts_of_short += counted(b);
        out.dense = ballot(any_few<rows>(out.counts_of_long) || any_few<columns>(out.counts_of_short)) == 0;
      }
      AP_UNROLL
      for (int i = 0; i < sums::down; ++i) multiply_half(a.x[2 * i], a.x[2 * i + 1], b.x, out.sum.value[i], k_left);
    }
    return out;
  }

 public:
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int warp = warp_index(), lane = lane_index(), g = lane / 4, q = lane % 4;
    const tile_number tile = p.tile(block_index().x);
    const std::uint32_t member = tile.member;
    const std::int64_t top = std::int64_t{tile.along_long} * P.tile.m + warp % P.warps.m * rows,
                       left = std::int64_t{tile.along_short} * P.tile.n + warp / P.warps.m * columns;
    if (top >= p.of_long.lines || left >= p.of_short.lines) {
      wait_for_previous_grid();
      return;
    }
    const tile_place at{top, left, member};
    const auto [sum, counts_of_long, counts_of_short, dense] =
        p.of_long.along_k ? (p.of_short.along_k ? multiply<true, true>(p, at, g, q) : multiply<true, false>(p, at, g, q))
                          : (p.of_short.along_k ? multiply<false, true>(p, at, g, q) : multiply<false, false>(p, at, g, q));

    const int long_left = as_many(p.of_long.lines - top), short_left = as_many(p.of_short.lines - left);
    float* const of_member = in_global_memory(p.c_member != nullptr ? p.c_member[member] : p.c + member * p.batch_stride);
    float* const c = of_member + top * p.long_stride + left * p.short_stride;
    const bool special = !dense && find_sparse(p, at, s.sparse[warp], counts_of_long, counts_of_short);
    const bool packs = !special && stores_packs<P>(p, of_member, short_left);
    AP_UNROLL
    for (int i = 0; i < sums::down; ++i) {
      float* const sixteen = c + 16 * i * p.long_stride;
      if (packs) {
        store_lane_packs<P>(p, sum, i, sixteen, long_left - 16 * i, short_left, g, q);
        continue;
      }
      staged_rows<P>& out = s.c[warp];
      out.put(sum, i, g, q);
      if (special) mend(p, at, sparse_outputs(sum, s.sparse[warp], i, g, q), i, s.sparse[warp], g, q, out);
      warp_sync();
      out.store(p, sixteen, top + 16 * i, left, long_left - 16 * i, short_left, member);
      warp_sync();
    }
  }
};

template <stream_policy P> stream_instance stream_alone_of(const char* name) { return {P, kernel_of<stream_alone<P>>(name)}; }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
