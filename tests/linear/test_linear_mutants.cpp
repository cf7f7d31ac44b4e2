// SPDX-License-Identifier: Apache-2.0
// Every fault of the kernel of linear layers is found, by the kind and the words its list names.
#include <antiphase/core/error.hpp>

#include "library/linear/plan.hpp"
#include "tests/linear/layer.hpp"
#include "tests/linear/linear_mutants.hpp"
#include "tests/support/mutant_runners.hpp"

namespace antiphase::linears {
namespace {

class linear_mutants : public testing::TestWithParam<test::mutant<tile_policy>> {};
TEST_P(linear_mutants, are_found) {
  const tile_policy& tile = GetParam().policy;
  const auto use = [&](const context& where) {  // two tiles, whose k goes around the ring more than twice
    const test::halves x(element::bf16, test::kind::normal, 37, 9 * depth, 1),
        w(element::bf16, test::kind::normal, tile.columns * tile.cluster + 44, 9 * depth, 2);
    const device_array<std::uint16_t> on_x(where, std::span<const std::uint16_t>(x.bits)),
        on_w(where, std::span<const std::uint16_t>(w.bits));
    device_array<std::uint32_t> y(where, static_cast<std::size_t>(x.rows * w.rows));
    const linear_problem p{.out = element::f32,
                           .x = {on_x.data(), x.columns},
                           .w = {on_w.data(), w.columns},
                           .y = {y.data(), w.rows},
                           .m = x.rows,
                           .n = w.rows,
                           .k = x.columns};
    const linear_plan plan = plan_of(where.runs_on(), p, tile, GetParam().code);
    where.runs_on().launch(plan.code, plan.grid, &plan.arguments, nullptr);
    where.runs_on().synchronize(nullptr);
    const test::words found = y.to_host();
    for (std::int64_t i = 0; i < x.rows; ++i)
      for (std::int64_t j = 0; j < w.rows; j += 7) {
        double sum = 0, size = 0;
        for (std::int64_t k = 0; k < x.columns; ++k)
          sum += double{x(i, k)} * w(j, k), size += std::abs(double{x(i, k)} * w(j, k));
        const double got = std::bit_cast<float>(found[static_cast<std::size_t>(i * w.rows + j)]);
        if (!(std::abs(got - sum) <= size * 0x1p-15)) throw error("Y is wrong");
      }
  };
  test::expect_accused(GetParam(), use, test::on_multiprocessors(1, 10));
}

// W of a product is Y of the one before it, which the launch may overlap.
TEST(linear_chain, w_may_come_from_the_launch_before) {
  const auto chain = [](bool overlap) {
    return [overlap](const context& where) {
      const test::halves x(element::bf16, test::kind::normal, 40, 72, 1),
          w(element::bf16, test::kind::normal, 56, 72, 2);
      const device_array<std::uint16_t> on_x(where, std::span<const std::uint16_t>(x.bits)),
          on_w(where, std::span<const std::uint16_t>(w.bits));
      device_array<std::uint16_t> y(where, 40 * 56), z(where, 16 * 40);
      linear(
          where,
          {.x = {on_x.data(), 72}, .w = {on_w.data(), 72}, .y = {y.data(), 56}, .m = 40, .n = 56, .k = 72});
      linear(where,
             {.x = {on_w.data(), 56}, .w = {y.data(), 56}, .y = {z.data(), 40}, .m = 16, .n = 40, .k = 56},
             {.overlap = overlap});
      where.runs_on().synchronize(nullptr);
    };
  };
  const check_options options = test::on_multiprocessors(2, 10);
  const check_report whole = check(chain(false), options), broken = check(chain(true), options);
  EXPECT_TRUE(whole.clean()) << to_text(whole);
  EXPECT_FALSE(broken.clean());
}
INSTANTIATE_TEST_SUITE_P(all, linear_mutants, testing::ValuesIn(checked::tile_mutants()),
                         test::name_of<tile_policy>);

}  // namespace
}  // namespace antiphase::linears
