// SPDX-License-Identifier: Apache-2.0
// A matrix times a vector, and small products: the problem, its divisions, and the table of kernels.
#pragma once
#include <antiphase/core/divider.hpp>
#include <antiphase/executor/kernel.hpp>
#include <cstdint>

#include "library/gemm/operands/finish/ending.hpp"
#include "library/gemm/operands/line_operand.hpp"

namespace antiphase::gemms {

constexpr int dots_lines = 8;  // most lines of the short operand, unless the product is small
constexpr int dots_step = 4;   // adjacent k that a thread takes at a time, for a vector
// By lanes (dots_by_lanes.cuh): fewest lanes per output; threads of a block; k that a lane takes at a time,
// for one output; largest K of a small product.
constexpr int dots_least_lanes = 4, dots_lanes_threads = 128, dots_lanes_step = 8, dots_lanes_most_k = 8192;
// The kernel for operands across k: fewest lanes per output. Its block has eight lines with the most lanes.
constexpr int dots_least_across = 16;
constexpr int dots_threads_of_lanes(bool across) {
  return across ? 8 * dots_lanes_threads : dots_lanes_threads;
}
constexpr double dots_lanes_most_work = 4e6;
constexpr int dots_lanes_far_k = 1 << 30;  // the most k that a lane counts
// A matrix times a vector (dots_vector.cuh): slots per line; lines per thread, along k and across; threads of
// a block; resident blocks of the largest size per multiprocessor.
constexpr int dots_vector_least_slots = 32, dots_vector_most_slots = 256;
constexpr int dots_vector_least_rows(bool across) { return across ? 4 : 1; }
constexpr int dots_vector_most_rows(bool across) { return across ? 4 : 2; }
constexpr int dots_vector_finishing_rows = 2;  // fewest, with an epilogue
constexpr int dots_vector_least_threads = 128;
constexpr int dots_vector_threads(bool across) { return across ? 512 : 256; }
constexpr int dots_vector_places(int rows) { return rows == 1 ? 4 : rows == 2 ? 3 : 1; }

// How a sum over k is divided. The order of additions follows from that and the kernel alone, whatever the
// layout. By lanes: a square of 1 x 1 or 2 x 2 outputs belongs to `slots` threads, each of which takes every
// slots-th k. For a vector (square is 0): each of a line's `slots` threads takes every slots-th group of 4 k.
// In both, the sums of a warp's lanes are added in pairs, and then those of the warps one after another.
struct dots_division {
  int slots = dots_least_lanes, square = 0;
  constexpr bool operator==(const dots_division&) const = default;
  constexpr bool for_vector() const { return square == 0; }
  // by lanes: lines of the long operand, of a block
  constexpr int lines(int threads) const { return threads / slots * square; }
  constexpr int k_at_once() const { return slots * (for_vector() ? dots_step : dots_lanes_step / square); }
};

struct dots_problem {
  line_operand of_long, of_short;
  float* c;
  float* const* c_member;  // array of pointers, as for operands
  // strides of C: by line of either operand, by member of the batch
  std::int64_t long_stride, short_stride, batch_stride;
  std::int64_t k;
  std::int32_t slot_bits;        // 2^slot_bits slots
  divider tiles;                 // tiles of a member
  ending end;                    // its rows are lines of the long operand
  std::int32_t thread_bits = 0;  // for a vector: a block has 2^thread_bits threads
};

// A block's member and tile.
struct dots_place {
  std::uint32_t member, tile;
  AP_FN dots_place(const dots_problem& p, std::uint32_t index)
      : member(p.tiles.quotient(index)), tile(index - member * p.tiles.by()) {}
};

constexpr dots_division divided_by_lanes(int lanes, int square) { return {.slots = lanes, .square = square}; }
constexpr dots_division divided_for_vector(int slots) { return {.slots = slots}; }

// Kernels by lanes have a square, those for a vector lines_of_thread.
struct dots_policy {
  int square = 0;           // as in dots_division
  int lines_of_thread = 0;  // for a vector
  bool finishes = false;    // applies epilogues
  bool across = false;      // for operands across k

  constexpr bool for_vector() const { return square == 0; }
  constexpr bool operator==(const dots_policy&) const = default;
};
struct dots_instance : dots_policy {
  kernel code;
};

// Designated initialisers skip no member in between: nvcc 13.0 misplaces those after a gap.
struct dots_kernel {
  const char* name;
  dots_policy policy;
};
inline dots_instance instance_of(const dots_kernel& row, kernel code) { return {row.policy, code}; }

constexpr dots_kernel dots_table[] = {
    {.name = "gemm.fp64-dots-lanes-1",
     .policy = {.square = 1, .lines_of_thread = 0, .finishes = false, .across = false}},
    {.name = "gemm.fp64-dots-lanes-2",
     .policy = {.square = 2, .lines_of_thread = 0, .finishes = false, .across = false}},
    {.name = "gemm.fp64-dots-finish-lanes",
     .policy = {.square = 1, .lines_of_thread = 0, .finishes = true, .across = false}},
    {.name = "gemm.fp64-dots-across-1",
     .policy = {.square = 1, .lines_of_thread = 0, .finishes = false, .across = true}},
    {.name = "gemm.fp64-dots-across-2",
     .policy = {.square = 2, .lines_of_thread = 0, .finishes = false, .across = true}},
    {.name = "gemm.fp64-dots-finish-across",
     .policy = {.square = 1, .lines_of_thread = 0, .finishes = true, .across = true}},
    {.name = "gemm.fp64-dots-vector-1",
     .policy = {.square = 0, .lines_of_thread = 1, .finishes = false, .across = false}},
    {.name = "gemm.fp64-dots-vector-2",
     .policy = {.square = 0, .lines_of_thread = 2, .finishes = false, .across = false}},
    {.name = "gemm.fp64-dots-vector-across",
     .policy = {.square = 0, .lines_of_thread = 4, .finishes = false, .across = true}},
    {.name = "gemm.fp64-dots-finish-vector",
     .policy = {.square = 0, .lines_of_thread = 2, .finishes = true, .across = false}},
    {.name = "gemm.fp64-dots-finish-vector-across",
     .policy = {.square = 0, .lines_of_thread = 4, .finishes = true, .across = true}}};

}  // namespace antiphase::gemms
