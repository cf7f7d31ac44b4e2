// SPDX-License-Identifier: Apache-2.0
// Products by splitting both operands: a launch of the split pass, then one or two of the product.
#pragma once
#include <algorithm>
#include <antiphase/context.hpp>
#include <antiphase/gemm/problem.hpp>
#include <span>
#include <vector>

#include "src/gemm/fp16/split_product.hpp"
#include "src/gemm/operands/cost_terms.hpp"
#include "src/gemm/operands/ready_lines.hpp"

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
  // parts that are there already, as ready_lines; null: the call makes them
  std::byte *ready_a = nullptr, *ready_b = nullptr;
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
  std::size_t bytes_of_a() const { return ready_a != nullptr ? 0 : split_a().bytes(); }
  std::size_t bytes_of_b() const { return ready_b != nullptr ? 0 : split_b().bytes(); }
  std::size_t workspace() const { return bytes_of_a() + bytes_of_b() + count_bytes() + list_bytes(); }
};

// The kernel of blocks that do not share tiles; null if this build has none.
const kernel* product_kernel(target where, multiplier by);
// Whether a grid can be so large.
bool product_tiles_fit(const problem& p);

// Whether the product does the epilogue itself, after the last piece of K.
bool ends_in_product(const problem& p, const epilogue& after);

// How long one of the two takes on that card. made: parts that are there already.
struct parts_made {
  bool a = false, b = false;
};
double split_seconds(const costs::models& l, const product_shape& p, const device_limits& device,
                     multiplier by, const parts_made& made = {});

// For a product that multiplies, on a device with such Tensor Cores. Throws not_supported if this build has
// no such kernel.
product_plan plan_product(const context& where, const problem& p, multiplier by = multiplier::warpgroups);
// The same where `what` is already as product_plan has it. ordered: no blocks share a tile, and bits of an
// output do not depend on others.
product_plan plan_product_of(const context& where, const problem& what, multiplier by,
                             const ready_operands& ready, const ending& after, bool ordered = false);
inline product_plan plan_product_of(const context& where, const problem& what, multiplier by,
                                    const ready_operands& ready = {}) {
  return plan_product_of(where, what, by, ready, ending_of(what, {}));
}
const std::vector<product_instance>& product_instances(target where);  // for a plan of one's own
launch_counts run(const context& where, const product_plan& plan, std::span<std::byte> workspace,
                  std::uint64_t* recomputed, stream on);

// What so many lines with that K take. Where a piece begins: what the K before it takes.
std::size_t ready_bytes(std::int64_t lines, std::int64_t k);

// Whether any product of split operands runs on the device.
bool takes_parts(const context& where);
// One launch for each piece of K. Throws not_supported if there are more lines than a launch can have.
launch_counts make_ready(const context& where, const ready_lines& lines, stream on);

// How long a product's multiplication is: whole rounds of blocks, how full a last one is (0: there is none),
// chunks of K of a block, and how many of the multiprocessors have one.
struct product_rounds {
  double whole, left, chunks, busy;
};
product_rounds rounds_of(multiplier by, std::int64_t m, std::int64_t n, std::int64_t k, int multiprocessors);

}  // namespace antiphase::gemms
