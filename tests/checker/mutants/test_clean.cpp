// SPDX-License-Identifier: Apache-2.0
// Kernels without a fault give no finding: all steps of the ladders, and the example.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <antiphase/gemm.hpp>
#include <antiphase/scan.hpp>
#include <limits>

#include "tests/channel/bulk_copy_case.hpp"
#include "tests/checker/mutants/checks.hpp"

namespace antiphase::test::checked {
std::vector<bulk_copy_case> bulk_copies();
}

namespace antiphase::mutants {
namespace {

void expect_clean(const std::function<std::string(const context&)>& program) {
  const check_report report = checked_run(program, clean_schedules());
  EXPECT_TRUE(report.clean()) << to_text(report);
  EXPECT_GT(report.accesses, 0u);
}

// products
// -----------------------------------------------------------------------------------------------------------

// A matrix on the device whose lines are `stride` long; the gaps are NaN and must not be used. Integers:
// exact.
struct placed {
  bool by_rows;
  std::int64_t rows, columns, stride;
  std::int64_t at(std::int64_t i, std::int64_t j) const { return by_rows ? i * stride + j : j * stride + i; }
  static float value(std::int64_t i, std::int64_t j) {
    return static_cast<float>((i * 31 + j * 17) % 23 - 11);
  }
  device_array<float> on(const context& where) const {
    std::vector<float> host(static_cast<std::size_t>((by_rows ? rows : columns) * stride),
                            std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) host[static_cast<std::size_t>(at(i, j))] = value(i, j);
    return {where, std::span<const float>(host)};
  }
  template <class T> matrix_view<T> view(T* data) const {
    return by_rows ? row_major(data, rows, columns, stride) : column_major(data, rows, columns, stride);
  }
};
struct product {
  const char* name;
  bool a_by_rows, b_by_rows;
  int padding;  // between lines, beyond a multiple of 4
  float alpha, beta;
};
constexpr product products[] = {{"nn", true, true, 0, 1, 0},           {"tn", false, true, 0, 1.5f, -0.5f},
                                {"nt", true, false, 0, 1, 1},          {"tt", false, false, 4, 2, 0},
                                {"nn_unaligned", true, true, 3, 1, 2}, {"only_beta", true, true, 3, 0, 2}};

class clean_product : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};
TEST_P(clean_product, has_no_finding) {
  const gemms::step& step = gemms::steps[std::get<0>(GetParam())];
  const product& p = products[std::get<1>(GetParam())];
  const bool large = step.policy.tile.m > 32;
  // several tiles along each dimension, the last one partial
  const std::int64_t m = large ? 131 : 45, n = 29, k = large ? 51 : 69;
  const auto stride = [&](bool by_rows, std::int64_t rows, std::int64_t columns) {
    return ((by_rows ? columns : rows) + 3) / 4 * 4 + p.padding;
  };
  const placed a{p.a_by_rows, m, k, stride(p.a_by_rows, m, k)},
      b{p.b_by_rows, k, n, stride(p.b_by_rows, k, n)}, c{true, m, n, stride(true, m, n)};
  std::vector<float> right;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += placed::value(i, l) * placed::value(l, j);
      right.push_back(p.alpha * sum + p.beta * placed::value(i, j));
    }
  expect_clean([&](const context& where) -> std::string {
    const auto in_a = a.on(where), in_b = b.on(where);
    auto out = c.on(where);
    gemm(where,
         {.a = a.view(in_a.data()),
          .b = b.view(in_b.data()),
          .c = c.view(out.data()),
          .alpha = p.alpha,
          .beta = p.beta},
         {.policy = step.name});
    const std::vector<float> result = out.to_host();
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        if (const float is = result[static_cast<std::size_t>(c.at(i, j))],
            must = right[static_cast<std::size_t>(i * n + j)];
            is != must)
          return fmt::format("C({}, {}) is {}, expected {}", i, j, is, must);
    return {};
  });
}
std::string plain(std::string name) {
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(all, clean_product,
                         testing::Combine(testing::Range<std::size_t>(0, std::size(gemms::steps)),
                                          testing::Range<std::size_t>(0, std::size(products))),
                         [](const auto& i) {
                           return plain(gemms::steps[std::get<0>(i.param)].name) + "_" +
                                  products[std::get<1>(i.param)].name;
                         });

// scans
// -----------------------------------------------------------------------------------------------------------

// Three lines of more than two tiles, every kind and direction. Values are small integers: exact in every
// type.
template <class T> void expect_clean_scan(const char* policy, scan_operation operation, std::int64_t length) {
  const scans::step* const how = policy == std::string_view("auto") ? nullptr : &scans::find_step(policy);
  if (how != nullptr && !scans::is_compiled(target::cpu, *how, element_of<T>, operation)) return;
  for (const scan_kind kind : {scan_kind::inclusive, scan_kind::exclusive}) {
    const bool exclusive = kind == scan_kind::exclusive;
    scans::problem p{.type = element_of<T>, .operation = operation, .kind = kind, .length = length};
    p.direction = exclusive ? scan_direction::reverse : scan_direction::forward;
    const bool contiguous = how != nullptr && scans::is_single_pass(*how);  // it takes only contiguous lines
    const bool one_line = contiguous && policy != std::string_view("single-pass") &&
                          policy != std::string_view("single-pass-async");
    p.outer = exclusive || one_line ? 1 : 3;
    p.inner = exclusive && !contiguous ? 2 : 1;
    std::vector<T> host(static_cast<std::size_t>(p.outer * length * p.inner));
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<T>(i * 7919 % 5);
    const auto joined = [&](T x, T y) {
      return operation == scan_operation::sum   ? static_cast<T>(x + y)
             : operation == scan_operation::min ? std::min(x, y)
                                                : std::max(x, y);
    };
    const bool has_infinity = std::numeric_limits<T>::has_infinity;
    const T lowest = has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    const T highest = has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
    const T identity = operation == scan_operation::sum   ? T{}
                       : operation == scan_operation::min ? highest
                                                          : lowest;
    std::vector<T> right(host.size());
    for (std::int64_t line = 0; line < p.outer * p.inner; ++line) {
      T running = identity;
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t along = exclusive ? length - 1 - i : i;
        const auto at =
            static_cast<std::size_t>((line / p.inner * length + along) * p.inner + line % p.inner);
        const T after = joined(running, host[at]);
        right[at] = exclusive ? running : after;
        running = after;
      }
    }
    SCOPED_TRACE(fmt::format("{}, operation {}, kind {}", name(p.type), static_cast<int>(operation),
                             static_cast<int>(kind)));
    expect_clean([&](const context& where) -> std::string {
      const device_array<T> in(where, std::span<const T>(host));
      device_array<T> out(where, host.size());
      scans::problem here = p;
      here.in = in.data();
      here.out = out.data();
      scan(where, here, {.policy = policy});
      const std::vector<T> result = out.to_host();
      for (std::size_t i = 0; i < result.size(); ++i)
        if (result[i] != right[i])
          return fmt::format("element {} is {}, expected {}", i, result[i], right[i]);
      return {};
    });
  }
}
class clean_scan : public testing::TestWithParam<std::size_t> {};
TEST_P(clean_scan, has_no_finding) {
  const scans::step& s = scans::steps[GetParam()];
  const char* step = s.name;
  const std::int64_t length = 2 * scans::tile_of(s, sizeof(float)) + 8;
  expect_clean_scan<float>(step, scan_operation::sum, length);
  expect_clean_scan<double>(step, scan_operation::sum, length / 2);
  expect_clean_scan<std::int32_t>(step, scan_operation::sum, length);
}
INSTANTIATE_TEST_SUITE_P(all, clean_scan, testing::Range<std::size_t>(0, std::size(scans::steps)),
                         [](const auto& i) { return plain(scans::steps[i.param].name); });
TEST(clean_scans, of_small_types_and_other_operations_have_no_finding) {
  expect_clean_scan<std::uint8_t>("auto", scan_operation::sum, 33'000);
  expect_clean_scan<std::int16_t>("auto", scan_operation::min, 16'500);
  expect_clean_scan<float>("auto", scan_operation::max, 8200);
  expect_clean_scan<double>("auto", scan_operation::min, 4100);
}

// the example
// -----------------------------------------------------------------------------------------------------------

class clean_bulk_copy : public testing::TestWithParam<std::size_t> {};
TEST_P(clean_bulk_copy, has_no_finding) {
  const test::bulk_copy_case c = test::checked::bulk_copies()[GetParam()];
  const std::int64_t size = (2 * c.policy.stages + 1) * std::min(c.policy.tile, 512) + 7;
  std::vector<float> host;
  for (std::int64_t i = 0; i < size; ++i) host.push_back(static_cast<float>(i * 7919 % 1'000'003));
  expect_clean([&](const context& where) -> std::string {
    const device_array<float> from(where, std::span<const float>(host));
    device_array<float> to(where, host.size());
    const examples::bulk_copy_params params{from.data(), to.data(), size};
    where.runs_on().launch(c.kernel, {2, 1, 1}, &params, nullptr);
    const std::vector<float> result = to.to_host();
    for (std::int64_t i = 0; i < size; ++i)
      if (const auto at = static_cast<std::size_t>(i); result[at] != examples::transformed(host[at], i))
        return fmt::format("element {} is {}, expected {}", i, result[at],
                           examples::transformed(host[at], i));
    return {};
  });
}
INSTANTIATE_TEST_SUITE_P(all, clean_bulk_copy, testing::Range<std::size_t>(0, 10), [](const auto& i) {
  return plain(test::checked::bulk_copies()[i.param].kernel.name);
});

}  // namespace
}  // namespace antiphase::mutants
