// SPDX-License-Identifier: Apache-2.0
// Arrays of numbers and their expected scans, computed without the library's operators.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <antiphase/scan.hpp>
#include <antiphase/scan/detail/ring_policy.hpp>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "tests/scan/support.hpp"
#include "tests/scan/types.hpp"

namespace antiphase::scan_test {

constexpr scan_operation operations[] = {scan_operation::sum, scan_operation::product, scan_operation::min,
                                         scan_operation::max};
constexpr scan_kind kinds[] = {scan_kind::inclusive, scan_kind::exclusive};
constexpr scan_direction directions[] = {scan_direction::forward, scan_direction::reverse};

// Derived from the position. Integers use the whole range; factors of products are odd, or near 1, so that
// products do not vanish.
template <class T> T number_at(std::int64_t i, scan_operation operation) {
  const auto h = hash(static_cast<std::uint64_t>(i) + 100);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(operation == scan_operation::product ? h | 1 : h);
  } else {
    const double unit = static_cast<double>(h % 65536) / 32768 - 1;
    return static_cast<T>(operation == scan_operation::product ? 1 + unit / 16 : unit);
  }
}

// Integers as their 64 low bits: sums and products of those are right modulo any smaller power of two. Floats
// as long double.
template <class T> using exact = std::conditional_t<std::is_integral_v<T>, std::uint64_t, long double>;

template <class T> std::vector<T> numbers(std::int64_t count, scan_operation operation) {
  std::vector<T> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(number_at<T>(i, operation));
  return all;
}

template <class T> T first_of_exclusive(scan_operation operation) {
  using limits = std::numeric_limits<T>;
  switch (operation) {
    case scan_operation::sum: return 0;
    case scan_operation::product: return 1;
    case scan_operation::min: return std::is_integral_v<T> ? limits::max() : limits::infinity();
    case scan_operation::max: break;
  }
  return std::is_integral_v<T> ? limits::min() : -limits::infinity();
}

// Expected results and the error bound of floats. A term's rounding error enters a sum at most `depth` times:
// the additions on the term's longest path, whatever the length (a chunk, two levels of warps, and a few for
// each level of tiles). A product has one relative error per multiplication, one less than its factors;
// products of FP32 are computed in FP64 and rounded once.
template <class T> void expect_scan(const std::vector<T>& in, const std::vector<T>& out,
                                    const scans::problem& p, const std::string& what) {
  const scans::lines over{p.outer, p.length, p.inner, p.direction};
  const T initial = first_of_exclusive<T>(p.operation);
  if (p.operation == scan_operation::min || p.operation == scan_operation::max) {
    const auto expected = expected_scan(in, over, p.kind, initial, [&](T a, T b) {
      return p.operation == scan_operation::min ? std::min(a, b) : std::max(a, b);
    });
    EXPECT_TRUE(out == expected) << what;
    return;
  }
  const bool adds = p.operation == scan_operation::sum;
  using wide = exact<T>;
  const std::vector<wide> wide_in(in.begin(), in.end());
  const auto expected = expected_scan(wide_in, over, p.kind, static_cast<wide>(initial),
                                      [&](wide a, wide b) { return adds ? a + b : a * b; });
  if constexpr (std::is_integral_v<T>) {
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], static_cast<T>(expected[i])) << what << ", element " << i;
  } else {
    const auto factors = static_cast<long double>(p.length);
    const long double depth = adds                        ? 80
                              : std::is_same_v<T, double> ? std::max<long double>(80, factors)
                                                          : 1 + 0x1p-28L * (factors + 1);
    std::vector<wide> sizes(in.size());
    std::transform(in.begin(), in.end(), sizes.begin(), [](T x) { return std::abs(static_cast<wide>(x)); });
    const auto weight = expected_scan(sizes, over, p.kind, static_cast<wide>(initial),
                                      [&](wide a, wide b) { return adds ? a + b : a * b; });
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_LE(std::abs(static_cast<wide>(out[i]) - expected[i]),
                depth * std::numeric_limits<T>::epsilon() / 2 * weight[i])
          << what << ", element " << i;
  }
}

// For scans that need bulk copies.
class on_bulk_device : public on_device {
 protected:
  void SetUp() override {
    on_device::SetUp();
    if (!IsSkipped() && any().limits().major != 9)
      GTEST_SKIP() << "no kernels with bulk copies for " << any().limits().name;
  }
};
// For single-pass scans by TMA or by threads: the parameter is the device and the policy.
class on_ring_device : public on_device {
 protected:
  bool by_threads() const { return std::string_view(GetParam()).ends_with("async"); }
  const char* policy() const { return by_threads() ? "single-pass-async" : "single-pass"; }
  // The CPU executor has kernels whose tiles threads move for these elements only.
  template <class In> bool takes() const {
    return is_cuda() || !by_threads() || std::is_same_v<In, float> || std::is_same_v<In, std::uint8_t>;
  }
  void SetUp() override {
    on_device::SetUp();
    if (IsSkipped()) return;
    const int major = any().limits().major;
    if (by_threads() ? major < 8 : major != 9)
      GTEST_SKIP() << "no kernels of " << policy() << " for " << any().limits().name;
  }
};
#define AP_ON_BOTH_DEVICES_BY_BOTH_MOVERS(suite)                           \
  AP_ON_BOTH_DEVICES(suite);                                               \
  INSTANTIATE_TEST_SUITE_P(CpuAsync, suite, testing::Values("cpu async")); \
  INSTANTIATE_TEST_SUITE_P(CudaAsync, suite, testing::Values("cuda async"))
// Elements of a single-pass tile.
template <class In, class Out = In>
constexpr std::int64_t ring_tile = scans::ring_scan_policy.tile_of(sizeof(In), sizeof(Out));

struct placement {
  std::size_t in_offset = 0, out_offset = 0;
  bool in_place = false;
};

// Fills in the pointers of a problem, runs it through the public call, and checks results and guards. Returns
// the output.
template <class T> std::vector<T> expect_scan_right(const context& where, scans::problem p,
                                                    const placement& lies = {},
                                                    std::string_view policy = "auto") {
  const auto host = numbers<T>(p.outer * p.length * p.inner, p.operation);
  guarded<T> in(where, host, lies.in_offset),
      apart(where, std::vector<T>(host.size(), T(85)), lies.out_offset);
  guarded<T>& to = lies.in_place ? in : apart;
  p.type = element_of<T>;
  p.in = in.data();
  p.out = to.data();
  scan(where, p, {.policy = policy});
  where.runs_on().synchronize(nullptr);
  const std::vector<T> out = to.to_host();
  expect_scan(host, out, p,
              std::string(name(p.type)) + ", operation " + std::to_string(static_cast<int>(p.operation)) +
                  ", kind " + std::to_string(static_cast<int>(p.kind)) + ", direction " +
                  std::to_string(static_cast<int>(p.direction)) + ", " + std::to_string(p.outer) + " x " +
                  std::to_string(p.length) + " x " + std::to_string(p.inner) + ", policy " +
                  std::string(policy));
  if (!lies.in_place) {
    EXPECT_TRUE(in.to_host() == host) << "the input was written";
  }
  return out;
}

}  // namespace antiphase::scan_test
