// SPDX-License-Identifier: Apache-2.0
// The arguments of attention.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace antiphase {
namespace attentions {

// Rows of `depth` contiguous elements: those of member b, head h and index i begin at
// data + b * member_stride + h * head_stride + i * row_stride. Strides in elements.
template <class T> struct heads {
  T* data = nullptr;
  std::int64_t member_stride = 0, head_stride = 0, row_stride = 0;
};
// Heads that lie one after the other, [member][head][row][depth].
template <class T>
constexpr heads<T> packed_heads(T* data, std::int64_t count, std::int64_t rows, std::int64_t depth) {
  return {data, count * rows * depth, rows * depth, depth};
}

// One value for each pair of query and key; a stride of 0 shares it. Strides in elements.
template <class T> struct pairs {
  const T* data = nullptr;
  std::int64_t member_stride = 0, head_stride = 0, query_stride = 0, key_stride = 0;
};

// A result for each pair; its strides are not shared.
struct written_pairs {
  float* data = nullptr;
  std::int64_t member_stride = 0, head_stride = 0, query_stride = 0, key_stride = 0;
};

// Which keys a query sees: with the diagonal of query i at key i (top_left) or at i + keys - queries
// (bottom_right), those up to the diagonal.
enum class causal { no, top_left, bottom_right };
inline constexpr std::string_view causal_names[] = {"no", "top_left", "bottom_right"};

// Members of different lengths, packed one after the other. Of Q (or of K and V) member b has the rows from
// offsets[b] on, up to the row before offsets[b + 1]. Arrays of members + 1 numbers in device memory, rising
// from 0 to the number of rows. Then problem::queries and problem::keys are the lengths of the longest member
// at least, and member strides are not used.
struct packed_members {
  const std::int32_t* query_offsets = nullptr;  // null: all members have the same length
  const std::int32_t* key_offsets = nullptr;
  std::int64_t query_rows = 0, key_rows = 0;  // in all
};

// For every member, head and query i: O_i = sum over keys j of P_ij V_j, with P_i the softmax over visible
// keys of scale * Q_i K_j + bias_ij. A query that sees no key has O_i = 0.
//
//   {.q = packed_heads(q, 12, 1024, 64), .k = packed_heads(k, 12, 1024, 64),
//    .v = packed_heads(v, 12, 1024, 64), .out = packed_heads(o, 12, 1024, 64), .members = 8, .heads = 12,
//    .queries = 1024, .keys = 1024, .depth = 64, .mask = causal::top_left}
//
struct problem {
  attentions::heads<const float> q, k, v;
  attentions::heads<float> out;
  std::int64_t members = 1;  // the batch
  std::int64_t heads = 1;    // of Q and O
  std::int64_t kv_heads =
      0;  // of K and V, a divisor of `heads`: head h reads h / (heads / kv_heads). 0: as many
  std::int64_t queries = 0, keys = 0;  // rows of a member
  std::int64_t depth = 0;              // elements of a row, at most 256
  std::optional<float> scale = {};     // none: 1 / sqrt(depth)
  causal mask = causal::no;
  // Visible are only keys at most so far before and after the diagonal, which lies as with bottom_right if
  // `mask` is no; negative: all.
  std::int64_t window_before = -1, window_behind = -1;
  pairs<float> bias = {};             // added to the scaled product; -infinity hides a key
  pairs<unsigned char> visible = {};  // 0 hides a key
  packed_members lengths = {};
  // Results, if not null. logsumexp: log of the sum of exp(scale * Q_i K_j + bias_ij) over visible keys,
  // [member][head][query], or [head][row] of packed members. softmax: two numbers for each row in the same
  // order, which attention_backward() takes; if it is null, that takes logsumexp, whose rounding error of
  // |logsumexp| u is then one of every weight.
  float* logsumexp = nullptr;
  float* softmax = nullptr;
  // Floats of logsumexp from the first query of a head to that of the next. Those after the last query become
  // infinity; of packed members, those after all rows. 0: as many as there are queries, or packed rows.
  std::int64_t logsumexp_stride = 0;
};

// The gradients of a problem whose `out`, and `softmax` or `logsumexp`, are there: from dO to dQ, dK and dV,
// laid out as Q, K and V are, or not. dK and dV are sums over the heads that share them. The bias's, if it is
// not null, has a number of its own for each pair, also where the bias is shared; it takes neither mask nor
// window nor packed members.
struct gradients {
  attentions::heads<const float> out;
  attentions::heads<float> q, k, v;
  written_pairs bias = {};
};

}  // namespace attentions

// The names that the calls of attention.hpp use.
using attention_problem = attentions::problem;
using attention_gradients = attentions::gradients;
using attentions::causal, attentions::packed_heads;

}  // namespace antiphase
