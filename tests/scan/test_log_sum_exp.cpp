// SPDX-License-Identifier: Apache-2.0
// Running logarithms of sums of exponentials.
#include <gmock/gmock.h>

#include <antiphase/core/error.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "tests/scan/support.hpp"

namespace antiphase::scan_test {
namespace {

class log_sum_exps : public on_device {};
AP_ON_BOTH_DEVICES(log_sum_exps);

constexpr double infinite = std::numeric_limits<double>::infinity();

template <class T> void expect_right(const context& where, const scan_problem& about, double scale) {
  scan_problem p = about;
  p.type = element_of<T>;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<T> in(static_cast<std::size_t>(p.outer * p.length * p.inner));
  for (T& x : in) x = static_cast<T>(scale * normal(random));
  const device_array<T> from(where, in);
  device_array<T> to(where, in.size());
  p.in = from.data(), p.out = to.data();
  scan_log_sum_exp(where, p);
  const std::vector<T> out = to.to_host();
  const bool forward = p.direction == scan_direction::forward;
  for (std::int64_t o = 0; o < p.outer; ++o)
    for (std::int64_t j = 0; j < p.inner; ++j) {
      double sum = -infinite;
      for (std::int64_t n = 0; n < p.length; ++n) {
        const auto at =
            static_cast<std::size_t>((o * p.length + (forward ? n : p.length - 1 - n)) * p.inner + j);
        const double x = in[at], larger = std::max(sum, x);
        sum = larger + std::log1p(std::exp(std::min(sum, x) - larger));
        ASSERT_NEAR(out[at], sum, 60 * std::numeric_limits<T>::epsilon() * (1 + std::abs(sum))) << n;
      }
    }
}

TEST_P(log_sum_exps, of_lines_along_any_axis) {
  for (const scan_direction direction : {scan_direction::forward, scan_direction::reverse}) {
    expect_right<float>(any(), {.direction = direction, .length = 20011}, 3);
    expect_right<float>(any(), {.direction = direction, .outer = 3, .length = 700, .inner = 5}, 100);
    expect_right<double>(any(), {.direction = direction, .length = 9001}, 300);
    expect_right<double>(any(), {.direction = direction, .outer = 70, .length = 33}, 1);
  }
}

TEST_P(log_sum_exps, of_infinities_and_nan) {
  const double nan = std::nan("");
  const context where = any();
  const device_array<double> in(where,
                                std::vector<double>{-infinite, -infinite, 5, infinite, infinite, 1, nan, 2});
  device_array<double> out(where, 8);
  scan_log_sum_exp(where, {.type = element::f64, .in = in.data(), .out = out.data(), .length = 8});
  EXPECT_THAT(out.to_host(), testing::ElementsAre(-infinite, -infinite, 5, infinite, infinite, infinite,
                                                  testing::IsNan(), testing::IsNan()));
}

TEST_P(log_sum_exps, say_what_they_do_not_take) {
  alignas(16) float memory[4] = {};
  const auto run = [&](scan_problem p) {
    p.in = p.out = memory, p.length = 4;
    scan_log_sum_exp(any(), p);
  };
  EXPECT_THROW(run({.type = element::f16}), not_supported);
  EXPECT_THROW(run({.operation = scan_operation::max}), bad_request);
  EXPECT_THROW(run({.kind = scan_kind::exclusive}), bad_request);
  EXPECT_THROW(run({.accumulate = element::f64}), bad_request);
  EXPECT_THROW(run({.outer = -1}), bad_request);
}

}  // namespace
}  // namespace antiphase::scan_test
