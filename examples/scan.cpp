// SPDX-License-Identifier: Apache-2.0
// Running sums of each row of a matrix, and of its segments by key, on the first GPU, or on the CPU executor
// where there is none.
#include <antiphase/scan.hpp>
#include <cstdio>
#include <vector>

int main() {
  const auto where = antiphase::context::best();
  const std::vector<float> ones(3 * 1000, 1.0f);
  antiphase::device_array<float> x(where, ones), sums(where, ones.size());
  antiphase::scan(where, {.in = x.data(), .out = sums.data(), .outer = 3, .length = 1000});  // 3 rows

  // A segment ends where the next key differs: here after every 500 elements.
  std::vector<int> numbers(ones.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i / 500);
  antiphase::device_array<int> keys(where, numbers);
  antiphase::device_array<float> offsets(where, ones.size());
  antiphase::scan_by_key(
      where, {.kind = antiphase::scan_kind::exclusive, .in = x.data(), .out = offsets.data(), .length = 3000},
      {.data = keys.data()});
  std::printf("%g, %g on %s\n", sums.to_host()[1999], offsets.to_host()[2999], where.limits().name.c_str());
}
