// SPDX-License-Identifier: Apache-2.0
// Words for matrix products that several subcommands use.
#pragma once
#include <antiphase/gemm.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "tool/program/console.hpp"

namespace antiphase::tool {

struct extents {
  std::int64_t m, n, k;
};
double tflops(const extents& e, double us);
json to_json(const extents& e);
std::string shape_text(const extents& e);  // 4096^3, 4095 x 4097 x 1003
// Throws bad_request if a matrix has more elements than anybody could mean.
void require_sensible(const extents& e);

std::string_view name(precision p);
precision parse_precision(std::string_view text);  // throws bad_request

weaker_bound parse_weaker_bound(std::string_view text);  // of --if-weaker; throws bad_request

json to_json(const gemm_choice& chosen);
json bound_json(const gemm_choice& chosen);          // bound, asked_bound, bound_kept
std::string choice_text(const gemm_choice& chosen);  // one line, without the reasons
std::string predicted_text(const gemm_choice& chosen);
// Which bound holds, and which one the precision stands for if that is another.
std::string bound_text(const gemm_choice& chosen, precision asked);

}  // namespace antiphase::tool
