// SPDX-License-Identifier: Apache-2.0
// Device memory for a list of products, and calls that use it.
#include "tool/measure/products/product_memory.hpp"

#include <algorithm>
#include <vector>

namespace antiphase::tool {
namespace {

std::size_t most(std::span<const listed_product> products, std::int64_t (listed_product::*elements)() const) {
  std::int64_t most = 0;
  for (const listed_product& p : products) most = std::max(most, (p.*elements)());
  return static_cast<std::size_t>(most);
}

gemm_problem problem_at(const listed_product& p, const float* a, const float* b, float* c) {
  return {.a = view_of_a(a, p.size, p.layout),
          .b = view_of_b(b, p.size, p.layout),
          .c = row_major(c, p.size.m, p.size.n),
          .beta = p.beta};
}

}  // namespace

product_memory::product_memory(const context& where, std::span<const listed_product> products,
                               std::size_t workspace)
    : where_(where),
      a_(where, most(products, &listed_product::of_a)),
      b_(where, most(products, &listed_product::of_b)),
      c_(where, most(products, &listed_product::of_c)),
      recomputed_(where, 1),
      workspace_(where, workspace) {
  values_.a.fill(where, a_.data(), static_cast<std::int64_t>(a_.size()));
  values_.b.fill(where, b_.data(), static_cast<std::int64_t>(b_.size()));
}

gemm_problem product_memory::problem(const listed_product& p) {
  return problem_at(p, a_.data(), b_.data(), c_.data());
}

gemm_options product_memory::options(const listed_product& p, gemm_options how) {
  how.workspace = {workspace_.data(), workspace_.size()};
  return in_batches(p, how);
}

work product_memory::call(const listed_product& p, const gemm_options& how, bool counting) {
  return [this, what = problem(p), options = options(p, how), counting](stream on) mutable {
    options.stream = on;
    options.recomputed = counting ? recomputed_.data() : nullptr;
    gemm(where_, what, options);
  };
}

accuracy product_memory::assess(const listed_product& p, const spot_check& check, const work& run,
                                const gemm_bound& promised) {
  (p.beta == 0 ? nothing_ : values_.c).fill(where_, c_.data(), p.of_c());
  recomputed_.copy_from(std::vector<std::uint64_t>{0});
  where_.runs_on().milliseconds(run, nullptr);
  return check(where_, c_.data(), promised);
}

gemm_problem imagined(const listed_product& p) {
  const auto address = [](std::uintptr_t number) { return reinterpret_cast<float*>(number << 44); };
  return problem_at(p, address(1), address(2), address(3));
}

gemm_options in_batches(const listed_product& p, gemm_options how) {
  const auto [m, n, k] = p.size;
  how.batch = p.count == 1
                  ? gemm_batch{}
                  : gemm_batch{.count = p.count, .a_stride = m * k, .b_stride = k * n, .c_stride = m * n};
  return how;
}

}  // namespace antiphase::tool
