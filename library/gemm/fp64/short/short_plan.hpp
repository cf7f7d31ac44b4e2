// SPDX-License-Identifier: Apache-2.0
// Products with K of up to four: the plan of their launch.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/problem.hpp>

#include "library/gemm/fp64/short/short_product.hpp"
#include "library/gemm/operands/cost_terms.hpp"

namespace antiphase::gemms {

struct short_plan {
  gemms::problem problem;
  kernel code;
  short_problem arguments;
  extent3 grid;
};

// The kernel; null if this build has none.
const kernel* short_kernel(target where, const epilogue& after);
// Whether the grid fits its limits.
bool short_tiles_fit(const problem& p, const batch& of);
// Predicted time.
double short_seconds(const costs::models& l, const product_shape& p, const device_limits& device);
// The plan of a product with K of up to short_k; short_kernel() has to find a kernel.
short_plan plan_short(target where, const problem& p, const batch& of, const epilogue& after);

}  // namespace antiphase::gemms
