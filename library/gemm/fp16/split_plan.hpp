// SPDX-License-Identifier: Apache-2.0
// Products by splitting both operands: a launch of the split pass, then one or two of the product.
#pragma once
#include <algorithm>
#include <antiphase/context.hpp>
#include <antiphase/gemm/problem.hpp>
#include <span>
#include <vector>

#include "library/gemm/fp16/split_product.hpp"
#include "library/gemm/operands/cost_terms.hpp"

namespace antiphase::gemms {

// Tiles [first, end) of C, by one launch of a kernel.
struct product_wave {
  product_instance instance;
  std::int32_t first, end;
  extent3 grid;
};

struct product_plan {
  gemms::problem problem;  // C has its rows side by side if any index is: then A and B have changed places
  std::int64_t k_piece;    // K is taken in pieces of so much
  std::int32_t rows, columns;
  int multiprocessors;
  std::vector<product_wave> waves;
  ending after = {};  // of `what`

  split_layout split_a() const { return {problem.m(), k_piece}; }
  split_layout split_b() const { return {problem.n(), k_piece}; }
  // Of as many tiles as any launch has, or of the blocks that share its tiles, which are no more than there
  // are multiprocessors.
  std::size_t lists() const {
    return std::max(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns),
                    static_cast<std::size_t>(multiprocessors));
  }
  std::size_t count_bytes() const {
    return split_layout::padded(static_cast<std::int64_t>(lists() * sizeof(std::uint32_t)));
  }
  std::size_t list_bytes() const {
    const std::size_t outputs = listed_at_most(waves.front().instance.policy.ordered);
    return split_layout::padded(static_cast<std::int64_t>(lists() * outputs * sizeof(std::uint16_t)));
  }
  multiplier by() const { return waves.front().instance.policy.multiplier; }
  std::size_t workspace() const {
    return split_a().bytes() + split_b().bytes() + count_bytes() + list_bytes();
  }
};

// The kernel of blocks that do not share tiles; null if this build has none.
const kernel* product_kernel(target where, multiplier by);
// Whether a grid can be so large.
bool product_tiles_fit(const problem& p);

// Whether the product does the epilogue itself, after the last piece of K.
bool ends_in_product(const problem& p, const epilogue& after);

// Time that one of the two takes on that card.
double split_seconds(const costs::models& l, const product_shape& p, const device_limits& device,
                     multiplier by);

// For a product that multiplies, on a device with such Tensor Cores. Throws not_supported if this build has
// no such kernel.
product_plan plan_product(const context& where, const problem& p, multiplier by = multiplier::warpgroups);
// The same where `what` is already as product_plan has it. ordered: no blocks share a tile, and bits of an
// output do not depend on others.
product_plan plan_product_of(const context& where, const problem& what, multiplier by, const ending& after,
                             bool ordered = false);
inline product_plan plan_product_of(const context& where, const problem& what, multiplier by) {
  return plan_product_of(where, what, by, ending_of(what, {}));
}
const std::vector<product_instance>& product_instances(target where);  // for a plan of one's own
launch_counts run(const context& where, const product_plan& plan, std::span<std::byte> workspace,
                  std::uint64_t* recomputed, stream on);

// How long a product's multiplication is: whole rounds of blocks, how full a last one is (0: there is none),
// chunks of K of a block, and how many of the multiprocessors have one.
struct product_rounds {
  double whole, left, chunks, busy;
};
product_rounds rounds_of(multiplier by, std::int64_t m, std::int64_t n, std::int64_t k, int multiprocessors);

}  // namespace antiphase::gemms
