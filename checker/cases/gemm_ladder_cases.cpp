// SPDX-License-Identifier: Apache-2.0
// Cases of the GEMM ladder: every compiled variant of each step, on whole tiles of C and on tiles at its
// edges.
#include <algorithm>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>

#include "checker/cases/cases.hpp"

namespace antiphase::checker_detail {
namespace {

using gemms::contiguous;

storage_order order_of_a(contiguous along) {
  return along == contiguous::k       ? storage_order::rows
         : along == contiguous::outer ? storage_order::columns
                                      : storage_order::neither;
}
storage_order order_of_b(contiguous along) {
  return along == contiguous::outer ? storage_order::rows
         : along == contiguous::k   ? storage_order::columns
                                    : storage_order::neither;
}
// A variant that takes no packets gets operands that have none.
int offset_of(const gemms::operand_policy& how) { return how.copy_width == 1 ? 1 : 0; }

// One step more along K than there are stages, and a part of one.
void multiply(const context& where, const gemms::instance& variant, float alpha, float beta,
              storage_order of_c, int offset_of_c) {
  const gemms::policy& how = variant.policy;
  const std::int64_t m = how.tile.m + 3, n = how.tile.n + (beta != 0 ? 5 : 0),
                     k = std::max(how.stages * how.tile_k, 8) + 7;
  placed a(m, k, order_of_a(how.a.along), offset_of(how.a)),
      b(k, n, order_of_b(how.b.along), offset_of(how.b)), c(m, n, of_c, offset_of_c);
  a.fill_with_digits(1);
  b.fill_with_digits(2);
  if (beta != 0) c.fill_with_digits(3);  // else it stays NaN: it is not to be read
  const device_array<float> da(where, a.memory), db(where, b.memory);
  device_array<float> dc(where, c.memory);
  const gemms::problem p{
      .a = a.view(da.data()), .b = b.view(db.data()), .c = c.view(dc.data()), .alpha = alpha, .beta = beta};
  if (!gemms::takes(variant, p))
    throw std::logic_error(fmt::format("the case of {} does not suit it", variant.code.name));
  const gemms::plan plan = gemms::prepare(variant, p);
  where.runs_on().launch(plan.instance.code, plan.grid, &plan.arguments, nullptr);
  const std::vector<float> result = dc.to_host();

  // What only loads multiplies its last tiles alone.
  const std::int64_t first = how.run == gemms::parts::load_only ? (k - 1) / how.tile_k * how.tile_k : 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t t = first; t < k; ++t) sum += a(i, t) * b(t, j);
      c(i, j) = alpha * sum + (beta != 0 ? beta * c(i, j) : 0);
    }
  require_same(fmt::format("C of {}", variant.code.name), result, c);
}

// Half of the variants read and write C in packets, in four tiles; the other half only write it, where it has
// none, in two.
void multiply_all(const context& where, const std::vector<gemms::instance>& variants) {
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const bool both = variants.size() == 1;
    if (i % 2 == 0 || both) multiply(where, variants[i], 2, -1, storage_order::rows, 0);
    if (i % 2 == 1 || both) multiply(where, variants[i], 1, 0, storage_order::neither, 1);
  }
}

// Digits in rows of f16 that are padded with NaN to a multiple of 16 bytes, the last one excepted.
struct placed_halves {
  std::int64_t rows, columns, stride = columns / 8 * 8 + 8;
  std::vector<f16> memory =
      std::vector<f16>(static_cast<std::size_t>((rows - 1) * stride + columns), to_f16(std::nanf("")));

  float value(std::uint64_t seed, std::int64_t i, std::int64_t j) const {
    return static_cast<float>(digit(seed, static_cast<std::uint64_t>(i * columns + j), 4));
  }
  void fill(std::uint64_t seed) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        memory[static_cast<std::size_t>(i * stride + j)] = to_f16(value(seed, i, j));
  }
};
void multiply(const context& where, const gemms::tensor_core_step& how,
              const gemms::tensor_core_instance& with) {
  const std::int64_t m = how.tile.m + 3, n = how.tile.n + 5, k = how.stages * how.tile_k + 7;
  placed_halves a{m, k}, b{k, n};
  a.fill(1);
  b.fill(2);
  placed c(m, n, storage_order::rows, 0);
  c.fill_with_digits(3);
  const device_array<f16> da(where, a.memory), db(where, b.memory);
  device_array<float> dc(where, c.memory);
  const gemms::tensor_core_problem p{row_major(da.data(), m, k, a.stride),
                                     row_major(db.data(), k, n, b.stride), c.view(dc.data())};
  gemms::run(where.runs_on(), gemms::prepare(where.runs_on(), how, with.code, p), nullptr);
  const std::vector<float> result = dc.to_host();
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      c(i, j) = 0;
      for (std::int64_t t = 0; t < k; ++t) c(i, j) += a.value(1, i, t) * b.value(2, t, j);
    }
  require_same("C", result, c);
}

}  // namespace

std::vector<checked_case> gemm_ladder_cases() {
  std::vector<checked_case> cases;
  for (const gemms::step& s : gemms::steps) {
    std::vector<gemms::instance> variants;
    for (const gemms::instance& i : gemms::instances(target::checked))
      if (i.step == std::string_view(s.name) && i.policy.run != gemms::parts::compute_only)
        variants.push_back(i);
    cases.push_back({fmt::format("gemm/{}", s.name), s.adds,
                     [variants](const context& where) { multiply_all(where, variants); }});
  }
  for (const gemms::tensor_core_step& s : gemms::tensor_core_steps)
    for (const gemms::tensor_core_instance& i : gemms::tensor_core_instances(target::checked))
      if (i.step == std::string_view(s.name))
        cases.push_back({fmt::format("gemm/{}", s.name), s.adds,
                         [&s, i](const context& where) { multiply(where, s, i); }});
  return cases;
}

}  // namespace antiphase::checker_detail
