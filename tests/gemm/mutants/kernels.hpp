// SPDX-License-Identifier: Apache-2.0
// Broken products as a test sees them.
#pragma once
#include "tests/support/mutant.hpp"

namespace antiphase::gemm_test {

// Of a kernel that takes gemms::problem as its params; one block per tile of `side` x `side` outputs.
constexpr int mutant_side = 16, mutant_tile_k = 16;

}  // namespace antiphase::gemm_test
