// SPDX-License-Identifier: Apache-2.0
// A line has the same bits alone and among others by policy items, which gives each line its own tiles.
#include <gtest/gtest.h>

#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <antiphase/scan.hpp>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

namespace antiphase::scan_test {
namespace {

class scan_reproducible : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why;
    if (GetParam() == std::string_view("cuda") && cuda_devices(&why).empty())
      GTEST_SKIP() << "no GPU: " << why;
  }
};

std::vector<float> numbers(std::size_t count) {
  std::vector<float> all(count);
  std::uint32_t state = 7;
  for (float& x : all) {
    state = state * 1664525u + 1013904223u;
    x = std::ldexp(static_cast<float>(static_cast<int>(state >> 8) - (1 << 23)),
                   static_cast<int>(state >> 4 & 7u));
  }
  return all;
}
// The inclusive sums of `count` lines from `first` on, of lines side by side (along = false) or in turn.
std::vector<float> sums(const context& where, const std::vector<float>& all, std::int64_t lines,
                        std::int64_t length, bool apart, std::int64_t first, std::int64_t count,
                        std::string_view policy) {
  const auto place = [&](std::int64_t l, std::int64_t i, std::int64_t of) {
    return static_cast<std::size_t>(apart ? i * of + l : l * length + i);
  };
  std::vector<float> some(static_cast<std::size_t>(count * length));
  for (std::int64_t l = 0; l < count; ++l)
    for (std::int64_t i = 0; i < length; ++i) some[place(l, i, count)] = all[place(first + l, i, lines)];
  const device_array<float> in(where, some);
  device_array<float> out(where, some.size());
  scan(where,
       {.in = in.data(),
        .out = out.data(),
        .outer = apart ? 1 : count,
        .length = length,
        .inner = apart ? count : 1},
       {.policy = "items"});
  where.runs_on().synchronize(nullptr);
  const std::vector<float> found = out.to_host();
  std::vector<float> by_line(found.size());
  for (std::int64_t l = 0; l < count; ++l)
    for (std::int64_t i = 0; i < length; ++i)
      by_line[static_cast<std::size_t>(l * length + i)] = found[place(l, i, count)];
  return by_line;
}

TEST_P(scan_reproducible, a_line_has_the_same_bits_alone_and_among_others) {
  const context where = context::on(GetParam());
  constexpr std::int64_t lines = 37;
  for (const std::int64_t length : {5, 700, 9001})
    for (const bool apart : {false, true}) {
      std::vector<float> all = numbers(static_cast<std::size_t>(lines * length));
      all[0] = std::numeric_limits<float>::infinity();  // of line 0
      const std::vector<float> together = sums(where, all, lines, length, apart, 0, lines);
      for (const auto& [first, count] :
           {std::pair<std::int64_t, std::int64_t>{1, 1}, {36, 1}, {3, 9}, {1, 36}}) {
        const std::vector<float> alone = sums(where, all, lines, length, apart, first, count);
        std::int64_t differ = 0;
        for (std::size_t i = 0; i < alone.size(); ++i)
          differ += std::bit_cast<std::uint32_t>(alone[i]) !=
                    std::bit_cast<std::uint32_t>(together[i + static_cast<std::size_t>(first * length)]);
        EXPECT_EQ(differ, 0) << count << " lines from " << first << " on, of " << length;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Cpu, scan_reproducible, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Cuda, scan_reproducible, testing::Values("cuda"));

}  // namespace
}  // namespace antiphase::scan_test
