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
// Lines of the long operand that a thread has, with so many lines of the short one: as many sums as registers take.
constexpr int dots_rows(int few) { return few > 2 ? 2 : 4; }
constexpr int dots_least_slots = 4;
// With one line a whole block may share the sums of a few of the long operand's; with more that was no gain, and what is staged of the
// short operand grows with both.
constexpr int dots_most_slots(int few) { return few > 1 ? 32 : dots_threads; }

// How a sum over k is divided. Of all groups of 4 values of k, thread n of a line's `slots` threads takes every slots-th; blocks of a
// cluster have consecutive shares of k. The order of additions follows from that alone, however operands lie: the threads' sums are added
// in their order, those of more than a warp's first in 32 parts and these in pairs.
struct dots_division {
  int slots = 1, cluster = 1;
  constexpr bool operator==(const dots_division&) const = default;
  constexpr int lines(int few) const { return dots_threads / slots * dots_rows(few); }  // of the long operand, of a block
};

struct dots_problem {
  line_operand of_long, of_short;
  float* c;
  float* const* c_member;                                // an array of pointers, as of operands
  std::int64_t long_stride, short_stride, batch_stride;  // of C, from line to line of each operand, and from member to member
  std::int64_t k, k_of_block;                            // k_of_block: a multiple of dots_step * slots
  std::int32_t slots, lines;                             // lines: of a block
  std::uint32_t tiles;                                   // of a member
  ending end;                                            // its rows are lines of the long operand
};

struct dots_instance {
  int lines;      // of the short operand, at most
  bool finishes;  // knows epilogues
  kernel code;
};

}  // namespace antiphase::gemms
