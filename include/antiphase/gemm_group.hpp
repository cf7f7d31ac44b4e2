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
  // auto: products that pay together are computed in one launch, as by policy fp64, each other one by
  std::string_view policy = "auto";
  // itself. stream: as many as can be in one launch. Others: one after the
  // other by that policy
  stream on = nullptr;
  // of the device, aligned to 256, at least gemm_group_workspace() bytes, left alone until the work
  std::span<std::byte> workspace = {};
  // is done; none: memory is allocated in the order of the stream
  std::uint64_t* recomputed = nullptr;  // as of gemm()
  reproducibility reproducible = reproducibility::by_shape;
  weaker_bound if_weaker = weaker_bound::take;
  gemm_group_choice* ran = nullptr;  // of the host: what runs, as explain() tells it
};

// C = alpha A B + beta C of each of them, in any order and at the same time: no C may overlap another C, or
// an A or B of any. An overlap is refused wherever gemm() would refuse it within one product. Products
// without elements do nothing. Nothing of the group has been launched after a bad_request or a not_supported;
// they name the product by its place, from 0.
//
// The problems are read before the call returns; they are of the host. It may be captured into a graph. A
// result has the same bits in every run and does not depend on its product's place. In the common launch it
// has those of reproducibility::batch_invariant, so whatever else is in the group; by itself it has those of
// gemm(). Which of them it is depends on all shapes, unless batch_invariant is asked for.
launch_counts gemm_group(const context& where, std::span<const gemm_problem> problems,
                         const gemm_group_options& options = {});

// Bytes of workspace that the call takes; 0 if it needs none.
std::size_t gemm_group_workspace(const context& where, std::span<const gemm_problem> problems,
                                 const gemm_group_options& options = {});

// What the call would run.
struct gemm_group_choice {
  // of each product: `group`, the policy that computes it by itself, or nothing
  std::vector<std::string> kernels;
  std::size_t together = 0;  // products in the common launch
  // of the common launch, and of those that bring its table: one for 63 products, if there are more
  std::size_t launches = 0;
  gemms::extent2 tile;  // outputs of one of its blocks
  std::uint64_t blocks = 0;
  std::size_t workspace = 0;
  std::vector<gemm_bound> bounds;  // of each product, what holds
  double predicted = 0;            // seconds that a GPU with such limits takes for all
};
gemm_group_choice explain(const context& where, std::span<const gemm_problem> problems,
                          const gemm_group_options& options = {});

}  // namespace antiphase
