// SPDX-License-Identifier: Apache-2.0
// The ways to compute a product among which `auto` chooses, for measuring them and fitting cost models to the
// times.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/costs/models.hpp"
#include "src/gemm/operands/cost_terms.hpp"

namespace antiphase::fit {

enum class family { fp64_short, fp64, fp64_dots, tf32, fp16, fp16_mma };

// A policy, and how it divides the work: fp64 has a form, blocks of a cluster and parts of K, fp64-dots a
// square (0: for a vector) and slots, tf32 blocks of a cluster and parts of K.
struct way {
  family by;
  int form = 0, first = 1, second = 1;
};
std::string name_of(const way& w);  // "fp64/32x8-8/2/1"

double seconds_of(const costs::models& l, const gemms::product_shape& p, const device_limits& device,
                  const way& w);
// All ways that may be chosen on the device, with their predicted times, fastest first.
struct predicted_way {
  way how;
  double seconds;
};
std::vector<predicted_way> ways_of(const costs::models& l, const gemms::product_shape& p,
                                   const device_limits& device);

// A way made ready to run, with its workspace in bytes; nothing if no kernel can do it.
struct planned_way {
  std::size_t workspace;
  std::function<void(std::span<std::byte>, stream)> run;
};
std::optional<planned_way> plan(const context& where, const gemms::problem& p, const gemms::batch& of,
                                const way& w);

}  // namespace antiphase::fit
