// SPDX-License-Identifier: Apache-2.0
// The CPU executor's Tensor Core step for inline PTX: all operand types and any number of columns.
#pragma once
#include <antiphase/executor/cpu/machine.hpp>
#include <cstdint>

namespace antiphase::machine {

// k is 16 for f16 and bf16, 8 for tf32. Sums of bf16 are exact and rounded once, which no measurement
// confirms.
enum class operand_type : unsigned char { f16, bf16, tf32 };

// As warpgroup_multiply, for `columns` a multiple of 8, up to 256. `a` is copied: later writes to its
// registers are not checked.
void warpgroup_multiply_of(operand_type type, float* sum, const warpgroup_step& what, const std::uint32_t* a,
                           place where);

}  // namespace antiphase::machine
