// SPDX-License-Identifier: Apache-2.0
// A matrix times a vector, and small products: how k is divided, and the launch.
#pragma once
#include <algorithm>
#include <antiphase/context.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "src/gemm/fp64/dots_product.hpp"
#include "src/gemm/laws/cost.hpp"

namespace antiphase::gemms {

// For a vector: threads of a block, and lines of a thread. Bits do not depend on them.
struct vector_form {
  int threads = 0, lines_of_thread = 0;
  constexpr int lines(int slots) const { return threads / slots * lines_of_thread; }  // of a block
};
struct dots_plan {
  problem what;
  batch of;
  epilogue after;
  const dots_instance* with = nullptr;
  bool turned = false;  // B is the long operand
  dots_division how;
  vector_form form = {};
  std::int64_t tiles = 0;  // of a member
  extent3 grid = {};

  int threads() const { return how.for_vector() ? form.threads : with->code.threads; }  // of a block
  // of the long operand, of a block
  int lines() const { return how.for_vector() ? form.lines(how.slots) : how.lines(threads()); }
};

const std::vector<dots_instance>& dots_instances(target where);
inline bool is_vector(const problem& p) { return p.m() == 1 || p.n() == 1; }
// Whether there is so little to do that lanes may have the outputs.
inline bool lanes_may(const problem& p, const batch& of) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  return p.k() <= dots_lanes_most_k &&
         size(p.m()) * size(p.n()) * size(p.k()) * size(of.count) <= dots_lanes_most_work;
}
// Whether C has so few rows or columns that they may, however long these are, where nothing better runs.
inline bool has_few_lines(const problem& p) {
  return std::min(p.m(), p.n()) <= dots_lines && p.k() <= dots_lanes_far_k;
}
bool dots_tiles_fit(const problem& p, const batch& of);
struct dots_choice {
  dots_division how;
  double seconds = 0;  // predicted
};
// From the shape and the device alone: the division that is predicted to be the fastest.
// finishes: with an epilogue.
dots_choice divide_dots(const context& where, const problem& p, const batch& of, bool finishes);
// What it chooses among, and how long one takes, for those who fit the law.
void each_dots_division(const laws& l, const product_shape& p, const device_limits& device, bool finishes,
                        const std::function<void(const dots_division&, double)>& use);
double dots_seconds(const laws& l, const product_shape& p, const device_limits& device,
                    const dots_division& how, bool finishes);
// Of a product with few lines, or that lanes may have; nothing if no kernel of this build fits the device.
// Lanes have two kernels with the same bits. by_across: whether it is the one for operands across k, which
// asks for dots_least_across lanes; none: the one predicted to be faster. form: of a kernel for a vector;
// none: the one predicted to be the fastest.
std::optional<dots_plan> plan_dots(const context& where, const problem& p, const batch& of,
                                   const epilogue& after, const dots_division& how,
                                   std::optional<bool> by_across = std::nullopt,
                                   std::optional<vector_form> form = std::nullopt);
launch_counts run(const context& where, const dots_plan& plan, stream on);

}  // namespace antiphase::gemms
