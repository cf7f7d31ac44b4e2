// SPDX-License-Identifier: Apache-2.0
// Products of TF32 parts: which kernel, how K is divided, and the launch.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/gemm/narrow/narrow_product.hpp"
#include "src/gemm/stream/stream_plan.hpp"

namespace antiphase::gemms {

// A block sums so many k at most: its promise then is not weaker than that of precision fp32
// (docs/accuracy.md).
constexpr std::int64_t k_of_narrow_share = 16384;

// How a sum over k is divided: over the blocks of a cluster and over clusters, whose sums meet in the
// workspace.
struct narrow_division {
  int cluster = 1, parts = 1;
  constexpr bool operator==(const narrow_division&) const = default;
};
struct narrow_division_choice {
  narrow_division how;
  double seconds;  // predicted
};
// The division that is predicted to be the fastest: of the shape and the device alone, never of how operands
// lie.
narrow_division_choice divide_narrow(const product_shape& p, const device_limits& device);
// What it chooses among, and how long one takes, for those who fit the law.
void each_narrow_division(const laws& l, const product_shape& p, const device_limits& device,
                          const std::function<void(const narrow_division&, double)>& use);
double narrow_seconds(const laws& l, const product_shape& p, const device_limits& device,
                      const narrow_division& how);

struct narrow_plan : tiled_plan {
  const narrow_instance* with = nullptr;
  narrow_division how;
  std::int64_t rows_of_band = 0, bands = 0;  // as in narrow_problem

  std::size_t workspace() const;  // bytes
};

// All compiled kernels of the target.
const std::vector<narrow_instance>& narrow_instances(target where);
// Whether tiles can be counted, and, of a K that several blocks have to share, are not too many for a
// workspace.
bool narrow_tiles_fit(const problem& p, const batch& of);
// At least what any narrow_plan of that shape takes, growing with M, N, K and the batch.
std::size_t most_narrow_workspace(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch);

// Whether the kernel can run it: the copy engine asks for aligned operands, and a kept one has few k.
bool can_narrow(const context& where, const narrow_instance& with, const problem& p, const batch& of,
                bool turned);
// With a kernel and a division.
narrow_plan plan_narrow(const context& where, const problem& p, const batch& of, const narrow_instance& with,
                        bool turned, const narrow_division& how);
// With that division and the best kernel for it; nothing if there is none.
std::optional<narrow_plan> plan_narrow(const context& where, const problem& p, const batch& of,
                                       const narrow_division& how);
launch_counts run(const context& where, const narrow_plan& plan, std::span<std::byte> workspace,
                  std::uint64_t* recomputed, stream on);

}  // namespace antiphase::gemms
