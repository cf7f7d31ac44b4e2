// SPDX-License-Identifier: Apache-2.0
// fp64 products: choice of the kernel, division of K, and launch.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "library/gemm/fp64/fp64_forms.hpp"
#include "library/gemm/fp64/fp64_product.hpp"
#include "library/gemm/operands/tiled/tiled_plan.hpp"

namespace antiphase::gemms {

struct fp64_plan : tiled_plan {
  const fp64_instance* instance = nullptr;
  fp64_division division;
  int rounds = 1;  // tiles that a warp walks over

  std::size_t workspace() const;  // bytes
};

// All compiled kernels of the target.
const std::vector<fp64_instance>& fp64_instances(target where);
// Whether the number of tiles fits 32 bits.
bool fp64_tiles_fit(const problem& p, const batch& of);
// Upper bound in bytes on the workspace of any fp64_plan of that shape; grows with M, N, K and the batch.
std::size_t most_fp64_workspace(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch);

// Whether the kernel can run it: TMA needs aligned operands, sm_90 and members of a batch at equal distances.
bool can_fp64(const context& where, const fp64_instance& with, const problem& p, const batch& of,
              bool turned);
// The plan with that kernel and division. rounds: tiles of a warp's walk; 0: kept_rounds() for the device.
fp64_plan plan_fp64(const context& where, const problem& p, const batch& of, const epilogue& after,
                    const fp64_instance& with, bool turned, const fp64_division& how, int rounds = 0);
// The division with the least predicted time; it has no form if no kernel of this build fits the device.
// undivided: among those that add up an output in the order of k alone.
fp64_choice divide(const context& where, const problem& p, const batch& of = {}, bool undivided = false);
// The plan with that division; nothing if it has no form or no kernel runs it.
std::optional<fp64_plan> plan_fp64(const context& where, const problem& p, const batch& of,
                                   const epilogue& after, const fp64_choice& how);
launch_counts run(const context& where, const fp64_plan& plan, std::span<std::byte> workspace, stream on);

}  // namespace antiphase::gemms
