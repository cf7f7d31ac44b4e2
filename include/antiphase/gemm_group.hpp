// SPDX-License-Identifier: Apache-2.0
// Groups of matrix products of different shapes.
#pragma once
#include <antiphase/gemm.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

struct gemm_group_choice;

// As gemm_options, for all products.
struct gemm_group_options {
  precision accuracy = precision::fp32;
  // auto: products for which it pays share one launch, as policy fp64 computes them; each other product
  // runs by itself. fp64: as many as possible share one launch. Any other policy: one product after the
  // other.
  std::string_view policy = "auto";
  antiphase::stream stream = nullptr;
  // Device memory, aligned to 256 bytes, at least gemm_group_workspace() bytes, not to be touched until the
  // work is done. Empty: memory is allocated and freed in stream order.
  std::span<std::byte> workspace = {};
  std::uint64_t* recomputed = nullptr;  // as in gemm_options
  reproducibility reproducible = reproducibility::by_shape;
  weaker_bound if_weaker = weaker_bound::take;
  gemm_group_choice* ran = nullptr;  // host memory: receives what runs, as explain() would return it
};

// C = alpha A B + beta C for each of many products of different shapes:
//
//   std::vector<gemm_problem> products;
//   for (const layer& l : layers) products.push_back({.a = l.x, .b = l.w, .c = l.y});
//   gemm_group(where, products, {.stream = stream});
//
// Products run in any order and at the same time, so no C may overlap another C, or an A or B of any product.
// An overlap is refused wherever gemm() would refuse it within one product. Products without elements do
// nothing. `problems` is host memory, and read before the call returns. The call may be captured into a
// graph.
//
// A result has the same bits in every run, wherever its product stands in the group. In the common launch
// they are those of policy fp64 with reproducibility::batch_invariant, whatever else the group holds;
// otherwise those of gemm(). Which of the two holds depends on all shapes. If batch_invariant is asked for, a
// result has the bits of gemm() with it.
//
// Throws as gemm(); messages name the product by its index, from 0. Nothing of the group has been launched
// after a bad_request or a not_supported.
launch_counts gemm_group(const context& where, std::span<const gemm_problem> problems,
                         const gemm_group_options& options = {});

// Bytes of workspace that the call takes, 0 if none.
std::size_t gemm_group_workspace(const context& where, std::span<const gemm_problem> problems,
                                 const gemm_group_options& options = {});

// What gemm_group() would run.
struct gemm_group_choice {
  // of each product: "group" (the common launch), the policy that computes it by itself, or empty
  std::vector<std::string> kernels;
  std::size_t together = 0;  // products in the common launch
  // the common launch and, above 63 products, one for each 63 that uploads their table
  std::size_t launches = 0;
  gemms::extent2 tile;  // outputs of one of its blocks
  std::uint64_t blocks = 0;
  std::size_t workspace = 0;
  std::vector<gemm_bound> bounds;  // of each product, the bound that holds
  double predicted = 0;            // seconds for all on a GPU with these limits
};
gemm_group_choice explain(const context& where, std::span<const gemm_problem> problems,
                          const gemm_group_options& options = {});

}  // namespace antiphase
