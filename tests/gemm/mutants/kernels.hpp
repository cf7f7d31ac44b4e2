// SPDX-License-Identifier: Apache-2.0
// Constants of the broken products that their test needs.
#pragma once
#include "tests/support/mutant.hpp"

namespace antiphase::gemm_test {

// Its kernels take gemms::problem as params; a block for each tile of mutant_side x mutant_side outputs.
constexpr int mutant_side = 16, mutant_tile_k = 16;

}  // namespace antiphase::gemm_test
