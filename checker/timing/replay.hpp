// SPDX-License-Identifier: Apache-2.0
// When each instruction of a recorded block runs on a modelled machine.
#pragma once
#include <cstdint>
#include <vector>

#include "core/executor/cpu/order/clock.hpp"
#include "timed_block.hpp"

namespace antiphase::checker_detail {

struct op_time {
  // ticks; until `waited` for what it reads from global memory to registers
  std::int64_t begin = 0, end = 0, waited = 0;
};
// Times by warp and instruction.
using block_times = std::vector<std::vector<op_time>>;

// Uses by warp and instruction: for a load from global memory to registers the later instruction that waits
// for it; -1: none. Nothing tells what a register is used for, so this is a rule:
//
// - a load's value goes into the next store to shared memory, if nothing has been computed after the load,
//   or only from shared memory;
// - otherwise into the first arithmetic after it;
// - without either, into the next access that is no plain read, or where the warp's lanes exchange values.
std::vector<std::vector<std::int32_t>> uses_of_loads(const timed_block& b);

// `resident` such blocks share a multiprocessor and begin together; the times are those of the first. Ordered
// by what they did in the recorded run: barriers, mbarriers, copies.
block_times replay(const timed_block& b, const std::vector<std::vector<std::int32_t>>& uses,
                   const cpu_detail::clock_costs& costs, int resident);

}  // namespace antiphase::checker_detail
