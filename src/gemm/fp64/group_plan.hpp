// SPDX-License-Identifier: Apache-2.0
// Which products of a group go into one launch, and the launch.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/gemm/fp64/group_product.hpp"

namespace antiphase::gemms {

const std::vector<group_instance>& group_instances(target where);

// Whether the product can join a launch: it fits a group_member. p: as without_idle_strides() returns it.
bool groups(const problem& p);
// What a product adds to a launch of that kernel, in predicted seconds.
struct group_cost {
  double tiles;
  double share;            // its part of the time in which all multiprocessors are busy
  double longest;          // time of a tile, if each block has a multiprocessor to itself
  double longest_of_many;  // the same, if blocks share it
};
group_cost group_cost_of(const fp64_policy& how, const problem& p, const device_limits& device);
// Predicted seconds of a launch. shares: of all members together; longest: of the member whose tiles take
// longest.
double group_seconds(double shares, const group_cost& longest, double tiles, std::size_t members,
                     const device_limits& device);

struct group_plan {
  const group_instance* instance = nullptr;
  std::vector<group_member> members;  // the largest K first
  std::uint32_t tiles = 0;
  extent3 grid = {};

  std::size_t workspace() const {
    return members.size() > group_inline ? members.size() * sizeof(group_member) : 0;
  }
  std::size_t launches() const {
    return 1 + (workspace() > 0 ? (members.size() + group_inline - 1) / group_inline : 0);
  }
};
// The plan of products that pass groups(). Throws not_supported if there are too many tiles.
group_plan plan_group(const context& where, const group_instance& with,
                      std::span<const problem* const> products);
launch_counts run(const context& where, const group_plan& plan, std::span<std::byte> workspace, stream on);

}  // namespace antiphase::gemms
