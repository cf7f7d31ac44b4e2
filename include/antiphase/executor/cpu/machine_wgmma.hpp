// SPDX-License-Identifier: Apache-2.0
// The CPU executor's Tensor Core step as inline PTX asks for it: of every type of operand and any number of
// columns.
#pragma once
#include <antiphase/executor/cpu/machine.hpp>
#include <cstdint>

namespace antiphase::machine {

// bf16 and tf32: k of 16 and 8, where f16 has 16. Sums of bf16 are added up exactly and rounded once, which
// no measurement stands behind.
enum class operand_type : unsigned char { f16, bf16, tf32 };

// As warpgroup_multiply, of `columns` that are a multiple of 8, up to 256. `a` is copied: what becomes of the
// registers is not looked at.
void warpgroup_multiply_of(operand_type type, float* sum, const warpgroup_step& what, const std::uint32_t* a,
                           place where);

}  // namespace antiphase::machine
