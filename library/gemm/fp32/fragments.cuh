// SPDX-License-Identifier: Apache-2.0
// What one thread multiplies: its outputs in registers and the pieces of the tiles it needs for them.
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/index.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/vector.cuh>

#include "library/gemm/fp32/operand_tile.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Along one side of a region, `Across` threads share Count * Across outputs. A thread has either one block of
// them (Packet = 0) or packets of `Packet` neighbours that repeat every Across * Packet outputs.
template <int Count, int Across, int Packet> struct thread_side {
  static constexpr int count = Count;
  AP_DEV static constexpr int first(int member) { return member * (Packet > 0 ? Packet : Count); }
  AP_DEV static constexpr int offset(int i) {
    return Packet > 0 ? i / Packet * (Across * Packet) + i % Packet : i;
  }
};
// Where a thread stands among the threads of its region. Over a whole tile: row by row. In a warp: lane bit 0
// counts columns, bit 1 rows, the others whatever is left. The hardware serves the two quarters of a
// half-warp together in a 16-byte read from shared memory if every lane reads the same address as the lane
// whose number differs in bit 0 (so for A), or in bit 1 (so for B), and one after the other if not.
template <policy P> AP_DEV constexpr extent2 place_in_region(int member) {
  constexpr extent2 across = threads_of(P);
  if (P.warp == extent2{0, 0} || across.m < 2 || across.n < 2) return {member / across.n, member % across.n};
  const int rest = member >> 2;
  constexpr int rest_across = across.n / 2;
  return {(rest / rest_across) << 1 | (member >> 1 & 1), (rest % rest_across) << 1 | (member & 1)};
}

// Where a thread's outputs lie in the tile.
template <policy P> struct thread_outputs {
  static constexpr extent2 region = region_of(P), across = threads_of(P);
  static constexpr int packet = P.read_width == 1 ? 0 : P.read_width;
  using rows = thread_side<P.thread.m, across.m, packet>;
  using columns = thread_side<P.thread.n, across.n, packet>;
  int row, column;  // of the first one

  AP_DEV thread_outputs() {
    constexpr int members = across.m * across.n, groups_n = P.tile.n / region.n;
    const int group = thread_index() % P.slice_threads() / members;
    const extent2 place = place_in_region<P>(thread_index() % members);
    row = group / groups_n * region.m + rows::first(place.m);
    column = group % groups_n * region.n + columns::first(place.n);
  }
};

// The values of one operand that a thread multiplies next, of one k or, with two copies, of two: one is read
// while the other is used.
template <policy P, class Tile, class Side> struct fragment {
  static constexpr int width = P.read_width;
  float value[P.fragments][Side::count];

  AP_DEV void read(Tile& tile, int first, int first_k, int k) {
    AP_UNROLL
    for (int i = 0; i < Side::count; i += width) {
      const auto p = load_pack<width>(tile.at(first + Side::offset(i), first_k + k));
      AP_UNROLL
      for (int j = 0; j < width; ++j) value[k % P.fragments][i + j] = p.element[j];
    }
  }
};

// The sums of a thread. With two fragments the multiplication lags one k after the reads, also across the
// edge of a tile: the last values of a tile are used in the first step of the next, and finish() uses the
// very last.
template <policy P> struct accumulator {
  using rows = typename thread_outputs<P>::rows;
  using columns = typename thread_outputs<P>::columns;
  static constexpr bool lag = P.fragments == 2;

  thread_outputs<P> outputs;
  float sum[P.thread.m][P.thread.n];
  fragment<P, tile_a<P>, rows> a;
  fragment<P, tile_b<P>, columns> b;

  AP_DEV accumulator() : sum{}, a{}, b{} {}

  AP_DEV void multiply(tile_a<P>& ta, tile_b<P>& tb) {
    constexpr int unrolled = P.unrolled(), slice_k = P.slice_k();
    const int slice = P.slices > 1 ? thread_index() / P.slice_threads() * slice_k : 0;
    AP_ROLLED
    for (int first = slice; first < slice + slice_k; first += unrolled) {
      AP_UNROLL
      for (int k = 0; k < unrolled; ++k) {
        a.read(ta, outputs.row, first, k);
        b.read(tb, outputs.column, first, k);
        multiply(lag ? k + 1 : k);  // lagging, before the very first step: zeros
      }
    }
  }
  AP_DEV void finish() {
    if constexpr (lag) multiply(P.unrolled() - 1);
  }

  // The slices' sums added up in the order of the slices, for those threads that get true. `partial` may lie
  // where the tiles were.
  AP_DEV bool gather(float* partial) {
    const int slice = thread_index() / P.slice_threads(), member = thread_index() % P.slice_threads();
    const auto at = [&](int from, int i, int j) -> float& {
      return partial[((from - 1) * P.thread.m * P.thread.n + i * P.thread.n + j) * P.slice_threads() +
                     member];
    };
    block_barrier();
    if (slice > 0) {
      AP_UNROLL
      for (int i = 0; i < P.thread.m; ++i) {
        AP_UNROLL
        for (int j = 0; j < P.thread.n; ++j) at(slice, i, j) = sum[i][j];
      }
    }
    block_barrier();
    if (slice > 0) return false;
    for (int from = 1; from < P.slices; ++from) {
      AP_UNROLL
      for (int i = 0; i < P.thread.m; ++i) {
        AP_UNROLL
        for (int j = 0; j < P.thread.n; ++j) sum[i][j] += at(from, i, j);
      }
    }
    return true;
  }

 private:
  // There and back again along the shorter side: an operand then stays in the register file's operand cache
  // from one multiply-add to the next, and most read only two registers. An FFMA that reads three takes more
  // than one cycle to issue (docs/design/gemm.md).
  AP_DEV void multiply(int k) {
    constexpr bool short_rows = P.thread.n < P.thread.m;
    constexpr int turns = short_rows ? P.thread.m : P.thread.n, length = short_rows ? P.thread.n : P.thread.m;
    // clang-format off
    AP_UNROLL
    for (int turn = 0; turn < turns; ++turn)
      AP_UNROLL
      for (int step = 0; step < length; ++step) {
        const int along = turn % 2 == 0 ? step : length - 1 - step;
        const int i = short_rows ? turn : along, j = short_rows ? along : turn;
        sum[i][j] = multiply_add(a.value[k % P.fragments][i], b.value[k % P.fragments][j], sum[i][j]);
      }
    // clang-format on
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
