// SPDX-License-Identifier: Apache-2.0
// The epilogue of a split product: undoes the scales, certifies and stores the outputs, and lists the
// uncertain ones for FP64.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <cmath>
#include "library/gemm/fp16/recompute/line_kinds.cuh"
#include "library/gemm/fp16/recompute/recompute.cuh"
#include "library/gemm/fp16/recompute/recompute_sparse.cuh"
#include "library/gemm/fp16/split_product.hpp"
#include "library/gemm/operands/finish/blend.cuh"
#include "library/gemm/operands/finish/finished.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

AP_DEV float stored(const ended_problem& p, float sum, std::int64_t i, std::int64_t j, const float* c) {
  const ending& e = p.after;
  return briefly_finished(
      e, sum, [&] { return e.residual.data != nullptr ? *e.residual.at(i, j, 0) : *c; },
      [&] { return e.row_bias[i]; }, [&] { return e.column_bias[j]; });
}

// What the epilogue reads of a tile's lines: line_scale of each.
struct tile_lines {
  alignas(16) float row_scale[split_tile];
  alignas(16) float column_scale[split_tile];
  int top, left;
};
// The block's count of uncertain outputs, in shared memory. Three tiles have theirs alternately: while one is
// counted, the one before is still read and the next one is cleared.
struct uncertain_tally {
  static constexpr int turns = 3;
  std::uint32_t packed[turns];  // as uncertain_count
  std::uint32_t any;            // whether any tile so far has uncertain outputs or sparse lines
};

// The layout of the 128 x width outputs of a tile in the registers of the eight computing warps: fragments of
// 16 x 8, as mma() and wgmma() leave them. A warp has `down` rows of fragments, and `down` warps lie side by
// side: a warp has 16 whole rows, or 32 half rows ...
struct output_layout {
  int width = split_tile;
  int down = 1;
  int first_thread = 0;          // of the eight warps'
  bool even_rows_first = false;  // of eight rows, lanes have 0 2 4 6 1 3 5 7
  bool ordered = false;          // as product_policy

  constexpr int across() const { return width / (8 * down); }  // fragments of a warp, side by side
};

// A bit for each of a thread's outputs, of which there are up to 64.
struct bits_of_outputs {
  std::uint32_t bits[2] = {};

  AP_DEV void add(int e) { bits[e / 32] |= 1u << e % 32; }
  AP_DEV bool has(int e) const { return ((e < 32 ? bits[0] : bits[1]) >> e % 32 & 1u) != 0; }
  AP_DEV bool any() const { return (bits[0] | bits[1]) != 0; }
  AP_DEV bits_of_outputs operator|(const bits_of_outputs& other) const {
    return {{bits[0] | other.bits[0], bits[1] | other.bits[1]}};
  }
  // The same, of which the compiler does not know it: otherwise it keeps what it found out about each bit, in
  // a register of its own during the whole product.
  AP_DEV bits_of_outputs again() const {
    bits_of_outputs copy = *this;
    rematerialise(copy.bits[0]), rematerialise(copy.bits[1]);
    return copy;
  }
};

// Stores 128 x width outputs of a tile, from its column `first` on. A thread's sum[4 (i across + j) + 2 h +
// e] is the output in row 16 i + lane / 4 + 8 h and column 8 j + 2 (lane % 4) + e of its warp's part.
template <output_layout L> struct split_epilogue {
  static constexpr int computing_threads = recompute_shape::threads, barrier = recompute_shape::barrier;
  static constexpr int registers = L.width / 2, across = L.across();
  static constexpr std::uint32_t limit = listed_at_most(L.ordered);
  using sums = float[registers];

  const product_problem& p;
  const tile_lines& lines;
  int first;
  int own_thread;  // member()

  AP_DEV split_epilogue(const product_problem& of, const tile_lines& of_tile, int first_column)
      : p(of), lines(of_tile), first(first_column), own_thread(member()) {
    // Otherwise the rows and columns of all outputs wait in local memory during the whole product. Where a
    // warp has whole rows they do not.
    if constexpr (L.down > 1) rematerialise(own_thread);
  }
  AP_DEV static int member() { return thread_index() - L.first_thread; }
  AP_DEV static int warp() { return member() / warp_size; }
  AP_DEV int own_warp() const { return L.down > 1 ? own_thread / warp_size : warp(); }
  AP_DEV int own_lane() const { return L.down > 1 ? own_thread % warp_size : lane_index(); }
  AP_DEV int row() const { return own_warp() / L.down * (16 * L.down) + row_of_lane(own_lane()); }
  AP_DEV static int row_of_lane(int lane) {
    return L.even_rows_first ? lane / 4 % 4 * 2 + lane / 16 : lane / 4;
  }
  AP_DEV int column() const { return first + own_warp() % L.down * (8 * across) + own_lane() % 4 * 2; }
  // Of sum[e].
  AP_DEV static constexpr int row_after(int e) { return e / (4 * across) * 16 + e / 2 % 2 * 8; }
  AP_DEV static constexpr int column_after(int e) { return 8 * (e / 4 % across) + e % 2; }
  AP_DEV int row_of(int e) const { return row() + row_after(e); }
  AP_DEV int column_of(int e) const { return column() + column_after(e); }
  // Of the output in the thread's row number `half` and pair j, the first or the second one.
  AP_DEV static constexpr int index_of(int half, int j, int second) {
    return 4 * (half / 2 * across + j) + 2 * (half % 2) + second;
  }

  // Care that the tile's lines need: undoing the scales alone, a certificate for every output or other care
  // that the scales tell of, or reading their split_lines as well. Every warp reads the scales of all lines,
  // so that all warps get the same answer.
  enum class care { none, certificate, lines };
  AP_DEV care needed_care() const {
    bool simple = true, complete = true;
    AP_UNROLL
    for (int i = 0; i < split_tile; i += warp_size) {
      const float row_scale = lines.row_scale[i + lane_index()],
                  column_scale = lines.column_scale[i + lane_index()];
      simple = simple && row_scale > 0 && column_scale > 0;
      complete =
          complete && row_scale != line_scale::in_split_line && column_scale != line_scale::in_split_line;
    }
    return ballot(simple) == all_lanes     ? care::none
           : ballot(complete) == all_lanes ? care::certificate
                                           : care::lines;
  }
  // Kinds of lines that the warp's outputs have, by their scales: `sparse` ones, and `special` ones, others
  // that need more than undoing their scale.
  struct line_kinds {
    bool special, sparse;
  };
  AP_DEV line_kinds kinds_of_lines() const {
    constexpr int rows = 16 * L.down, columns = 8 * across;
    int thread = member();
    rematerialise(thread);  // otherwise values computed from it wait in local memory during the whole product
    const int of_warp = thread / warp_size, lane = thread % warp_size;
    const int first_row = of_warp / L.down * rows, first_column = first + of_warp % L.down * columns;
    bool special = false, sparse = false;
    const auto look_at = [&](float scale) {
      const bool is_sparse = line_scale::is_sparse(scale);
      sparse = sparse || is_sparse, special = special || !(scale > 0 || is_sparse);
    };
    look_at(lines.row_scale[first_row + lane % rows]);
    AP_UNROLL
    for (int j = 0; j < columns; j += warp_size)
      look_at(lines.column_scale[first_column + (j + lane) % columns]);
    return {ballot(special) != 0, ballot(sparse) != 0};
  }

  // A tile inside of C whose rows have their outputs side by side.
  AP_DEV bool whole() const {
    const matrix_view<float>& c = p.problem.c;
    return c.column_stride == 1 && lines.top + split_tile <= c.rows &&
           lines.left + first + L.width <= c.columns;
  }
  // What beta multiplies.
  AP_DEV members<const float> addend() const {
    const matrix_view<float>& c = p.problem.c;
    return p.problem.after.residual.data != nullptr
               ? p.problem.after.residual
               : members<const float>{c.data, c.row_stride, c.column_stride, 0};
  }
  AP_DEV static bool in_pairs(const float* data, std::int64_t row_stride) {
    return row_stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(data) % 8 == 0;
  }
  AP_DEV bool rows_aligned() const {
    const members<const float> other = addend();
    return in_pairs(p.problem.c.data, p.problem.c.row_stride) && in_pairs(other.data, other.row_stride);
  }
  AP_DEV bool begins_with_sectors() const {
    return p.problem.c.row_stride % 8 == 0 && reinterpret_cast<std::uintptr_t>(p.problem.c.data) % 32 == 0;
  }
  // Whether outputs that are side by side, and what beta multiplies, lie side by side.
  AP_DEV bool by_rows() const { return p.problem.c.column_stride == 1 && addend().column_stride == 1; }
  // Two neighbouring outputs of a row, with the scales undone.
  AP_DEV pack<float, 2> pair(const sums& sum, int half, int j, float row_factor) const {
    const pack<float, 2> column_scale = load_pack<2>(lines.column_scale + column() + 8 * j);
    pack<float, 2> two;
    AP_UNROLL
    for (int e = 0; e < 2; ++e)
      two.element[e] = sum[4 * (half / 2 * across + j) + 2 * (half % 2) + e] * row_factor *
                       std::fabs(column_scale.element[e]);
    return two;
  }
  AP_DEV float row_factor(int half) const { return std::fabs(lines.row_scale[row() + 8 * half]); }
  // Memory takes sectors of 32 bytes at once, and twice as long for half of one as for all of it. Where rows
  // do not begin with a sector, four lanes store eight outputs of their row from the next sector's begin on:
  // `shift` columns from theirs, which they get from each other. What is before the first sector and after
  // the last one is stored by single outputs. Tiles at an edge of C are not stored so: the code of a second
  // form lay between the others, and 4096 x 4100 x 64 took 49.6 us instead of 39. Blends: with alpha and
  // beta.
  template <bool Blends> AP_DEV void store_in_sectors(const sums& sum) const {
    constexpr int of_sector = 8;  // outputs, as many as four lanes have of a fragment
    const matrix_view<float>& c = p.problem.c;
    [[maybe_unused]] const ending& end = p.problem.after;
    float* const mine = &c(lines.top + row(), lines.left + column());
    int lane = lane_index();
    rematerialise(lane);  // otherwise values computed from it wait in local memory during the whole product
    const int place = lane % 4, first_lane = lane - place;
    AP_UNROLL
    for (int half = 0; half < 2 * L.down; ++half) {
      float* const out = mine + 8 * half * c.row_stride;
      const float factor = row_factor(half);
      const int shift =
          static_cast<int>(-(reinterpret_cast<std::uintptr_t>(out - 2 * place) / sizeof(float)) % of_sector);
      const bool last_two = shift + 2 * place + 1 < of_sector,
                 last_one = !last_two && shift + 2 * place < of_sector;
      // all is read before any is stored
      [[maybe_unused]] pack<float, 2> first_before = {}, before[across] = {};
      if (Blends && end.beta != 0) {
        AP_UNROLL
        for (int e = 0; e < 2; ++e)
          if (2 * place + e < shift) first_before.element[e] = out[e];
        AP_UNROLL
        for (int j = 0; j < across; ++j) {
          const float* const from = out + 8 * j + shift;
          if (j + 1 < across || last_two)
            before[j] = load_pack<2>(from);
          else if (last_one)
            before[j].element[0] = from[0];
        }
      }
      const auto ended = [&](float x, const float& c_before) {
        return Blends ? blend(end, x, &c_before) : x;
      };
      // The two outputs that a lane stores are the first and the second one of a pair, or the second one and
      // the next lane's first one. Of lanes before those lanes, outputs of the next fragment are wanted.
      const bool odd = shift % 2 != 0, next_0 = place < shift / 2, next_1 = place < (shift + 1) / 2;
      const int from_0 = first_lane + (place + shift / 2) % 4,
                from_1 = first_lane + (place + (shift + 1) / 2) % 4;
      pack<float, 2> two = pair(sum, half, 0, factor);
      AP_UNROLL
      for (int e = 0; e < 2; ++e)
        if (2 * place + e < shift) out[e] = ended(two.element[e], first_before.element[e]);
      AP_UNROLL
      for (int j = 0; j < across; ++j) {
        const bool last = j + 1 == across;
        const pack<float, 2> next = last ? pack<float, 2>{} : pair(sum, half, j + 1, factor);
        const pack<float, 2> of_0 = next_0 ? next : two, of_1 = next_1 ? next : two;
        const float one = shuffle(odd ? of_0.element[1] : of_0.element[0], from_0);
        const float other = shuffle(odd ? of_1.element[0] : of_1.element[1], from_1);
        const pack<float, 2> shifted{{ended(one, before[j].element[0]), ended(other, before[j].element[1])}};
        float* const to = out + 8 * j + shift;
        if (!last || last_two) {
          store_pack<2>(to, shifted);
        } else if (last_one) {
          to[0] = shifted.element[0];
        }
        two = next;
      }
    }
  }
  // As whole tiles or at an edge of C, with or without more to do than to store sums; rows of C have their
  // outputs side by side. Each form has a loop of its own: in one for all, the code of the other forms lay
  // between, and fetching it took as long as 250 values of k (measured).
  // sums alone; with alpha and beta; with biases; with any brief epilogue
  enum class form { direct, blended, biased, ended };
  // `skipped`: bits of outputs that are not stored, unless they go in pairs.
  template <form F, bool Pairs>
  AP_DEV void store_rows(const sums& sum, [[maybe_unused]] const bits_of_outputs& skipped = {}) const {
    constexpr bool blends = F == form::blended || F == form::ended,
                   biased = F == form::biased || F == form::ended;
    // pairs: all is read before any is stored
    constexpr int halves = 2 * L.down, at_once = F == form::direct || across < 8 ? across : 8;
    const matrix_view<float>& c = p.problem.c;
    [[maybe_unused]] const ending& end = p.problem.after;
    float* const mine = &c(lines.top + row(), lines.left + column());
    [[maybe_unused]] const int rows_left = within(c.rows - lines.top) - row(),
                               columns_left = within(c.columns - lines.left) - column();
    [[maybe_unused]] const auto row_there = [&](int half) { return Pairs || 8 * half < rows_left; };
    [[maybe_unused]] const auto column_there = [&](int j, int e) {
      return Pairs || 8 * j + e < columns_left;
    };
    // Calls use(j, e) for the outputs of these pairs that there are.
    [[maybe_unused]] const auto each = [&](int half, int from, auto use) {
      const bits_of_outputs left_out = skipped.again();
      AP_UNROLL
      for (int i = 0; i < 2 * at_once; ++i)
        if (row_there(half) && column_there(from + i / 2, i % 2) &&
            !left_out.has(index_of(half, from + i / 2, i % 2)))
          use(i / 2, i % 2);
    };
    float factor[halves];
    [[maybe_unused]] float row_bias[halves] = {};
    AP_UNROLL
    for (int half = 0; half < halves; ++half) {
      factor[half] = row_factor(half);
      if (biased && end.row_bias != nullptr && row_there(half))
        row_bias[half] = end.row_bias[lines.top + row() + 8 * half];
    }
    AP_UNROLL
    for (int from = 0; from < across; from += at_once) {
      [[maybe_unused]] pack<float, 2> column_bias[at_once] = {};
      if constexpr (biased) {
        if (end.column_bias != nullptr) {
          const float* const bias = end.column_bias + lines.left + column();
          AP_UNROLL
          for (int i = 0; i < 2 * at_once; ++i)
            if (column_there(from + i / 2, i % 2))
              column_bias[i / 2].element[i % 2] = bias[8 * (from + i / 2) + i % 2];
        }
      }
      AP_UNROLL
      for (int half = 0; half < halves; ++half) {
        float* const out = mine + 8 * half * c.row_stride + 8 * from;
        [[maybe_unused]] pack<float, 2> before[at_once] = {};
        if constexpr (blends) {
          const float* const in =
              addend().at(lines.top + row() + 8 * half, lines.left + column() + 8 * from, 0);
          if constexpr (Pairs) {
            AP_UNROLL
            for (int j = 0; j < at_once; ++j)
              if (end.beta != 0) before[j] = load_pack<2>(in + 8 * j);
          } else {
            if (end.beta != 0) each(half, from, [&](int j, int e) { before[j].element[e] = in[8 * j + e]; });
          }
        }
        pack<float, 2> two[at_once];
        AP_UNROLL
        for (int j = 0; j < at_once; ++j) {
          two[j] = pair(sum, half, from + j, factor[half]);
          AP_UNROLL
          for (int e = 0; e < 2; ++e) {
            float& v = two[j].element[e];  // in all forms as briefly_finished() has it
            if constexpr (F == form::blended) v = blend(end, v, &before[j].element[e]);
            if constexpr (F == form::biased) v += row_bias[half] + column_bias[j].element[e];
            if constexpr (F == form::ended)
              v = briefly_finished(
                  end, v, [&] { return before[j].element[e]; }, [&] { return row_bias[half]; },
                  [&] { return column_bias[j].element[e]; });
          }
        }
        if constexpr (Pairs) {
          AP_UNROLL
          for (int j = 0; j < at_once; ++j) store_pack<2>(out + 8 * j, two[j]);
        } else {
          each(half, from, [&](int j, int e) { out[8 * j + e] = two[j].element[e]; });
        }
      }
    }
  }
  // Updates of C, and the biases of neural networks' layers, are worth code of their own: a third of that for
  // all.
  AP_DEV form needed_form() const {
    const ending& e = p.problem.after;
    const bool biases = e.row_bias != nullptr || e.column_bias != nullptr,
               blends = e.alpha != 1 || e.beta != 0;
    if (e.scale != 1 || e.function != activation::none || (biases && blends)) return form::ended;
    return biases ? form::biased : blends ? form::blended : form::direct;
  }
  // `all`: none of the warp's outputs is skipped.
  AP_DEV void store_by_rows(const sums& sum, bool all, const bits_of_outputs& skipped) const {
    const form needed = needed_form();
    const bool pairs = all && whole() && rows_aligned(), direct = all && needed == form::direct;
    if (direct && pairs && begins_with_sectors()) return store_rows<form::direct, true>(sum);
    if (direct && whole()) return store_in_sectors<false>(sum);
    if (direct) return store_rows<form::direct, false>(sum);
    if (pairs && needed == form::blended) return store_rows<form::blended, true>(sum);
    if (all && whole() && needed == form::blended && p.problem.after.residual.data == nullptr)
      return store_in_sectors<true>(sum);
    if (pairs && needed == form::biased) return store_rows<form::biased, true>(sum);
    if (pairs) return store_rows<form::ended, true>(sum);
    store_rows<form::ended, false>(sum, skipped);
  }
  AP_DEV static int within(std::int64_t left) {
    return static_cast<int>(left < split_tile ? left : split_tile);
  }

  // The certificate (docs/use/accuracy.md): an output is as exact as guaranteed if its scaled magnitude
  // reaches a bound that follows from the number of tiny elements in its lines. The sums of a line that is
  // not finite are 0 or NaN and never reach their bound, which is positive.
  AP_DEV static bool certified(float sum, const split_line& a, const split_line& b) {
    return std::fabs(sum) >= 1.12f * (std::fmin(a.tiny, b.norm) + std::fmin(b.tiny, a.norm));
  }
  // sum * 2^exponent with one rounding: the first factor leaves a normal number unless the result is none
  // anyway.
  AP_DEV static float scaled(float sum, int exponent) {
    const int one = exponent < -67 ? -67 : exponent > 127 ? 127 : exponent, rest = exponent - one;
    const int two = rest < -149 ? -149 : rest > 127 ? 127 : rest;
    const auto power = [](int e) {
      return bit_cast<float>(e < -126 ? 1u << (e + 149) : static_cast<std::uint32_t>(e + 127) << 23);
    };
    return sum * power(one) * power(two);
  }
  AP_DEV bool inside(int i, int j) const {
    return lines.top + i < static_cast<int>(p.problem.c.rows) &&
           lines.left + j < static_cast<int>(p.problem.c.columns);
  }
  AP_DEV static split_line line_of(const split_operand& o, int at) {
    return at < static_cast<int>(o.lines) ? o.line[at] : split_line{};
  }

  // Calls use(e, i, j, a, b) with the lines of each of the thread's outputs. The lines of `at_once` columns
  // are read at a time.
  template <class Use> AP_DEV void each_with_lines(Use use) const {
    constexpr int at_once = across < 4 ? across : 4;
    split_line a[2 * L.down];
    AP_UNROLL
    for (int half = 0; half < 2 * L.down; ++half) a[half] = line_of(p.split_a, lines.top + row() + 8 * half);
    AP_UNROLL
    for (int from = 0; from < across; from += at_once) {
      split_line b[at_once][2];
      AP_UNROLL
      for (int j = 0; j < 2 * at_once; ++j)
        b[j / 2][j % 2] = line_of(p.split_b, lines.left + column() + 8 * (from + j / 2) + j % 2);
      AP_UNROLL
      for (int i = 0; i < L.down; ++i) {
        AP_UNROLL
        for (int n = 0; n < 4 * at_once; ++n) {
          const int e = 4 * (i * across + from) + n;
          use(e, row_of(e), column_of(e), a[2 * i + n / 2 % 2], b[n / 4][n % 2]);
        }
      }
    }
  }
  // Padding has no tiny elements, so its outputs count as certified. Nearly all tiles end here; only the
  // others pay for a bit per output (find_uncertain), which has to ask again.
  AP_DEV bool all_certified(const sums& sum) const {
    bool all = true;
    each_with_lines([&](int e, int, int, const split_line& a, const split_line& b) {
      all = certified(sum[e], a, b) && all;
    });
    return all;
  }
  // A bit for each of the thread's outputs.
  struct findings {
    bits_of_outputs uncertain, sparse;
    bool far = false;  // whether certified ones need their split_lines to undo the scales
  };
  AP_DEV findings find_uncertain(const sums& sum) const {
    findings found;
    each_with_lines([&](int e, int i, int j, const split_line& a, const split_line& b) {
      if (!inside(i, j) || is_zero_output(a, b)) return;
      if (is_sparse_output(a, b))
        found.sparse.add(e);
      else if (!certified(sum[e], a, b))
        found.uncertain.add(e);
      else
        found.far = found.far || is_far(a) || is_far(b);
    });
    return found;
  }
  // Counts the tile's uncertain outputs before any output is stored: if the list has no room for them, all of
  // the tile is recomputed, and C must still have its old values.
  struct counted {
    std::uint32_t all;     // uncertain_count of the tile
    std::uint32_t before;  // uncertain outputs of other threads, which come before this thread's in the list
  };
  AP_DEV counted count(const findings& found, bool sparse, uncertain_tally& tally,
                       cursor<uncertain_tally::turns>& turn, std::int64_t list) const {
    std::uint32_t mine = 0, before = 0;
    AP_UNROLL
    for (int e = 0; e < registers; ++e) mine += found.uncertain.has(e) ? 1 : 0;
    if (sparse || found.sparse.any()) mine += uncertain_count::sparse_thread;
    if (mine > 0) before = atomic_add<scope::block>(&tally.packed[turn.index], mine);
    if (member() == 0) tally.packed[(turn.index + 1) % uncertain_tally::turns] = 0;
    named_barrier_sync(barrier, computing_threads);
    const std::uint32_t all = tally.packed[turn++.index];
    if (member() == 0) {
      if (all > 0) tally.any = 1;
      p.uncertain.count[list] = all;
    }
    return {all, before % uncertain_count::sparse_thread};
  }
  AP_DEV void list(const bits_of_outputs& uncertain, std::uint16_t* listed) const {
    int place = row() * split_tile + column();
    rematerialise(place);  // otherwise all places wait in local memory during the whole product
    AP_UNROLL
    for (int e = 0; e < registers; ++e)
      if (uncertain.has(e))
        *listed++ = static_cast<std::uint16_t>(place + row_after(e) * split_tile + column_after(e));
  }
  // Output by output, wherever they lie and whatever their scales.
  AP_DEV void store_each(const sums& sum, const bits_of_outputs& skipped) const {
    constexpr int at_once = 8;  // of which C is read before the first is stored
    AP_UNROLL
    for (int from = 0; from < registers; from += at_once) {
      float before[at_once] = {};
      const auto each = [&](auto use) {
        const bits_of_outputs left_out = skipped.again();
        AP_UNROLL
        for (int e = from; e < from + at_once; ++e)
          if (inside(row_of(e), column_of(e)) && !left_out.has(e))
            use(e, lines.top + row_of(e), lines.left + column_of(e), before[e - from]);
      };
      if (p.problem.after.beta != 0) each([&](int, int i, int j, float& c) { c = p.problem.c(i, j); });
      each([&](int e, int i, int j, float& c) {
        p.problem.c(i, j) = stored(p.problem, unscaled(sum[e], i - lines.top, j - lines.left), i, j, &c);
      });
    }
  }
  AP_DEV float unscaled(float sum, int i, int j) const {
    const float row_factor = std::fabs(lines.row_scale[i]), column_factor = std::fabs(lines.column_scale[j]);
    if (row_factor != line_scale::in_split_line && column_factor != line_scale::in_split_line)
      return sum * row_factor * column_factor;
    return scaled(sum, -(p.split_a.line[lines.top + i].exponent + p.split_b.line[lines.left + j].exponent));
  }

  // `number`: of the tile's list of uncertain outputs.
  AP_DEV void store(const sums& sum, uncertain_tally& tally, cursor<uncertain_tally::turns>& turn,
                    std::int64_t number) const {
    const care how = needed_care();
    bits_of_outputs skipped;
    bool all = true, far = false;  // of the warp's outputs
    if (how == care::none) {
      if (member() == 0) p.uncertain.count[number] = 0;
    } else {
      findings found;
      const auto [special, sparse] = kinds_of_lines();
      if ((sparse && !are_overwritten(p)) || (special && (how == care::lines || !all_certified(sum))))
        found = find_uncertain(sum);
      const counted outputs = count(found, sparse, tally, turn, number);
      const std::uint32_t uncertain = outputs.all % uncertain_count::sparse_thread;
      if (are_provisional(p, uncertain))
        found.uncertain = {};
      else if (uncertain > limit)
        return;
      else if (uncertain > 0)
        list(found.uncertain, p.uncertain.output + number * limit + outputs.before);
      skipped = are_overwritten(p) ? found.uncertain : found.uncertain | found.sparse;
      all = ballot(skipped.any()) == 0, far = ballot(found.far) != 0;
    }
    if (by_rows() && !far)
      store_by_rows(sum, all, skipped);
    else
      store_each(sum, skipped);
  }
  // Whether store() may store what recompute() computes again. It may not where that needs C's old values.
  AP_DEV static bool are_overwritten(const product_problem& p) { return p.problem.after.beta == 0; }
  // Whether store() stores the uncertain outputs of a tile that has so many, for recompute() to look at their
  // magnitudes.
  AP_DEV static bool are_provisional(const product_problem& p, std::uint32_t uncertain) {
    // fewer are computed one by one: a look at magnitudes would read as much
    constexpr std::uint32_t listed = 128;
    return !L.ordered && uncertain > listed && are_overwritten(p);
  }
  // Lists the outputs of a tile that are not certified by their magnitudes either, up to uncertain_limit, and
  // returns how many there are. Every part of K bounds magnitudes from below. So a few steps are tried first,
  // with even gaps between them, then those in the middle of the gaps, and so on, until all outputs are
  // certified, or so many that the others are computed faster.
  template <int Stages>
  AP_DEV static std::uint32_t list_by_magnitudes(const product_problem& p, const ended_problem& mine, int top,
                                                 int left, std::uint16_t* outputs,
                                                 recompute_storage<Stages>& memory, int thread) {
    constexpr int tried_first = 4;     // steps
    constexpr std::uint32_t few = 16;  // outputs
    tile_magnitudes<ended_problem, Stages> sizes(mine, top, left, p.split_a, p.split_b, memory, thread);
    split_line rows[warp_part::of_a];
    AP_UNROLL
    for (int l = 0; l < warp_part::of_a; ++l) rows[l] = line_of(p.split_a, top + sizes.mine.line_of_a(l));
    some_steps now;
    while (now.apart * tried_first < sizes.steps()) now.apart *= 2;
    for (int next = now.apart / 2;; now = {next, 2 * next}, next /= 2) {
      sizes.add(now);
      bits_of_outputs failed;
      std::uint32_t count = 0;
      split_line b{};
      int first_column = left;
      rematerialise(first_column);  // otherwise the addresses of all lines are kept
      sizes.mine.each(sizes.sum, [&](int n, int, int j, float magnitude) {
        if (n % warp_part::of_a == 0) b = line_of(p.split_b, first_column + j);
        const split_line& a = rows[n % warp_part::of_a];
        const bool there = j < L.width && a.norm > 0 && b.norm > 0;  // only lines that do not exist have none
        if (!there || is_zero_output(a, b) || is_sparse_output(a, b)) return;
        if (is_finite(a) && is_finite(b) && magnitude <= 0x1.fffffep127f && certified(magnitude, a, b))
          return;
        failed.add(n);
        ++count;
      });
      if (thread == 0) memory.listed = 0;
      named_barrier_sync(barrier, computing_threads);
      std::uint32_t at = count > 0 ? atomic_add<scope::block>(&memory.listed, count) : 0;
      named_barrier_sync(barrier, computing_threads);
      const std::uint32_t all = memory.listed;
      named_barrier_sync(barrier, computing_threads);
      if (all > few && next > 0) continue;
      AP_ROLLED
      for (int n = 0; n < warp_part::outputs; ++n) {
        if (!failed.has(n)) continue;
        if (at < uncertain_limit)
          outputs[at] = static_cast<std::uint16_t>(sizes.mine.row_of(n) * split_tile + left % split_tile +
                                                   sizes.mine.column_of(n));
        ++at;
      }
      named_barrier_sync(barrier, computing_threads);
      return all;
    }
  }
  // Recomputes the uncertain outputs of a tile and those in sparse lines. All computing threads call.
  // `by_magnitude`: whether a look at magnitudes is worth its time, which it is not after a tile where it
  // hardly helped.
  template <int Stages> AP_DEV static void recompute(const product_problem& p, int top, int left,
                                                     std::int64_t list, recompute_storage<Stages>& memory,
                                                     bool& by_magnitude) {
    const std::uint32_t all = p.uncertain.count[list];
    std::uint32_t uncertain = all % uncertain_count::sparse_thread;
    if (all == 0) return;
    int thread = member();
    rematerialise(thread);  // otherwise values computed from it wait in local memory from tile to tile
    ended_problem mine = p.problem;  // up to the last column that these threads store
    if (mine.c.columns > left + L.width) mine.c.columns = mine.b.columns = left + L.width;
    std::uint16_t* const outputs = p.uncertain.output + list * limit;
    bool listed = uncertain <= limit;
    if (are_provisional(p, uncertain)) {
      listed = by_magnitude;
      if (by_magnitude) {
        const std::uint32_t before = uncertain;
        uncertain = list_by_magnitudes(p, mine, top, left, outputs, memory, thread);
        listed = uncertain <= uncertain_limit;
        by_magnitude = uncertain <= before / 2;
      }
    }
    if (!listed)
      recompute_tile(mine, top, left, memory, thread, [&](std::int64_t row, std::int64_t column) {
        return !is_sparse_output(p.split_a.line[row], p.split_b.line[column]);
      });
    else if (L.ordered)
      recompute_in_order(mine, top, left - left % split_tile, outputs, static_cast<int>(uncertain), thread);
    else if (uncertain > 0)
      recompute_list(mine, top, left - left % split_tile, outputs, static_cast<int>(uncertain), memory,
                     thread);
    if (all >= uncertain_count::sparse_thread)
      recompute_sparse(mine, top, left, p.split_a, p.split_b, thread);
    if (p.recomputed != nullptr && uncertain > 0 && thread == 0)
      atomic_add(p.recomputed, std::uint64_t{uncertain});
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
