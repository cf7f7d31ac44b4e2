// SPDX-License-Identifier: Apache-2.0
// A tile of scores, probabilities or their gradients in a warpgroup's accumulator: which pairs of queries and
// keys are visible, biases, and the tile's elements as FP16 parts.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/device/accumulator.cuh>

#include "src/attention/members.hpp"

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

// Adds the bias of each pair to its score, as exponents of 2, and hides what problem::visible hides. Rows are
// queries and columns keys, or the other way round; `row` and `column` are the thread's first ones,
// `to_score` of each 64 columns.
template <bool RowsAreKeys, int N>
AP_DEV void add_bias(accumulator<N>& x, const problem& p, const member& m, int head, int row, int column,
                     const visible_columns& see, const float (&to_score)[N / 64]) {
  constexpr float log2_e = 1.44269504f;
  x.each([&](float& e, int half, int step) {
    e *= to_score[step / 64];
    const int query = RowsAreKeys ? column + step : row + 8 * half,
              key = RowsAreKeys ? row + 8 * half : column + step;
    if (query >= m.queries || step < see.begin[half] || step >= see.end[half]) return;
    const auto at = [&](const auto& pairs) {
      return pairs.data[m.index * pairs.member_stride + head * pairs.head_stride +
                        query * pairs.query_stride + key * pairs.key_stride];
    };
    if (p.bias.data != nullptr) e = multiply_add(at(p.bias), log2_e, e);
    if (p.visible.data != nullptr && at(p.visible) == 0) e = -INFINITY;
  });
}

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
