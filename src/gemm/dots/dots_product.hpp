// SPDX-License-Identifier: Apache-2.0
// Products with up to eight rows or columns: what is asked.
#pragma once
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

// How a sum over k is divided. Of all groups of 4 values of k, thread n of a line's `slots` threads takes every slots-th; blocks of a
// cluster have consecutive shares of k. The order of additions follows from that and the kernel alone, however operands lie: as many lanes
// as a block has for an output, a warp's at most, add up the threads' sums, each every so many, and then theirs in pairs.
// Rows: lines of the long operand that a thread has, for which there are kernels from dots_least_rows to dots_most_rows.
struct dots_division {
  int slots = dots_least_slots, cluster = 1, rows = 2;
  constexpr bool operator==(const dots_division&) const = default;
  constexpr int lines() const { return dots_threads / slots * rows; }  // of the long operand, of a block
};

struct dots_problem {
  line_operand of_long, of_short;
  float* c;
  float* const* c_member;                                // an array of pointers, as of operands
  std::int64_t long_stride, short_stride, batch_stride;  // of C, from line to line of each operand, and from member to member
  std::int64_t k, k_of_block;                            // k_of_block: a multiple of dots_step * slots
  std::int32_t slot_bits;                                // 2^slot_bits slots
  std::uint32_t tiles;                                   // of a member
  ending end;                                            // its rows are lines of the long operand
};

struct dots_instance {
  int lines;      // of the short operand, at most
  int rows;       // of a division
  bool finishes;  // knows epilogues
  kernel code;
};

}  // namespace antiphase::gemms
