// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels_tensor_mutants.cuh: the Tensor Core kernel of warpgroups with one fault each.
#pragma once
#include <antiphase/gemm/tensor_core_ladder.hpp>

#include "tests/support/mutant.hpp"

namespace antiphase::gemms {

constexpr warpgroup_policy narrow{.columns = 64, .stages = 2};

namespace checked {
std::vector<test::mutant<>> tensor_mutants();
}

}  // namespace antiphase::gemms
