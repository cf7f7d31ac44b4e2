// SPDX-License-Identifier: Apache-2.0
// The finishing pass on the host: for kernels that apply no epilogue, and where there is nothing to multiply.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstdint>

#include "library/gemm/operands/finish/finish_pass.hpp"

namespace antiphase::gemms {

// A product with nothing to multiply, but a batch or an epilogue, which no step of the ladder takes.
struct finish_plan {
  gemms::problem problem;
  gemms::batch batch;
  epilogue after;
};

std::uint64_t finish_blocks(const problem& p, const batch& of);
// Whether the grid is within the limit of 2^31 - 1 blocks.
bool finish_tiles_fit(const problem& p, const batch& of);
// Applies the rest of the epilogue to C, which holds alpha A B, plus beta C if there is no residual.
launch_counts finish_product(const context& where, const problem& p, const batch& of, const epilogue& e,
                             stream on);
launch_counts run(const context& where, const finish_plan& plan, stream on);

}  // namespace antiphase::gemms
