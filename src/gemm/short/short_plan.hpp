// Products with few values of k: one launch.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/problem.hpp>
#include "src/gemm/short/short_product.hpp"
#include <optional>
#include <string>

namespace antiphase::gemms {

struct short_plan {
  problem what;
  kernel code;
  extent3 grid;
};

// Why this product is none of them there; nothing if it is.
std::optional<std::string> refuses_short(const context& where, const problem& p);
// For one that is.
short_plan plan_short(const context& where, const problem& p);

}  // namespace antiphase::gemms
