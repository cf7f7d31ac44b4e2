// SPDX-License-Identifier: Apache-2.0
// Attention by FP16 parts, backward: its policies and params.
#pragma once
#include "library/attention/fp16/forward.hpp"
#include "library/attention/fp32/fp32_kernels.hpp"

namespace antiphase::attentions {

// Whose gradients a kernel computes: dK and dV of a tile of keys, from all queries that see them, or dQ of a
// tile of queries, from all keys that they see.
enum class side { keys, queries };

struct gradient_policy {
  attentions::side side = side::keys;
  int depth = 64;       // padded: one of fp16::depths
  int slots = 6;        // tiles of one operand in the ring
  int items = 2;        // of which the own operands are there, or on their way
  int held = 2;         // so many parts of the own operands in registers, of hi, hi, lo, lo
  int registers = 232;  // of a computing thread: 232 or 240
  bool shared = false;  // both warpgroups have the same 64 keys: one computes dV, the other dK
  bool biased = false;  // adds a bias, or hides keys by problem::visible
  constexpr int own_rows() const { return shared ? 64 : 128; }
  constexpr bool operator==(const gradient_policy&) const = default;
};

// Writes the parts of all operands with a scale for each tile, and the queries' numbers.
struct gradient_split_params {
  split_params others;       // Q, K and V, lo_factor = near_lo; two counters of items
  split_operand d_out, out;  // of Q's shape; of `out` only where it lies
  attentions::problem problem;
  // Of the queries, [head][tile][2][64]: what is subtracted from a score before the power of two (infinite
  // for a row that sees no key, or is none), and D = sum dO O over the columns, divided by the softmax's sum
  // as dO is.
  float* numbers;
};

struct gradient_params {
  tensor_map own[2], other[2];  // K, V and Q, dO, or the other way round
  attentions::problem problem;
  row_gradients results;
  wide_factor to_score;  // forward_params::factor
  float factor;          // of the result: of dK, |scale|; of dQ, the caller's scale
  split_shape queries, keys;
  const float *q_scale, *k_scale, *v_scale, *g_scale;  // [head][tile]
  const float* numbers;
  const std::uint32_t* flags;  // [member][kv head]
  std::uint32_t* next_item;
  std::int32_t tiles;  // of own_rows(), of a member
  std::int32_t group;  // heads of Q that share one of K
  written_pairs bias_gradient;
};

struct gradient_instance {
  gradient_policy policy;
  kernel code;
};
struct gradient_split_instance {
  int depth;  // padded
  kernel code;
};

}  // namespace antiphase::attentions
