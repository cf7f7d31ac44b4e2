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

// Whether one launch can have the product: it fits a group_member. Idle strides are small.
bool groups(const problem& p);
// What a product adds to a launch of the kernel with that tile. Seconds, predicted.
struct group_cost {
  double tiles;
  double share;            // of the time in which all multiprocessors are busy
  double longest;          // of a tile, where blocks have a multiprocessor for themselves
  double longest_of_many;  // where they share it
};
group_cost group_cost_of(const fp64_policy& how, const problem& p, const device_limits& device);
// Of a launch with so many members and tiles: all of them together, and the longest tile of any.
double group_seconds(double shares, const group_cost& longest, double tiles, std::size_t members,
                     const device_limits& device);

struct group_plan {
  const group_instance* with = nullptr;
  std::vector<group_member> members;  // those with the most work first
  std::uint32_t tiles = 0;
  extent3 grid = {};

  std::size_t workspace() const {
    return members.size() > group_inline ? members.size() * sizeof(group_member) : 0;
  }
  std::size_t launches() const {
    return 1 + (workspace() > 0 ? (members.size() + group_inline - 1) / group_inline : 0);
  }
};
// Of products that groups() lets through. Throws not_supported if there are too many tiles.
group_plan plan_group(const context& where, const group_instance& with,
                      std::span<const problem* const> products);
launch_counts run(const context& where, const group_plan& plan, std::span<std::byte> workspace, stream on);

}  // namespace antiphase::gemms
