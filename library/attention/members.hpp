// SPDX-License-Identifier: Apache-2.0
// Where the rows of a member of attention's batch lie, and which keys a query sees.
#pragma once
#include <antiphase/attention/problem.hpp>
#include <antiphase/core/portable.hpp>
#include <cmath>

namespace antiphase::attentions {

// The kernels take a problem whose defaults are resolved: neither kv_heads nor logsumexp_stride is 0, and
// there is a scale. Extents of a member are below 2^30.
AP_FN float scale_of(const problem& p) { return *p.scale; }
struct member {
  int index = 0;
  int queries = 0, keys = 0;
  std::int64_t first_query = 0, first_key = 0;  // rows of the packed arrays before it; 0 if not packed
};
// offsets[i] of packed members, brought within the rows that there are: with wrong offsets in a GPU's memory,
// which the host cannot check, results are wrong, but only the operands' memory is reached.
AP_FN std::int32_t offset_in(const std::int32_t* offsets, int i, std::int64_t rows) {
  const std::int32_t at = offsets[i];
  return at < 0 ? 0 : at > rows ? static_cast<std::int32_t>(rows) : at;
}
AP_FN member member_of(const problem& p, int index) {
  if (p.lengths.query_offsets == nullptr)
    return {index, static_cast<int>(p.queries), static_cast<int>(p.keys), 0, 0};
  const std::int32_t *const q = p.lengths.query_offsets, *const k = p.lengths.key_offsets;
  const std::int64_t rows = p.lengths.query_rows, keys = p.lengths.key_rows;
  const std::int32_t first_query = offset_in(q, index, rows), first_key = offset_in(k, index, keys);
  return {index, offset_in(q, index + 1, rows) - first_query, offset_in(k, index + 1, keys) - first_key,
          first_query, first_key};
}

// The same rows, to be read alone.
AP_FN heads<const float> read_only(const heads<float>& rows) {
  return {rows.data, rows.member_stride, rows.head_stride, rows.row_stride};
}

// The first element of row i of a head.
template <class T> AP_FN T* row_of(const problem& p, const heads<T>& in, const member& m, std::int64_t first,
                                   int head, std::int64_t i) {
  const bool packed = p.lengths.query_offsets != nullptr;
  return in.data + (packed ? 0 : m.index * in.member_stride) + head * in.head_stride +
         (first + i) * in.row_stride;
}
template <class T>
AP_FN T* query_row(const problem& p, const heads<T>& in, const member& m, int head, std::int64_t i) {
  return row_of(p, in, m, m.first_query, head, i);
}
template <class T>
AP_FN T* key_row(const problem& p, const heads<T>& in, const member& m, int kv_head, std::int64_t j) {
  return row_of(p, in, m, m.first_key, kv_head, j);
}
// The index of a query's row in softmax.
AP_FN std::int64_t stored_row(const problem& p, const member& m, int head, std::int64_t i) {
  if (p.lengths.query_offsets != nullptr) return head * p.lengths.query_rows + m.first_query + i;
  return (m.index * p.heads + head) * p.queries + i;
}
// Rows of Q of a head, in one member if they are not packed.
AP_FN std::int64_t rows_of_head(const problem& p) {
  return p.lengths.query_offsets != nullptr ? p.lengths.query_rows : p.queries;
}
// Index of a head's first logsumexp.
AP_FN std::int64_t logsumexp_of_head(const problem& p, const member& m, int head) {
  return (p.lengths.query_offsets != nullptr ? head : m.index * p.heads + head) * p.logsumexp_stride;
}
// Stores a query's logsumexp. The thread of a head's last row also fills what lies before the next head with
// infinity.
AP_FN void store_logsumexp(float* all, const problem& p, const member& m, int head, std::int64_t i, float x) {
  const std::int64_t row = m.first_query + i;
  float* const to = all + logsumexp_of_head(p, m, head);
  to[row] = x;
  if (row + 1 != rows_of_head(p)) return;
  AP_ROLLED
  for (std::int64_t n = row + 1; n < p.logsumexp_stride; ++n) to[n] = INFINITY;
}

// Query i sees the keys from begin(i) to end(i) - 1, by mask and window; a bias and problem::visible may hide
// some of them. Both rise with i.
struct reach {
  int low, high, keys;
  AP_FN int begin(int i) const { return i + low > 0 ? i + low : 0; }
  AP_FN int end(int i) const { return i + high < keys ? (i + high > 0 ? i + high : 0) : keys; }
  AP_FN bool sees(int i, int j) const { return j >= begin(i) && j < end(i); }
};
AP_FN reach reach_of(const problem& p, const member& m) {
  constexpr int all = 1 << 30;
  const int diagonal = p.mask == causal::top_left ? 0 : m.keys - m.queries;
  int high = p.mask == causal::no ? all : diagonal + 1;
  if (p.window_behind >= 0 && p.window_behind < all && diagonal + p.window_behind + 1 < high)
    high = diagonal + static_cast<int>(p.window_behind) + 1;
  const int low =
      p.window_before >= 0 && p.window_before < all ? diagonal - static_cast<int>(p.window_before) : -all;
  return {low, high, m.keys};
}

}  // namespace antiphase::attentions
