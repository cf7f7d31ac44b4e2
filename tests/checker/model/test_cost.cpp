// SPDX-License-Identifier: Apache-2.0
// The cost of checking. Limits leave room for other work on the machine; the figures are printed.
#include <gmock/gmock.h>

#include <algorithm>
#include <antiphase/checker.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/scan.hpp>
#include <ctime>
#include <functional>
#include <iostream>
#include <span>
#include <tuple>
#include <vector>

namespace antiphase::test {
namespace {

using program = std::function<void(const context&)>;

std::vector<float> numbers(std::int64_t count) {
  std::vector<float> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i % 13) - 5;
  return all;
}

program square_product(std::int64_t size, const char* step) {
  return [size, step, input = numbers(size * size)](const context& where) {
    const device_array<float> a(where, std::span<const float>(input)),
        b(where, std::span<const float>(input));
    device_array<float> c(where, input.size());
    gemm(where,
         {.a = row_major(a.data(), size, size),
          .b = row_major(b.data(), size, size),
          .c = row_major(c.data(), size, size)},
         {.policy = step});
  };
}
program one_scan(std::int64_t length) {
  return [length, input = numbers(length)](const context& where) {
    const device_array<float> in(where, std::span<const float>(input));
    device_array<float> out(where, input.size());
    scan(where, {.in = in.data(), .out = out.data(), .length = length});
  };
}

// The minimum over several runs, in seconds of CPU time: other load on the machine does not count.
double time_of(const std::function<void()>& what, int runs = 3) {
  double least = 1e9;
  for (int i = 0; i < runs; ++i) {
    const std::clock_t start = std::clock();
    what();
    least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}
check_report check_once(const program& p) {
  return check(p, {.schedules = 1, .orders = {schedule::random}, .copies = {landing::late}, .workers = 1});
}

TEST(Cost, ACheckedRunTakesAFewTimesAsLongAsAPlainOne) {
  const context plain(make_cpu_executor({.workers = 1, .limits = simulated_device()}));
  // For naive, the plain run is only vectorised arithmetic.
  const std::tuple<const char*, double, program> all[] = {{"naive", 60, square_product(128, "naive")},
                                                          {"tiled", 30, square_product(128, "tiled")},
                                                          {"async-2", 30, square_product(128, "async-2")},
                                                          {"scan", 12, one_scan(200'000)}};
  for (const auto& [what, limit, p] : all) {
    const double without = time_of([&] { p(plain); });
    const double with = time_of([&] { EXPECT_TRUE(check_once(p).clean()); });
    std::cout << what << ": " << with / without << " times " << without * 1e3 << " ms\n";
    EXPECT_LT(with, limit * without) << what;
  }
}

TEST(Cost, AProductOf256IsCheckedWhileOneWaits) {
  const double seconds = time_of([] { EXPECT_TRUE(check_once(square_product(256, "async-2")).clean()); }, 1);
  std::cout << "256^3 async-2: " << seconds << " s\n";
  EXPECT_LT(seconds, 5);
}

TEST(Cost, FewBytesAreKeptForEachOfTheKernels) {
  for (const char* step : {"naive", "tiled", "async-2"}) {
    const check_report report = check_once(square_product(128, step));
    const double each = static_cast<double>(report.checker_bytes) / static_cast<double>(report.tracked_bytes);
    std::cout << step << ": " << each << " bytes kept for each of " << report.tracked_bytes << "\n";
    EXPECT_LT(each, 200) << step;
  }
}

}  // namespace
}  // namespace antiphase::test
