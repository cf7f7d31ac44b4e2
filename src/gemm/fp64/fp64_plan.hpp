// SPDX-License-Identifier: Apache-2.0
// Streaming products: which kernel, how K is divided, and the launch.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "src/gemm/fp64/fp64_forms.hpp"
#include "src/gemm/fp64/fp64_product.hpp"
#include "src/gemm/operands/tiled_plan.hpp"

namespace antiphase::gemms {

struct fp64_plan : tiled_plan {
  const fp64_instance* with = nullptr;
  fp64_division how;
  int rounds = 1;  // tiles that a warp walks over

  std::size_t workspace() const;  // bytes
};

// All compiled kernels of the target.
const std::vector<fp64_instance>& fp64_instances(target where);
// Whether tiles can be counted.
bool fp64_tiles_fit(const problem& p, const batch& of);
// At least what any fp64_plan of that shape takes, growing with M, N, K and the batch.
std::size_t most_fp64_workspace(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch);

// Whether the kernel can run it: the copy engine asks for aligned operands, sm_90 and members of a batch at
// equal distances.
bool can_fp64(const context& where, const fp64_instance& with, const problem& p, const batch& of,
              bool turned);
// With a kernel and a division. rounds: tiles of a warp's walk; 0: as many as the device calls for.
fp64_plan plan_fp64(const context& where, const problem& p, const batch& of, const epilogue& after,
                    const fp64_instance& with, bool turned, const fp64_division& how, int rounds = 0);
// The fastest division, by prediction: with no form if no kernel of this build fits the device. `undivided`:
// of those that add up an output in the order of k alone.
fp64_choice divide(const context& where, const problem& p, const batch& of = {}, bool undivided = false);
// With that division; nothing if it has no form.
std::optional<fp64_plan> plan_fp64(const context& where, const problem& p, const batch& of,
                                   const epilogue& after, const fp64_choice& how);
launch_counts run(const context& where, const fp64_plan& plan, std::span<std::byte> workspace, stream on);

}  // namespace antiphase::gemms
