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

#include "src/gemm/operands/both_operands.hpp"
#include "src/gemm/fp64/fp64_forms.hpp"
#include "src/gemm/fp64/fp64_product.hpp"

namespace antiphase::gemms {

// Whether the copy engine takes it: rows in order, at multiples of 16 bytes.
bool tma_takes(const line_operand& o, std::int64_t k);
// For the copy engine, in boxes of slab_k k and so many lines, or, across k, of slab_k lines.
tensor_map encode(const context& where, const line_operand& o, std::int64_t k, std::int64_t batch, int lines);

// How C is stored where cells are so wide (fp64_policy).
packing packs_of(const problem& p, const batch& of, bool turned, int wide);

// Tiles of a product of two operands, for any kernel that takes a tiled_problem.
struct tiled_plan {
  problem what;
  batch of;
  epilogue after;
  bool turned = false;                                      // B is the long operand
  std::int64_t along_long = 0, along_short = 0, tiles = 0;  // of a member, of the batch
  std::int64_t k_of_part = 0;
  extent3 grid = {};
};
tiled_plan in_tiles(const problem& p, const batch& of, const epilogue& after, bool turned, extent2 tile);
// Who brings each operand: the copy engine needs a map of it.
struct brought_by {
  loader long_one, short_one;
};
// What its kernel is handed. The workspace holds a flag for each block that shares a tile, then what its
// parts leave there.
tiled_problem arguments_of(const context& where, const tiled_plan& plan, extent2 tile, brought_by by,
                            packing packs, int cluster, int parts, std::span<std::byte> workspace);

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
fp64_choice divide(const context& where, const problem& p, const batch& of = {},
                              bool undivided = false);
// With that division; nothing if it has no form.
std::optional<fp64_plan> plan_fp64(const context& where, const problem& p, const batch& of,
                                       const epilogue& after, const fp64_choice& how);
launch_counts run(const context& where, const fp64_plan& plan, std::span<std::byte> workspace, stream on);

}  // namespace antiphase::gemms
