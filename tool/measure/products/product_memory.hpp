// SPDX-License-Identifier: Apache-2.0
// Device memory for a list of products, and calls that use it.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "tool/measure/measure.hpp"
#include "tool/measure/products/accuracy.hpp"
#include "tool/measure/products/product_list.hpp"
#include "tool/measure/products/spot_check.hpp"

namespace antiphase::tool {

// Allocated once, large enough for each of the products and for `workspace` bytes. Operands are normally
// distributed.
class product_memory {
 public:
  product_memory(const context& where, std::span<const listed_product> products, std::size_t workspace);

  gemm_problem problem(const listed_product& p);
  // Options of a call that computes the product: `how` plus its batch and this workspace.
  gemm_options options(const listed_product& p, gemm_options how);
  work call(const listed_product& p, const gemm_options& how, bool counting = false);
  // Runs the work once on a C that it must overwrite to pass, and checks the result.
  accuracy assess(const listed_product& p, const spot_check& check, const work& run,
                  const gemm_bound& promised);
  std::uint64_t recomputed() const { return recomputed_.to_host()[0]; }  // since the last assess() began
  const operand_values& values() const { return values_; }

 private:
  const context& where_;
  operand_values values_ = normal_operands();
  repeated_values nothing_{std::vector<float>(static_cast<std::size_t>(values_.c.length()),
                                              std::numeric_limits<float>::quiet_NaN())};
  device_array<float> a_, b_, c_;
  device_array<std::uint64_t> recomputed_;
  device_array<std::byte> workspace_;
};

// The same problem and options without memory, for explain(): the operands' addresses are never read.
gemm_problem imagined(const listed_product& p);
gemm_options in_batches(const listed_product& p, gemm_options how);

}  // namespace antiphase::tool
