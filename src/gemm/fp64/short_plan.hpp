// SPDX-License-Identifier: Apache-2.0
// Products with few values of k: one launch.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/problem.hpp>

#include "src/gemm/fp64/short_product.hpp"
#include "src/gemm/laws/cost.hpp"

namespace antiphase::gemms {

struct short_plan {
  problem what;
  kernel code;
  short_problem arguments;
  extent3 grid;
};

// The kernel; null if this build has none.
const kernel* short_kernel(target where, const epilogue& after);
// Whether its grid can be so large.
bool short_tiles_fit(const problem& p, const batch& of);
// How long it takes on that card.
double short_seconds(const laws& l, const product_shape& p, const device_limits& device);
// For a product with K of up to short_k, where there is a kernel.
short_plan plan_short(target where, const problem& p, const batch& of, const epilogue& after);

}  // namespace antiphase::gemms
