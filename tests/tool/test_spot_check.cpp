// SPDX-License-Identifier: Apache-2.0
// Operands that repeat, and products of them checked by a sample.
#include "tool/measure/products/spot_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <antiphase/gemm.hpp>
#include <limits>

#include "tool/measure/verify.hpp"

namespace antiphase::tool {
namespace {

const context& cpu() {
  static const context where = context::on("cpu");
  return where;
}
// Shorter than the operands, so that they repeat.
operand_values values() {
  return {.a = repeated_values(random_values(211, 1)),
          .b = repeated_values(random_values(307, 2)),
          .c = repeated_values(random_values(401, 3))};
}

// All results, computed in FP64 and rounded once.
std::vector<float> product_of(const listed_product& p, const operand_values& v) {
  const auto [m, n, k] = p.size;
  std::vector<float> all;
  for (std::int64_t member = 0; member < p.count; ++member)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = p.beta * static_cast<double>(v.c[(member * m + i) * n + j]);
        for (std::int64_t l = 0; l < k; ++l)
          sum += static_cast<double>(v.a[member * m * k + (p.layout[0] == 'n' ? i * k + l : l * m + i)]) *
                 v.b[member * k * n + (p.layout[1] == 'n' ? l * n + j : j * k + l)];
        all.push_back(static_cast<float>(sum));
      }
  return all;
}
struct held_out {
  listed_product of;
  operand_values with = values();
  std::vector<float> right = product_of(of, with);
  spot_check check{of, with};
  bool accepts(const std::vector<float>& c, double units = 1.001) const {
    const device_array<float> device(cpu(), c);
    return check(cpu(), device.data(), {.units = units}).within(units);
  }
};

std::vector<listed_product> several() {
  std::vector<listed_product> all;
  for (const char* layout : {"nn", "nt", "tn", "tt"})
    for (const float beta : {0.f, 1.f, -2.5f})
      for (const std::int64_t count : {1, 3})
        all.push_back(
            {.name = "", .group = "", .size = {5, 7, 23}, .layout = layout, .beta = beta, .count = count});
  return all;
}

TEST(spot_check, accepts_what_is_rounded_once) {
  for (const listed_product& p : several()) {
    const held_out j{p};
    EXPECT_EQ(j.check.outputs(), p.of_c());
    EXPECT_TRUE(j.accepts(j.right)) << p.layout << p.beta << p.count;
  }
}
TEST(spot_check, finds_every_wrong_output_of_a_small_product) {
  for (const listed_product& p : several()) {
    const held_out j{p};
    for (std::size_t i = 0; i < j.right.size(); ++i)
      for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), 0.f, j.right[i] + 1e-4f,
                                j.right[(i + 1) % j.right.size()]}) {
        std::vector<float> c = j.right;
        c[i] = wrong;
        EXPECT_FALSE(j.accepts(c)) << p.layout << p.beta << p.count << " " << i << " " << wrong;
      }
  }
}
TEST(spot_check, looks_at_every_tile_of_a_large_product) {
  const listed_product p{.name = "", .group = "", .size = {300, 1000, 2}, .layout = "nt"};
  const held_out j{p};
  for (std::int64_t top = 0; top < 300; top += 100)
    for (std::int64_t left = 0; left < 1000; left += 128) {
      std::vector<float> c = j.right;
      for (std::int64_t i = top; i < std::min<std::int64_t>(300, top + 128); ++i)
        for (std::int64_t l = left; l < std::min<std::int64_t>(1000, left + 128); ++l)
          c[static_cast<std::size_t>(i * 1000 + l)] = 100;
      EXPECT_FALSE(j.accepts(c)) << top << " " << left;
    }
}
TEST(spot_check, all_of_the_sampled_rows_have_to_be_finite) {
  const listed_product p{.name = "", .group = "", .size = {200, 300, 2}, .layout = "tt"};
  const held_out j{p};
  EXPECT_LT(j.check.outputs(), p.of_c());
  for (std::int64_t column = 0; column < 300; ++column) {
    std::vector<float> c = j.right;
    for (std::int64_t i = 0; i < 200; ++i)
      c[static_cast<std::size_t>(i * 300 + column)] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(j.accepts(c)) << column;
  }
}
TEST(spot_check, an_output_that_is_no_number_is_infinitely_wrong) {
  const held_out j{{.name = "", .group = "", .size = {3, 4, 5}, .layout = "nt"}};
  const device_array<float> device(cpu(), std::vector<float>(12, std::numeric_limits<float>::quiet_NaN()));
  EXPECT_EQ(j.check(cpu(), device.data(), {.units = 1}).component, std::numeric_limits<double>::infinity());
}
TEST(spot_check, takes_a_few_outputs_of_a_product_with_long_sums) {
  const listed_product p{.name = "", .group = "", .size = {300, 200, 1000000}};
  const spot_check check(p, values());
  EXPECT_EQ(check.outputs(), 64);
}
TEST(spot_check, one_more_rounding_of_what_is_added_is_allowed) {
  const listed_product p{.name = "", .group = "", .size = {4, 4, 2}, .layout = "nn", .beta = 1};
  held_out j{p,
             {.a = repeated_values(random_values(211, 1)),
              .b = repeated_values(random_values(307, 2)),
              .c = repeated_values({1000.f, -3000.f, 2000.f})}};
  EXPECT_TRUE(j.accepts(j.right)) << "half a unit of 3000 is hundreds of units of a small sum";
}

TEST(repeated_values, fill_as_they_say) {
  const repeated_values v(random_values(7, 1));
  for (const std::int64_t count : {0, 1, 6, 7, 8, 14, 29, 1000}) {
    device_array<float> filled(cpu(), std::vector<float>(static_cast<std::size_t>(count) + 1, 5.f));
    v.fill(cpu(), filled.data(), count);
    const std::vector<float> found = filled.to_host();
    for (std::int64_t i = 0; i < count; ++i)
      ASSERT_EQ(found[static_cast<std::size_t>(i)], v[i]) << count << " " << i;
    EXPECT_EQ(found.back(), 5.f);
  }
}
TEST(normal_operands, are_three_different_ones) {
  const operand_values v = normal_operands();
  EXPECT_GT(v.a.length(), 200000);
  int same = 0;
  for (std::int64_t i = 0; i < 1000; ++i)
    same += v.a[i] == v.b[i] || v.a[i] == v.c[i] || v.b[i] == v.c[i] || v.a[i] == v.a[i + 1] ? 1 : 0;
  EXPECT_LT(same, 3);
  EXPECT_EQ(v.a[3], v.a[3 + v.a.length()]);
}

}  // namespace
}  // namespace antiphase::tool
