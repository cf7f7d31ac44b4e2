// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels_linear_mutants.cuh: linear layers with one fault each.
#pragma once
#include "library/linear/linear_arguments.hpp"
#include "tests/support/mutant.hpp"

namespace antiphase::linears {

constexpr tile_policy narrow{true, 1, 256};                   // four slots of one block
constexpr tile_policy pair{true, 1, 64, false, false, 3, 2};  // three, of two blocks of a cluster

namespace checked {
std::vector<test::mutant<tile_policy>> tile_mutants();
}

}  // namespace antiphase::linears
