// SPDX-License-Identifier: Apache-2.0
// Finishing results in a pass of its own: for kernels that know no epilogue, and where there is nothing to
// multiply.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstdint>

#include "src/gemm/operands/finish_pass.hpp"

namespace antiphase::gemms {

// The whole result of a product that has nothing to multiply, but more to do than a step of the ladder knows.
struct finish_plan {
  problem what;
  batch of;
  epilogue after;
};

std::uint64_t finish_blocks(const problem& p, const batch& of);
// Whether its grid can be so large.
bool finish_tiles_fit(const problem& p, const batch& of);
// What is left to do once C holds alpha A B, and beta C where there is no residual.
launch_counts finish_product(const context& where, const problem& p, const batch& of, const epilogue& e,
                             stream on);
launch_counts run(const context& where, const finish_plan& plan, stream on);

}  // namespace antiphase::gemms
