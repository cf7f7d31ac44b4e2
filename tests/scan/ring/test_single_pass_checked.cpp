// SPDX-License-Identifier: Apache-2.0
// The single-pass scan under the checker: every access type, aligned and unaligned copies, many schedules.
#include <antiphase/checker.hpp>
#include <antiphase/core/error.hpp>

#include "tests/scan/any_scan.hpp"

namespace antiphase::scan_test {
namespace {

template <class Program> void expect_clean(Program program, int schedules = 4) {
  check_options options;
  options.schedules = schedules;
  options.workers = 1;
  options.shorten = false;
  const check_report report = check(program, options);
  EXPECT_TRUE(report.clean()) << to_text(report);
  EXPECT_GT(report.accesses, 0u);
}

TEST(single_pass_checked, aligned) {
  expect_clean(
      [](const context& where) { expect_right<float>(where, {.length = 2 * ring_tile<float> + 37}); });
  expect_clean([](const context& where) {
    expect_right<std::uint8_t>(where, {.kind = scan_kind::exclusive,
                                       .direction = scan_direction::reverse,
                                       .length = ring_tile<std::uint8_t> + 5});
  });
}
// Tiles moved by threads: full and partial ones, more than the ring has slots, with shared-memory offsets
// equal to those in global memory and not.
TEST(single_pass_checked, by_threads) {
  constexpr const char* policy = "single-pass-async";
  expect_clean([](const context& where) {
    expect_right<float>(where, {.length = 6 * ring_tile<float> + 37}, {}, policy);
  });
  expect_clean([](const context& where) {
    expect_right<float>(where, {.direction = scan_direction::reverse, .length = 2 * ring_tile<float> + 5},
                        {1, 0, true}, policy);
  });
  expect_clean([](const context& where) {
    expect_right<std::uint8_t>(where,
                               {.operation = scan_operation::max, .length = ring_tile<std::uint8_t> + 3},
                               {3, 6, false}, policy);
  });
  expect_clean([](const context& where) {
    expect_right<float, double>(where, {.length = 2 * ring_tile<float, double> + 7}, {}, policy);
  });
  expect_clean(
      [](const context& where) { expect_right<float>(where, {.outer = 100, .length = 77}, {}, policy); });
}
TEST(single_pass_checked, anywhere) {
  expect_clean([](const context& where) {
    expect_right<std::int16_t>(
        where, {.operation = scan_operation::max, .length = 2 * ring_tile<std::int16_t> + 3}, {3, 6, false});
  });
  expect_clean([](const context& where) {
    expect_right<float>(where, {.direction = scan_direction::reverse, .length = 2 * ring_tile<float> + 5},
                        {1, 0, true});
  });
  expect_clean([](const context& where) { expect_right<f16>(where, {.length = 21}, {5, 2, false}); });
}

TEST(single_pass_checked, wider_sums) {
  expect_clean([](const context& where) {
    expect_right<std::int8_t, std::int32_t>(where, {.length = ring_tile<std::int8_t, std::int32_t> + 7},
                                            {2, 1, false});
  });
  expect_clean([](const context& where) {
    expect_right<float, double>(where, {.length = ring_tile<float, double> + 7});
  });
}
TEST(single_pass_checked, rows) {
  expect_clean([](const context& where) { expect_right<float>(where, {.outer = 100, .length = 77}); });
  expect_clean([](const context& where) {
    expect_right<std::int64_t>(
        where,
        {.kind = scan_kind::exclusive, .direction = scan_direction::reverse, .outer = 3, .length = 1501});
  });
}
TEST(single_pass_checked, by_key) {
  for (const scans::segments_by by : {scans::segments_by::keys, scans::segments_by::head_flags})
    expect_clean([by](const context& where) {
      const std::int64_t n = ring_tile<float> + 101;
      std::vector<std::uint8_t> keys;
      for (std::int64_t i = 0; i < n; ++i)
        keys.push_back(static_cast<std::uint8_t>(hash(static_cast<std::uint64_t>(i)) % 3 == 0));
      const device_array<std::uint8_t> told(where, std::span<const std::uint8_t>(keys));
      device_array<float> array(where, std::vector<float>(static_cast<std::size_t>(n), 1));
      scan_by_key(where, {.in = array.data(), .out = array.data(), .length = n},
                  {.data = told.data(), .type = element::u8, .segments = by});
      float running = 0;
      const std::vector<float> out = array.to_host();
      for (std::size_t i = 0; i < out.size(); ++i) {
        const bool head = i == 0 || (by == scans::segments_by::keys ? keys[i] != keys[i - 1] : keys[i] != 0);
        running = head ? 1 : running + 1;
        if (!(out[i] == running)) throw device_error("element " + std::to_string(i) + " is wrong");
      }
    });
}

}  // namespace
}  // namespace antiphase::scan_test
