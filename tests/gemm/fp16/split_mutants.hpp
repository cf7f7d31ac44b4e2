// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels_split_mutants.cuh and kernels_split_mma_mutants.cuh: products of split operands with
// one fault each.
#pragma once
#include "library/gemm/fp16/split_product.hpp"

#include "tests/support/mutant.hpp"

namespace antiphase::gemms {

constexpr product_policy few_stages{.stages = 4};

namespace checked {
std::vector<test::mutant<>> split_mutants();
std::vector<test::mutant<>> split_mma_mutants();
}  // namespace checked

}  // namespace antiphase::gemms
