// SPDX-License-Identifier: Apache-2.0
// A matrix times a vector, and small products: division of K, and launch.
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

#include "library/gemm/fp64/dots/dots_product.hpp"
#include "library/gemm/operands/cost_terms.hpp"

namespace antiphase::gemms {

// For a vector: threads of a block, and lines of a thread. Bits do not depend on them.
struct vector_form {
  int threads = 0, lines_of_thread = 0;
  constexpr int lines(int slots) const { return threads / slots * lines_of_thread; }  // of a block
};
struct dots_plan {
  gemms::problem problem;
  gemms::batch batch;
  epilogue after;
  const dots_instance* instance = nullptr;
  bool turned = false;  // B is the long operand
  dots_division division;
  vector_form form = {};
  std::int64_t tiles = 0;  // of a member
  extent3 grid = {};

  int threads() const { return division.for_vector() ? form.threads : instance->code.threads; }  // of a block
  // lines of the long operand, of a block
  int lines() const { return division.for_vector() ? form.lines(division.slots) : division.lines(threads()); }
};

const std::vector<dots_instance>& dots_instances(target where);
inline bool is_vector(const problem& p) { return p.m() == 1 || p.n() == 1; }
// Whether the product is small enough for kernels by lanes.
inline bool lanes_may(const problem& p, const batch& of) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  return p.k() <= dots_lanes_most_k &&
         size(p.m()) * size(p.n()) * size(p.k()) * size(of.count) <= dots_lanes_most_work;
}
// Whether C has so few rows or columns that kernels by lanes may take it at any size, if nothing better runs.
inline bool has_few_lines(const problem& p) {
  return std::min(p.m(), p.n()) <= dots_lines && p.k() <= dots_lanes_far_k;
}
bool dots_tiles_fit(const problem& p, const batch& of);
struct dots_choice {
  dots_division division;
  double seconds = 0;  // predicted
};
// The division with the least predicted time, from the shape and the device alone. finishes: with an
// epilogue.
dots_choice divide_dots(const context& where, const problem& p, const batch& of, bool finishes);
// All candidates with their predicted seconds, and the seconds of one: for fitting the cost model.
void each_dots_division(const costs::models& l, const product_shape& p, const device_limits& device,
                        bool finishes, const std::function<void(const dots_division&, double)>& use);
double dots_seconds(const costs::models& l, const product_shape& p, const device_limits& device,
                    const dots_division& how, bool finishes);
// The plan of a product with few lines, or that is small enough for lanes; nothing if no kernel of this build
// fits the device. by_across: by lanes, take the kernel for operands across k, which needs dots_least_across
// lanes, or the other one,
//            with the same bits; without a value, the one predicted to be faster.
// form: of a kernel for a vector; without a value, chosen by a heuristic.
std::optional<dots_plan> plan_dots(const context& where, const problem& p, const batch& of,
                                   const epilogue& after, const dots_division& how,
                                   std::optional<bool> by_across = std::nullopt,
                                   std::optional<vector_form> form = std::nullopt);
launch_counts run(const context& where, const dots_plan& plan, stream on);

}  // namespace antiphase::gemms
