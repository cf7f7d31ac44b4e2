// SPDX-License-Identifier: Apache-2.0
// tf32 products: choice of the kernel, division of K, and launch.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "library/gemm/operands/cost_terms.hpp"
#include "library/gemm/operands/tiled/tiled_plan.hpp"
#include "library/gemm/tf32/tf32_product.hpp"

namespace antiphase::gemms {

// How a sum over k is divided: over the blocks of a cluster and over clusters, whose sums meet in the
// workspace.
struct tf32_division {
  int cluster = 1, parts = 1;
  // not 0: outputs have the bits of K in so many pieces, whatever shares a tile: a cluster of as many blocks,
  // as many parts, or one block that takes a piece after the other. B is the long operand then, since the
  // parts of its elements are made in another way
  int pieces = 0;
  constexpr bool operator==(const tf32_division&) const = default;
};
struct tf32_choice {
  tf32_division division;
  double seconds;  // predicted
};
// The division with the least predicted time. It depends on the shape and the device alone, never on layouts.
tf32_choice divide_tf32(const product_shape& p, const device_limits& device);
// The largest K for which rows can have the same bits whatever the batch, and in how many pieces K is added
// up then: enough for few rows to fill a device.
constexpr std::int64_t most_k_in_pieces = 4 * k_of_tf32_share;
constexpr int tf32_pieces_of(std::int64_t k) { return k >= 2048 ? 4 : k >= 1024 ? 2 : 1; }
// The fastest way to have these bits, by shape and device.
tf32_choice divide_tf32_in_pieces(const product_shape& p, const device_limits& device);
// All candidates with their predicted seconds, and the seconds of one: for fitting the cost model.
void each_tf32_division(const costs::models& l, const product_shape& p, const device_limits& device,
                        const std::function<void(const tf32_division&, double)>& use);
double tf32_seconds(const costs::models& l, const product_shape& p, const device_limits& device,
                    const tf32_division& how);

struct tf32_plan : tiled_plan {
  const tf32_instance* instance = nullptr;
  tf32_division division;
  std::int64_t rows_of_band = 0, bands = 0;  // as in tf32_problem
  std::int64_t k_of_piece = 0;

  std::size_t workspace() const;  // bytes
};

// All compiled kernels of the target.
const std::vector<tf32_instance>& tf32_instances(target where);
// Whether the number of tiles fits 32 bits and, where K is so long that several blocks have to share it, a
// workspace.
bool tf32_tiles_fit(const problem& p, const batch& of);
bool tf32_pieces_fit(const problem& p, const batch& of);  // the same, of products in pieces
// Upper bound in bytes on the workspace of any tf32_plan of that shape; grows with M, N, K and the batch.
std::size_t most_tf32_workspace(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch);

// Whether the kernel can run it: TMA needs aligned operands, and kernels that keep the short operand small K.
bool can_tf32(const context& where, const tf32_instance& with, const problem& p, const batch& of,
              bool turned);
// The plan with that kernel and division.
tf32_plan plan_tf32(const context& where, const problem& p, const batch& of, const tf32_instance& with,
                    bool turned, const tf32_division& how);
// The plan with that division and the best kernel for it; nothing if there is none, as in pieces without a
// cluster if the operands do not lie as those kernels need.
std::optional<tf32_plan> plan_tf32(const context& where, const problem& p, const batch& of,
                                   const tf32_division& how);
launch_counts run(const context& where, const tf32_plan& plan, std::span<std::byte> workspace,
                  std::uint64_t* recomputed, stream on);

}  // namespace antiphase::gemms
