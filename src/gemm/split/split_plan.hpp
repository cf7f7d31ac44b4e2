// Products by splitting both operands: a launch of the split pass, then one or two of the product, which may split A itself.
#pragma once
#include <algorithm>
#include <antiphase/context.hpp>
#include <antiphase/gemm/problem.hpp>
#include "src/gemm/split/split_product.hpp"
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace antiphase::gemms {

// Tiles [first, end) of C, by one launch of a kernel.
struct product_wave {
  product_instance with;
  std::int32_t first, end;
  extent3 grid;
};

struct product_plan {
  problem what;          // C has its rows side by side if any index is: then A and B have changed places. If the product splits A itself,
                         // A is the one that it can
  std::int64_t k_piece;  // K is taken in pieces of so much
  std::int32_t rows, columns;
  int multiprocessors;
  std::vector<product_wave> waves;

  split_layout left() const { return {what.m(), k_piece}; }
  split_layout right() const { return {what.n(), k_piece}; }
  // Of as many tiles as any launch has, or of the blocks that share its tiles, which are no more than there are multiprocessors.
  std::size_t noters() const {
    return std::max(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), static_cast<std::size_t>(multiprocessors));
  }
  std::size_t counts() const { return split_layout::padded(static_cast<std::int64_t>(noters() * sizeof(std::uint32_t))); }  // bytes
  std::size_t places() const { return split_layout::padded(static_cast<std::int64_t>(noters() * note_capacity * sizeof(std::uint16_t))); }
  bool converting() const { return waves.front().with.how.by == multiplier::split_inside; }
  // A's parts, or what is known of its rows where the product splits them.
  std::size_t of_left() const {
    return converting() ? split_layout::padded(static_cast<std::int64_t>(noters() * sizeof(row_facts))) : left().bytes();
  }
  std::size_t workspace() const { return of_left() + right().bytes() + counts() + places(); }
};

// Why this product cannot be split there and multiplied so; nothing if it can.
std::optional<std::string> refuses_split(const context& where, const problem& p, multiplier by);
// Whether the product that splits its larger operand itself is the fastest of those that can.
bool splits_inside_by_itself(const context& where, const problem& p);
// For one that can.
product_plan plan_product(const context& where, const problem& p, multiplier by = multiplier::split);
const std::vector<product_instance>& product_instances(target where);  // for a plan of one's own
launch_counts run(const context& where, const product_plan& plan, std::span<std::byte> workspace, std::uint64_t* recomputed, stream on);

}  // namespace antiphase::gemms
