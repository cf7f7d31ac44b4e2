// SPDX-License-Identifier: Apache-2.0
// Products with up to eight rows or columns, and small ones: what is asked.
#pragma once
#include <antiphase/core/divider.hpp>
#include <antiphase/executor/kernel.hpp>
#include <cstdint>

#include "src/gemm/ending.hpp"
#include "src/gemm/line_operand.hpp"

namespace antiphase::gemms {

constexpr int dots_lines = 8;      // the most lines of the short operand
constexpr int dots_threads = 256;  // of a block
constexpr int dots_step = 4;       // neighbouring values of k that a thread takes at a time
constexpr int dots_least_slots = 4, dots_most_cluster = 8;
// What is staged of the short operand grows with its lines and with the slots.
constexpr int dots_most_slots(int few) { return few > 4 ? 64 : few > 2 ? 128 : dots_threads; }
// Lines of the long operand that a thread may have: more are fewer loads of the short one, fewer are less to do one after another.
constexpr int dots_least_rows(int few) { return few > 2 ? 1 : 2; }
constexpr int dots_most_rows(int few) { return few > 2 ? 2 : 4; }
constexpr int dots_finishing_rows = 2;  // the kernel that knows epilogues is made for eight lines of the short operand, and these
// By lanes (dots_by_lanes.cuh): threads of a block; values of k that a lane takes at a time, of one output; the most k, and multiply-adds.
constexpr int dots_lanes_threads = 128, dots_lanes_step = 8, dots_lanes_most_k = 8192;
// Of the kernel for operands across k: from so many lanes of an output on; its block has eight lines with as many lanes as there may be.
constexpr int dots_least_across = 16;
constexpr int dots_threads_of_lanes(bool across) { return across ? 8 * dots_lanes_threads : dots_lanes_threads; }
constexpr double dots_lanes_most_work = 4e6;
// Of a matrix times a vector (dots_vector.cuh): slots of a line; lines of a thread, along k and across; threads of a block; blocks of as
// many threads as there may be that a multiprocessor has places for.
constexpr int dots_vector_least_slots = 32, dots_vector_most_slots = 256;
constexpr int dots_vector_least_rows(bool across) { return across ? 4 : 1; }
constexpr int dots_vector_most_rows(bool across) { return across ? 4 : 2; }
constexpr int dots_vector_least_threads = 128;
constexpr int dots_vector_threads(bool across) { return across ? 512 : 256; }
constexpr int dots_vector_places(int rows) { return rows == 1 ? 4 : rows == 2 ? 3 : 1; }

// How a sum over k is divided. Of all groups of 4 values of k, thread n of a line's `slots` threads takes every slots-th; blocks of a
// cluster have consecutive shares of k. The order of additions follows from that and the kernel alone, however operands lie: as many lanes
// as a block has for an output, a warp's at most, add up the threads' sums, each every so many, and then theirs in pairs.
// Rows: lines of the long operand that a thread has, for which there are kernels from dots_least_rows to dots_most_rows.
// By lanes: a square of 1 or 2 x 2 outputs belongs to `slots` threads, which take every slots-th value of k; lanes of a warp add up their
// sums in pairs, and warps one after another. There is neither a cluster nor rows then.
// For a vector: of a single line of the short operand, warps of 32 slots add up in pairs, and warps one after another. Nor is there a
// cluster, and how many lines a thread has does not matter for the sums, so that there are neither rows nor a square.
struct dots_division {
  int slots = dots_least_slots, cluster = 1, rows = 2, square = 0;
  constexpr bool operator==(const dots_division&) const = default;
  constexpr bool by_lanes() const { return square > 0; }
  constexpr bool by_blocks() const { return rows > 0; }
  constexpr bool for_vector() const { return !by_lanes() && !by_blocks(); }
  constexpr int lines(int threads) const { return threads / slots * (by_lanes() ? square : rows); }  // of the long operand, of a block
  constexpr int k_at_once() const { return slots * (by_lanes() ? dots_lanes_step / square : dots_step); }
};

struct dots_problem {
  line_operand of_long, of_short;
  float* c;
  float* const* c_member;                                // an array of pointers, as of operands
  std::int64_t long_stride, short_stride, batch_stride;  // of C, from line to line of each operand, and from member to member
  std::int64_t k, k_of_block;                            // k_of_block: a multiple of dots_step * slots
  std::int32_t slot_bits;                                // 2^slot_bits slots
  divider tiles;                                         // of a member
  ending end;                                            // its rows are lines of the long operand
  std::int32_t thread_bits = 0;                          // for a vector: a block has 2^thread_bits threads
};

// Which tile of which member a block has, or a cluster.
struct dots_place {
  std::uint32_t member, tile;
  AP_FN dots_place(const dots_problem& p, std::uint32_t index) : member(p.tiles.quotient(index)), tile(index - member * p.tiles.by()) {}
};

constexpr dots_division divided_by_lanes(int lanes, int square) { return {lanes, 1, 0, square}; }
constexpr dots_division divided_for_vector(int slots) { return {slots, 1, 0, 0}; }

struct dots_instance {
  int lines;            // of the short operand, at most; by lanes: as many as there are
  int rows, square;     // of a division
  int lines_of_thread;  // for a vector
  bool finishes;        // knows epilogues
  bool across;          // by lanes, or for a vector: for operands across k
  kernel code;

  constexpr bool by_lanes() const { return square > 0; }
  constexpr bool by_blocks() const { return rows > 0; }
  constexpr bool for_vector() const { return !by_lanes() && !by_blocks(); }
};

}  // namespace antiphase::gemms
