// Products by splitting both operands: two launches, the split pass and the product.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/problem.hpp>
#include <antiphase/gemm/split_product.hpp>
#include <optional>
#include <span>
#include <string>

namespace antiphase::mm {

struct product_plan {
  problem what;           // C has its rows side by side if any index is: then A and B have changed places
  std::int64_t k_piece;   // K is taken in pieces of so much
  product_instance with;  // what multiplies
  std::int32_t rows, columns;
  extent3 grid;

  split_layout left() const { return {what.m(), k_piece}; }
  split_layout right() const { return {what.n(), k_piece}; }
  std::size_t noters() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns * with.how.cluster); }
  std::size_t counts() const { return split_layout::padded(static_cast<std::int64_t>(noters() * sizeof(std::uint32_t))); }  // bytes
  std::size_t places() const { return split_layout::padded(static_cast<std::int64_t>(noters() * note_capacity * sizeof(std::uint16_t))); }
  std::size_t workspace() const { return left().bytes() + right().bytes() + counts() + places(); }
};

// Why this product cannot be split there and multiplied so; nothing if it can.
std::optional<std::string> refuses_split(const context& where, const problem& p, multiplier by);
// For one that can.
product_plan plan_product(const context& where, const problem& p, multiplier by = multiplier::warpgroups);
launch_counts run(const context& where, const product_plan& plan, std::span<std::byte> workspace, std::uint64_t* recomputed, stream on);

}  // namespace antiphase::mm
