// SPDX-License-Identifier: Apache-2.0
// The CPU executor's Tensor Core step of tf32, which wgmma_tf32.cuh calls.
#pragma once
#include <antiphase/executor/cpu/machine.hpp>
#include <cstdint>

namespace antiphase::machine {

// As warpgroup_multiply, for eight k: A in four registers of each thread, B by descriptor, k-major.
void warpgroup_multiply_tf32(float* sum, int columns, bool accumulate, const std::uint32_t* a,
                             std::uint64_t b_descriptor, place where);

}  // namespace antiphase::machine
