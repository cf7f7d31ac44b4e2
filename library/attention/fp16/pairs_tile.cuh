// SPDX-License-Identifier: Apache-2.0
// A tile of scores, probabilities or their gradients in a warpgroup's accumulator: which pairs of queries and
// keys are visible, biases, and the tile's elements as FP16 parts.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/device/accumulator.cuh>
#include <antiphase/device/global.cuh>
#include <antiphase/device/vector.cuh>

#include "library/attention/members.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// The columns that each of a thread's two rows sees, relative to the thread's first one.
struct visible_columns {
  int begin[2], end[2];
};
template <int N> AP_DEV void hide(accumulator<N>& x, const visible_columns& see) {
  x.each([&](float& e, int half, int column) {
    if (column < see.begin[half] || column >= see.end[half]) e = -INFINITY;
  });
}

// The biases of a thread's pairs in a tile, or its bytes of problem::visible where there is no bias. They are
// loaded before the scores are there: memory takes longer than the products do, and no load waits for
// another. Rows are queries and columns keys, or the other way round; `row` and `column` are the thread's
// first ones. Pairs past the last query or key have the values of the last.
template <bool RowsAreKeys, int N> class pairs_of_tile {
 public:
  AP_DEV void load(const problem& p, const member& m, int head, int row, int column) {
    if (p.bias.data != nullptr)
      load(p.bias, m, head, row, column);
    else
      load(p.visible, m, head, row, column);
  }
  template <class T> AP_DEV void load(const pairs<T>& of, const member& m, int head, int row, int column) {
    const std::int64_t by_row = RowsAreKeys ? of.key_stride : of.query_stride,
                       by_column = RowsAreKeys ? of.query_stride : of.key_stride;
    const int rows = RowsAreKeys ? m.keys : m.queries, columns = RowsAreKeys ? m.queries : m.keys;
    const T* from[2];
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int r = row + 8 * h < rows ? row + 8 * h : rows - 1;
      from[h] = in_global_memory(of.data) + m.index * of.member_stride + head * of.head_stride + r * by_row;
    }
    if (!RowsAreKeys && in_twos(of, columns)) {
      // A tile without a last column needs no comparisons: its addresses are constants apart.
      if (column - accumulator<N>::column() + N <= columns)
        load_twos(from, column, column + N);
      else
        load_twos(from, column, columns);
      return;
    }
    AP_UNROLL
    for (int i = 0; i < N / 2; ++i) {
      const int c = column + accumulator<N>::column_of(i);
      word_[i] = word_of(from[accumulator<N>::half_of(i)][(c < columns ? c : columns - 1) * by_column]);
    }
  }
  // Adds the biases to scores, as exponents of 2, and hides what problem::visible hides. `to_score`: of each
  // 64 columns.
  AP_DEV void add_to(accumulator<N>& x, const problem& p, const member& m, int head, int row, int column,
                     const float (&to_score)[N / 64]) {
    // Queries that are none have no biases: they are columns of every key.
    const int columns = RowsAreKeys ? m.queries - column : N;
    const bool is_biased = p.bias.data != nullptr;
    AP_UNROLL
    for (int i = 0; i < x.count; ++i) x.value[i] *= to_score[x.column_of(i) / 64];
    if (is_biased) {
      add_bias(x, columns);
      if (p.visible.data == nullptr) return;
      load(p.visible, m, head, row, column);
    }
    AP_UNROLL
    for (int i = 0; i < x.count; ++i)
      if (word_[i] == 0) x.value[i] = -INFINITY;
  }
  AP_DEV void add_bias(accumulator<N>& x, int columns) const {
    constexpr float log2_e = 1.44269504f;
    AP_UNROLL
    for (int i = 0; i < x.count; ++i)
      if (x.column_of(i) < columns) x.value[i] = multiply_add(float_of(word_[i]), log2_e, x.value[i]);
  }

 private:
  std::uint32_t word_[N / 2];

  AP_DEV static float float_of(std::uint32_t bits) { return bit_cast<float>(bits); }
  AP_DEV static std::uint32_t word_of(float x) { return bit_cast<std::uint32_t>(x); }
  AP_DEV static std::uint32_t word_of(unsigned char x) { return x; }

  template <class T> AP_DEV void load_twos(const T* const (&from)[2], int column, int columns) {
    AP_UNROLL
    for (int i = 0; i < N / 2; i += 2) {
      const int step = accumulator<N>::column_of(i), last = columns - 2 - column;
      const pack<T, 2> two =
          load_pack<2>(from[accumulator<N>::half_of(i)] + column + (step < last ? step : last));
      word_[i] = word_of(two.element[0]), word_[i + 1] = word_of(two.element[1]);
    }
  }
  // Each two columns from an even one on are one access.
  template <class T> AP_DEV static bool in_twos(const pairs<T>& of, int columns) {
    const std::int64_t strides = of.member_stride | of.head_stride | of.query_stride | columns;
    return of.key_stride == 1 && strides % 2 == 0 &&
           reinterpret_cast<std::uintptr_t>(of.data) % (2 * sizeof(T)) == 0;
  }
};

// The elements as parts, as wgmma takes A from registers: hi + lo / LoFactor.
template <int N> struct halves { std::uint32_t part[2][N / 16][4]; };
template <int LoFactor, int N> AP_DEV void split(halves<N>& to, const accumulator<N>& x) {
  AP_UNROLL
  for (int i = 0; i < N / 4; ++i) {
    const float a = x.value[2 * i], b = x.value[2 * i + 1];
    const std::uint32_t hi = to_halves(a, b);
    to.part[0][i / 4][i % 4] = hi;
    to.part[1][i / 4][i % 4] = to_halves((a - lower_half(hi)) * LoFactor, (b - upper_half(hi)) * LoFactor);
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
