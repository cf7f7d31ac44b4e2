// SPDX-License-Identifier: Apache-2.0
// Products with up to eight rows or columns: how k is divided, and the launch.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/gemm/dots/dots_product.hpp"

namespace antiphase::gemms {

struct dots_plan {
  problem what;
  batch of;
  epilogue after;
  const dots_instance* with = nullptr;
  bool turned = false;  // B is the long operand
  dots_division how;
  std::int64_t tiles = 0;  // of a member
  extent3 grid = {};
};

const std::vector<dots_instance>& dots_instances(target where);
// Whether C has so few rows or columns.
inline bool has_few_lines(const problem& p) { return p.m() <= dots_lines || p.n() <= dots_lines; }
bool dots_tiles_fit(const problem& p, const batch& of);
struct dots_choice {
  dots_division how;
  double seconds = 0;  // predicted
};
// From the shape and the device alone: the division that is predicted to be the fastest.
// finishes: with an epilogue.
dots_choice divide_dots(const context& where, const problem& p, const batch& of, bool finishes);
// Of a product with few lines; nothing if no kernel of this build fits the device.
std::optional<dots_plan> plan_dots(const context& where, const problem& p, const batch& of, const epilogue& after,
                                   const dots_division& how);
launch_counts run(const context& where, const dots_plan& plan, stream on);

}  // namespace antiphase::gemms
