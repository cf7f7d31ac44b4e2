// SPDX-License-Identifier: Apache-2.0
// The mathematics of a tile of attention's gradients: products of own and other rows, weights, dP to dS, and
// what is stored.
#pragma once
#include <antiphase/device/exponential.cuh>
#include <antiphase/device/global.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/wgmma.cuh>

#include "library/attention/fp16/gradients/backward.hpp"
#include "library/attention/fp16/pairs_tile.cuh"
#include "library/attention/fp16/split_pass.cuh"
#include "library/split_multiply.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// `Loads`: gradient_loads of the policy, with the rows of a tile: first_of(), end_of().
template <gradient_policy P, class Loads> struct gradient_tile {
  static constexpr bool of_keys = Loads::of_keys;
  static constexpr int D = P.depth, N = Loads::N, chunks = Loads::chunks, Own = Loads::Own;
  using params = typename Loads::params;
  using item = typename Loads::item;
  using storage = typename Loads::storage;
  using slot_cursor = typename Loads::slot_cursor;
  using own_chunk = parts_chunk<Own>;
  using scores = accumulator<N>;
  using outputs = accumulator<D>;

  // multiply
  // ---------------------------------------------------------------------------------------------------------
  // Parts of an own operand that are kept in registers: as A of a product they need no shared memory.
  template <bool There> struct fragments { std::uint32_t word[There ? D / 16 : 1][4]; };
  template <int Operand> struct own_parts {
    fragments<(P.held > Operand)> hi;
    fragments<(P.held > 2 + Operand)> lo;
  };
  template <int Operand>
  AP_DEV static void fetch(own_parts<Operand>& held, const own_chunk (&own)[chunks], int first_row) {
    const int row = first_row + scores::row();
    AP_UNROLL
    for (int i = 0; i < D / 4; ++i) {
      const int r = row + i % 2 * 8, piece = i / 4 * 2 % 8 + i % 4 / 2;
      const int at = (piece ^ r % 8) * 8 + scores::column();
      const auto word = [&](int part) {
        const f16* const from = &own[i / 16].part[part][r][at];
        return load_pack<1>(reinterpret_cast<const std::uint32_t*>(from)).element[0];
      };
      if constexpr (P.held > Operand) held.hi.word[i / 4][i % 4] = word(0);
      if constexpr (P.held > 2 + Operand) held.lo.word[i / 4][i % 4] = word(1);
    }
  }
  // Starts x = own other^T, of 64 own rows.
  template <int Operand>
  AP_DEV static void multiply_rows(scores& x, const storage& s, const own_chunk (&own)[chunks],
                                   const own_parts<Operand>& held, slot_cursor at, int first_row) {
    constexpr int own_lo = Own * 128, other_lo = N * 128;  // bytes to the lo parts
    matrix_descriptor a[chunks], b[chunks];
    AP_UNROLL
    for (int c = 0; c < chunks; ++c) {
      a[c] = describe(own[c].part[0][first_row], 16, 1024, swizzle::bytes_128);
      b[c] = describe(s.slots[at.index].columns[c].part, 16, 1024, swizzle::bytes_128);
    }
    const auto step = [&]<int Part, int OfOther>(part_number<Part>, part_number<OfOther>, int i, bool add) {
      const matrix_descriptor other = further(b[i / 4], OfOther * other_lo + i % 4 * 32);
      if constexpr (P.held > 2 * Part + Operand) {
        wgmma<major::k>(x.value, (Part == 0 ? held.hi.word : held.lo.word)[i], other, add);
      } else {
        wgmma<major::k, major::k>(x.value, further(a[i / 4], Part * own_lo + i % 4 * 32), other, add);
      }
    };
    AP_UNROLL
    for (int i = 0; i < D / 16; ++i) {
      step(part_number<1>(), part_number<0>(), i, i > 0);
      step(part_number<0>(), part_number<1>(), i, true);
    }
    AP_UNROLL
    for (int i = 0; i < D / 16; ++i) step(part_number<0>(), part_number<0>(), i, true);
  }
  // Starts sum = h other.
  AP_DEV static void multiply_columns(outputs& sum, const halves<N>& h, const storage& s, slot_cursor at) {
    const matrix_descriptor b =
        describe(s.slots[at.index].columns[0].part, sizeof(parts_chunk<N>), 1024, swizzle::bytes_128);
    constexpr int other_lo = N * 128, by = 2048;
    const auto of_h = [&](auto part, int i) -> const auto& { return h.part[part][i]; };
    const auto of_other = [&](auto part, int i) { return further(b, part * other_lo + i * by); };
    multiply_mixed<major::mn>(sum.value, N / 16, of_h, of_other, false);
    multiply_main<major::mn>(sum.value, N / 16, of_h, of_other, true);
  }

  // weigh
  // ---------------------------------------------------------------------------------------------------------
  static constexpr float up = 1 << part_exponent;

  // A thread's two rows, the second 8 further than the first.
  struct rows {
    int first;
    reach sees;
    float top[2], d[2];  // of queries
  };
  // The numbers of the four elements 4 b to 4 b + 3 of a thread: of two columns, or of two rows.
  AP_DEV static pack<float, 2> of_columns(const float (&numbers)[N], int b) {
    return load_pack<2>(numbers + 8 * b + scores::column());
  }
  // True if the warp's rows see all columns of the tile.
  AP_DEV static bool all_visible(const rows& r, int first_column) {
    const int row = r.first - lane_index() / 4, last_row = row + 15, last_column = first_column + N - 1;
    return of_keys ? r.sees.begin(last_column) <= row && last_row < r.sees.end(first_column)
                   : r.sees.begin(last_row) <= first_column && last_column < r.sees.end(row);
  }
  // A query sees keys begin(i) to end(i) - 1; a key is seen by queries from key - high + 1 to key - low.
  AP_DEV static visible_columns visible_in(const rows& r, int first_column) {
    visible_columns see;
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int row = r.first + 8 * h, column = first_column + scores::column();
      see.begin[h] = (of_keys ? row - r.sees.high + 1 : r.sees.begin(row)) - column;
      see.end[h] = (!of_keys ? r.sees.end(row) : row < r.sees.keys ? row - r.sees.low + 1 : 0) - column;
    }
    return see;
  }
  // Scores to weights: probabilities except for the factor of each query, of keys times 2^15.
  using tile_pairs = pairs_of_tile<of_keys, N>;
  AP_DEV static void weigh(const params& p, scores& x, const rows& r, const float (&tops)[N], int member,
                           int head, int first_column, float to_score, tile_pairs& pairs) {
    if constexpr (P.biased) {
      pairs.add_to(x, p.problem, member_of(p.problem, member), head, r.first, first_column + x.column(),
                   {to_score});
      to_score = 1;
    }
    if (!all_visible(r, first_column)) hide(x, visible_in(r, first_column));
    AP_UNROLL
    for (int b = 0; b < N / 8; ++b) {
      pack<float, 2> top;
      if constexpr (of_keys) top = of_columns(tops, b);
      AP_UNROLL
      for (int i = 0; i < 4; ++i) {
        float& e = x.value[4 * b + i];
        e = exp2_near(multiply_add(e, to_score, -(of_keys ? top.element[i % 2] : r.top[i / 2])));
        if constexpr (of_keys) e *= up;
      }
    }
  }
  // dP to dS = p (dP - D), each row with the largest in [2^14, 2^15) `back`.
  AP_DEV static void differentiate(scores& y, const scores& weights, const rows& r, const float (&ds)[N],
                                   float to_dp, float (&back)[2]) {
    float largest[2] = {};
    AP_UNROLL
    for (int b = 0; b < N / 8; ++b) {
      pack<float, 2> d;
      if constexpr (of_keys) d = of_columns(ds, b);
      AP_UNROLL
      for (int i = 0; i < 4; ++i) {
        float& e = y.value[4 * b + i];
        e = weights.value[4 * b + i] * multiply_add(e, to_dp, -(of_keys ? d.element[i % 2] : r.d[i / 2]));
        largest[i / 2] = fmaxf(largest[i / 2], fabsf(e));
      }
    }
    float by[2];
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      back[h] = scale_for(max_of_row(largest[h]));
      by[h] = inverse_of(back[h]);
    }
    y.scale_rows(by);
  }
  // Weights and dS of keys are 2^15 times as large.
  static constexpr float down = of_keys ? 1 / up : 1;

  AP_DEV static void store(const params& p, const outputs& sum, const rows& r, const heads<float>& to,
                           const item& w, float factor) {
    const member m = member_of(p.problem, w.member);
    const int depth = static_cast<int>(p.problem.depth);
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int row = r.first + 8 * h;
      if (row >= Loads::end_of(of_keys ? m.keys : m.queries, w.tile)) continue;
      float* const at =
          of_keys ? key_row(p.problem, to, m, w.head, row) : query_row(p.problem, to, m, w.head, row);
      const bool in_pairs = depth % 2 == 0 && reinterpret_cast<std::uintptr_t>(at) % 8 == 0;
      AP_UNROLL
      for (int i = 2 * h; i < sum.count; i += 4) {
        const int c = sum.column() + sum.column_of(i);
        const pack<float, 2> pair{{sum.value[i] * factor, sum.value[i + 1] * factor}};
        if (in_pairs) {
          if (c < depth) store_pack<2>(at + c, pair);
        } else {
          if (c < depth) at[c] = pair.element[0];
          if (c + 1 < depth) at[c + 1] = pair.element[1];
        }
      }
    }
  }
  // The gradient of the bias: dS, of which each row is scaled.
  AP_DEV static void store_slopes(const params& p, const scores& y, const rows& r, const item& w, int tile,
                                  const float (&back)[2]) {
    const written_pairs& x = p.bias_gradient;
    if (x.data == nullptr) return;
    const member m = member_of(p.problem, w.member);
    const int first = Loads::first_of(m.keys, tile) + scores::column(), end = Loads::end_of(m.keys, tile);
    const bool in_twos = x.key_stride == 1 && (x.member_stride | x.head_stride | x.query_stride) % 2 == 0 &&
                         reinterpret_cast<std::uintptr_t>(x.data) % 8 == 0;
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int row = r.first + 8 * h;
      if (row >= Loads::end_of(m.queries, w.tile)) continue;
      float* const to = in_global_memory(x.data) + m.index * x.member_stride + w.head * x.head_stride +
                        row * x.query_stride;
      AP_UNROLL
      for (int i = 2 * h; i < y.count; i += 4) {
        const int key = first + y.column_of(i);
        const pack<float, 2> two{{y.value[i] * back[h], y.value[i + 1] * back[h]}};
        if (in_twos && key + 1 < end) {
          store_pack<2>(to + key, two);
        } else {
          if (key < end) to[key * x.key_stride] = two.element[0];
          if (key + 1 < end) to[(key + 1) * x.key_stride] = two.element[1];
        }
      }
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
