// SPDX-License-Identifier: Apache-2.0
// The kernels of attention in FP32: their policies and arguments.
#pragma once
#include <antiphase/attention/problem.hpp>
#include <antiphase/executor/kernel.hpp>
#include <cstdint>
#include <span>

namespace antiphase::attentions {

constexpr int keys_of_tile = 32;  // one for each lane
constexpr int warps_of_block = 4;
constexpr int tile_padding = 4;  // floats after a row of a tile that lanes read row by row: no bank conflicts

// The policy of the forward's kernel (tiled.cuh).
struct tiled_policy {
  int depth;    // columns of a tile; those beyond the problem's depth are zeros
  int rows;     // queries of a warp
  int buffers;  // of tiles of K and V: 1, or 2 filled by cp.async

  constexpr int tile() const { return warps_of_block * rows; }  // queries of a block
  constexpr bool operator==(const tiled_policy&) const = default;
};
// Of one buffer: such that a block fits 64 KiB of shared memory, all that Turing has.
inline constexpr tiled_policy tiled_policies[] = {{32, 16, 1}, {64, 16, 1}, {128, 16, 1}, {256, 4, 1}};
inline constexpr tiled_policy double_buffered_policies[] = {
    {32, 16, 2}, {64, 16, 2}, {128, 16, 2}, {256, 8, 2}};

// Of the gradients' kernels (backward.cuh), which own rows of Q and compute dQ, or of K and compute dK and
// dV.
enum class owned { queries, keys };
struct backward_policy {
  int depth;
  int rows;  // owned by a warp
  owned owner;

  constexpr int tile() const { return warps_of_block * rows; }
  constexpr bool operator==(const backward_policy&) const = default;
};
inline constexpr backward_policy backward_policies[] = {
    {32, 16, owned::queries}, {64, 8, owned::queries}, {128, 4, owned::queries}, {256, 2, owned::queries},
    {32, 16, owned::keys},    {64, 8, owned::keys},    {128, 4, owned::keys},    {256, 2, owned::keys}};

// The problem's defaults are resolved.
struct forward_arguments {
  attentions::problem problem;
  unsigned tiles = 0;  // of queries, of all heads and members: a block takes every n-th, of a grid of n
  // One word for each member and head of K, [member][kv_head], or null: those whose word is 0 are left out.
  const std::uint32_t* flags = nullptr;
};
// Queries that see at most few_keys keys by mask and window.
constexpr int few_keys = 4, few_warps = 2 * few_keys;
struct few_keys_arguments {
  attentions::problem problem;
};

struct naive_arguments {
  attentions::problem problem;
  float* scores;  // [member][head][query][key]
};

// attentions::gradients without the bias's.
struct row_gradients {
  heads<const float> out;
  heads<float> q, k, v;

  row_gradients() = default;
  row_gradients(const gradients& of) : out(of.out), q(of.q), k(of.k), v(of.v) {}
};
struct backward_arguments {
  attentions::problem problem;
  row_gradients results;
  const float* dots;   // of rows of dO and O, in the order of problem::softmax
  unsigned tiles = 0;  // as of the forward
  const std::uint32_t* flags = nullptr;
  written_pairs bias_gradient = {};
};
struct dots_arguments {
  attentions::problem problem;
  heads<const float> gradient;  // of O
  float* dots;
  unsigned tiles = 0;
  const std::uint32_t* flags = nullptr;
};

struct softmax_arguments {
  const float* logsumexp;
  float* softmax;
  std::int64_t rows, rows_of_head, stride;  // stride: problem::logsumexp_stride
};

// The compiled kernels.
struct tiled_instance {
  tiled_policy policy;
  kernel code;
};
struct backward_instance {
  backward_policy policy;
  kernel code;
};
enum class naive_stage { scores, softmax, product };
struct naive_instance {
  naive_stage stage;
  kernel code;
};
struct dots_instance {
  kernel code;
};
struct few_keys_instance {
  kernel code;
};
struct softmax_instance {
  kernel code;
};
std::span<const tiled_instance> tiled_instances(target where);
std::span<const backward_instance> backward_instances(target where);
std::span<const naive_instance> naive_instances(target where);
std::span<const dots_instance> dots_instances(target where);
std::span<const few_keys_instance> few_keys_instances(target where);
std::span<const softmax_instance> softmax_instances(target where);

}  // namespace antiphase::attentions
