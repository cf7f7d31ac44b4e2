// SPDX-License-Identifier: Apache-2.0
// Cases of linear layers: every tile on whole and cut tiles of Y, over more k than its ring has slots.
#include <antiphase/linear.hpp>

#include "checker/cases/cases.hpp"
#include "library/linear/plan.hpp"

namespace antiphase::checker_detail {
namespace {

struct layer {
  std::int64_t m, n, k;
  bool ends = false;       // with bias, activation and residual
  std::int64_t spare = 0;  // elements after each row: 8 keeps pieces of 16 bytes, 1 does not
  std::vector<std::int32_t> groups = {};
  bool x_across = false, w_across = false;  // k by k, in rows of a multiple of 8
};

std::uint16_t bits_of(element type, float x) {
  return type == element::bf16 ? to_bf16(x).bits : to_f16(x).bits;
}
// Digits, with NaN after each row.
std::vector<std::uint16_t> digits(element type, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                                  std::uint64_t seed) {
  std::vector<std::uint16_t> all(static_cast<std::size_t>(rows * stride), bits_of(type, std::nanf("")));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      all[static_cast<std::size_t>(i * stride + j)] =
          bits_of(type, static_cast<float>(digit(seed, static_cast<std::uint64_t>(i * columns + j), 2)));
  return all;
}

// A matrix that lies k by k.
std::int64_t across_stride(std::int64_t rows) { return (rows + 7) / 8 * 8; }
std::vector<std::uint16_t> across(const std::vector<std::uint16_t>& x, std::int64_t rows, std::int64_t k) {
  const std::int64_t stride = across_stride(rows);
  std::vector<std::uint16_t> all(static_cast<std::size_t>(stride * k), x.back());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < k; ++j)
      all[static_cast<std::size_t>(j * stride + i)] = x[static_cast<std::size_t>(i * k + j)];
  return all;
}

void multiply(const context& where, element type, const layer& l, std::string_view kernel) {
  const std::int64_t members = l.groups.empty() ? 1 : static_cast<std::int64_t>(l.groups.size());
  const std::int64_t stride = l.k + l.spare;
  auto x = digits(type, l.m, l.k, stride, 1), w = digits(type, members * l.n, l.k, stride, 2);
  if (l.x_across) x = across(x, l.m, l.k);
  if (l.w_across) w = across(w, l.n, l.k);
  std::vector<float> bias, residual;
  for (std::int64_t j = 0; j < l.n; ++j) bias.push_back(static_cast<float>(j % 7));
  for (std::int64_t i = 0; i < l.m * l.n; ++i) residual.push_back(static_cast<float>(i % 5));
  using halves = device_array<std::uint16_t>;
  const halves on_x(where, std::span(x)), on_w(where, std::span(w));
  const device_array<float> on_bias(where, std::span(bias)), on_residual(where, std::span(residual));
  const device_array<std::int32_t> ends(where, std::span(l.groups));
  device_array<float> y(where, residual.size());
  linear_problem p{.in = type,
                   .out = element::f32,
                   .x = {on_x.data(), stride},
                   .w = {on_w.data(), stride, 1, l.n * stride},
                   .y = {y.data(), l.n},
                   .m = l.m,
                   .n = l.n,
                   .k = l.k,
                   .members = members};
  if (l.x_across) p.x = {on_x.data(), 1, across_stride(l.m)};
  if (l.w_across) p.w = {on_w.data(), 1, across_stride(l.n)};
  if (!l.groups.empty()) p.group_ends = ends.data();
  if (l.ends)
    p.bias = on_bias.data(), p.residual = {on_residual.data(), l.n}, p.function = gemms::activation::relu;
  linear(where, p, {.kernel = kernel});
  const std::vector<float> found = y.to_host();
  std::size_t group = 0;
  for (std::int64_t i = 0; i < l.m; ++i) {
    while (!l.groups.empty() && i >= l.groups[group]) ++group;
    for (std::int64_t j = 0; j < l.n; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < l.k; ++k)
        sum += static_cast<float>(
            digit(1, static_cast<std::uint64_t>(i * l.k + k), 2) *
            digit(2, static_cast<std::uint64_t>((static_cast<std::int64_t>(group) * l.n + j) * l.k + k), 2));
      const auto at = static_cast<std::size_t>(i * l.n + j);
      if (l.ends) sum = std::max(sum + bias[static_cast<std::size_t>(j)], 0.f) + residual[at];
      require_same("Y", at, found[at], sum);
    }
  }
}

// Each tile once, cut at both ends; then tiles of groups whose k goes around the ring.
void multiply_by_tiles(const context& where, element type) {
  const auto& all = linears::tile_instances(where.kind());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const linears::tile_policy& how = all[i].policy;
    if (how.of_bf16 != (type == element::bf16)) continue;
    multiply(where, type,
             {64 * how.groups - 45,
              how.columns - 3,
              i % 2 == 0 ? 64 : 72,
              i % 2 == 0,
              0,
              {},
              how.x_across,
              how.w_across},
             std::string_view(all[i].code.name).substr(7));
  }
  const std::string of_type(name(type));
  multiply(where, type, {70, 300, 7 * 64 - 8, true}, of_type + "-64x256");
  multiply(where, type, {70, 300, 9 * 64, true}, of_type + "-128x128-pair");
  multiply(where, type, {30, 40, 72, true, 8, {9, 9, 30}}, of_type + "-64x32");
}

}  // namespace

std::vector<checked_case> linear_cases() {
  return {{"linear/bf16", "linear layers by warpgroups, of bf16",
           [](const context& where) { multiply_by_tiles(where, element::bf16); }},
          {"linear/f16", "linear layers by warpgroups, of f16",
           [](const context& where) { multiply_by_tiles(where, element::f16); }},
          {"linear/mma", "linear layers by whole warps", [](const context& where) {
             multiply(where, element::bf16, {67, 66, 280, true, 1}, "bf16-mma");
             multiply(where, element::f16, {67, 66, 280, false, 8, {3, 67}}, "f16-mma");
             for (const element type : {element::bf16, element::f16}) {
               const std::string large = std::string(name(type)) + "-mma-128";
               multiply(where, type, {130, 72, 104, true}, large);
               multiply(where, type, {67, 66, 152, false, 0, {}, false, true}, large + "-kn");
             }
           }}};
}

}  // namespace antiphase::checker_detail
