// SPDX-License-Identifier: Apache-2.0
// A tile's work and the rows of its computing warps, about which tf32 kernels note what the certificate needs
// (sm_90a).
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/warp.cuh>
#include <cstdint>
#include "src/gemm/tf32/tf32_lines.cuh"
#include "src/gemm/tf32/tf32_operand.cuh"
#include "src/gemm/tf32/tf32_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// A tile is computed by eight warps, 16 x 64 outputs each.
struct tf32_rows {
  static constexpr int computing_warps = 8;
  using params = tf32_problem;
  static constexpr int registers = 32;  // of a thread's sums
  using sums = float[registers];

  struct work {
    std::int64_t batch, top, left;  // first lines of the long and the short operand
    std::int64_t k, k_end;
    AP_DEV int chunks() const { return static_cast<int>(ceil_div<std::int64_t>(k_end - k, tf32_chunk)); }
    AP_DEV int steps() const { return chunks() * (tf32_chunk / tf32_stage_k); }
  };
  AP_DEV static const float* first_of(const line_operand& o, const work& w) { return o.of_member(w.batch); }

  // A computing thread's place: its warp's first row of the tile, its number among the computing threads.
  struct seat {
    int top, g, q, member;
    AP_DEV static seat mine() {
      const int warp = warp_index() - computing_warps / 2, lane = lane_index();
      return {16 * warp, lane / 4, lane % 4, warp * warp_size + lane};
    }
  };
  // Where a sparse line's nonzeros are; with one, both are the same.
  struct sparse_places {
    std::int64_t first, last;
    bool two;
  };
  // A lane's two rows.
  struct lane_rows {
    std::uint32_t least[2];
    bool sparse[2];
    sparse_places places[2];  // of sparse ones
  };
  struct row_pair {
    // What a lane has seen of a row. Its nonzeros are added up: the number of them, and their k.
    struct row_watch {
      static constexpr int bits_of_sum = 20;
      static constexpr std::uint32_t one = 1u << bits_of_sum, many = line_nonzeros::many * one;
      std::uint32_t least = no_least, number_and_sum, last = 0;  // last: the last nonzero's k
      AP_DEV explicit row_watch(bool exists) : number_and_sum(exists ? 0 : many) {}
      AP_DEV line_watch all() const {
        const std::uint32_t number = number_and_sum / one, sum = number_and_sum % one;
        return {least, number == 0  ? line_nonzeros()
                       : number < 3 ? line_nonzeros::of(number, number == 1 ? last : sum - last, last)
                                    : line_nonzeros::more_than_two()};
      }
    };
    row_watch row[2];
    bool counts;
    AP_DEV row_pair(const params& p, const work& w, const seat& t)
        : row{row_watch(w.top + t.top + t.g < p.tiled.of_long.lines),
              row_watch(w.top + t.top + t.g + 8 < p.tiled.of_long.lines)},
          counts(true) {}
    AP_DEV void see(const tf32_values& x) {
      AP_UNROLL
      for (int i = 0; i < 8; ++i) {
        std::uint32_t& least = row[i % 2].least;
        const std::uint32_t now = least_of(x[i]);
        least = now < least ? now : least;
      }
    }
    // Counts nonzeros until rows have enough of them, mostly after one call. k: of the lane's first element.
    AP_DEV void count(const tf32_values& x, int k) {
      if (!counts) return;
      bool zero = false;
      AP_UNROLL
      for (int i = 0; i < 8; ++i) zero = zero || x[i] == 0;
      counts = ballot(zero) != 0;
      if (!counts) {  // the usual case: four lanes have four elements each of a row
        row[0].number_and_sum = row[1].number_and_sum = row_watch::many;
        return;
      }
      add(x, k);
      limit();
    }
    // The same in fewer instructions where there are zeros: until limit(), which has to follow after a chunk
    // at most, lest sums of k grow into numbers.
    AP_DEV void add(const tf32_values& x, int k) {
      AP_UNROLL
      for (int i = 0; i < 8; ++i) {
        row_watch& of = row[i % 2];
        const auto at = static_cast<std::uint32_t>(k) + i / 4 * 8u + i / 2 % 2 * 4u;
        if (x[i] != 0) of.number_and_sum += row_watch::one + at, of.last = at;
      }
      counts =
          ballot(row[0].number_and_sum < row_watch::many || row[1].number_and_sum < row_watch::many) != 0;
    }
    AP_DEV void limit() {
      AP_UNROLL
      for (row_watch& of : row)
        of.number_and_sum = of.number_and_sum < row_watch::many ? of.number_and_sum : row_watch::many;
    }
    // The smaller least element of the lane's rows.
    AP_DEV std::uint32_t least() const { return row[0].least < row[1].least ? row[0].least : row[1].least; }
    // Whether the warp's rows have neither small elements nor few nonzeros.
    AP_DEV bool ordinary() const {
      if (ballot(least() < least_whole) != 0) return false;
      if (!counts) return true;
      const line_nonzeros one = of_four_lanes(row[0]), other = of_four_lanes(row[1]);
      return ballot(tf32_lines::is_sparse(one) || tf32_lines::is_sparse(other)) == 0;
    }
    // With small K no lane alone sees enough nonzeros, so the four lanes of a row add theirs.
    AP_DEV static line_nonzeros of_four_lanes(const row_watch& mine) {
      line_nonzeros all = mine.all().nonzeros;
      all.add(shuffle(all, lane_index() ^ 1));
      all.add(shuffle(all, lane_index() ^ 2));
      return all;
    }
    // What compute_again() asks of the lane's rows. k: where the block's share begins.
    AP_DEV lane_rows of_lane(std::int64_t k) const {
      lane_rows all;
      AP_UNROLL
      for (int r = 0; r < 2; ++r) {
        const line_nonzeros n = of_four_lanes(row[r]);
        all.places[r] = {k + n.first(), k + n.last(), n.count() == 2};
        all.sparse[r] = tf32_lines::is_sparse(n);
        std::uint32_t& least = all.least[r] = row[r].least;
        AP_UNROLL
        for (int by = 1; by <= 2; ++by) {
          const std::uint32_t other = shuffle(least, lane_index() ^ by);
          least = other < least ? other : least;
        }
      }
      return all;
    }
    // Notes the rows, from the four lanes that share them.
    AP_DEV void note(tf32_lines& lines, const seat& t) {
      AP_UNROLL
      for (int r = 0; r < 2; ++r) {
        line_watch all = row[r].all();
        AP_UNROLL
        for (int by = 2; by > 0; by /= 2) all.add(shuffle_down(all, by));
        if (t.q == 0) all.note(lines, t.top + t.g + 8 * r);
      }
      warp_sync();
    }
  };
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
