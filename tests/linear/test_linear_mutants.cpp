// SPDX-License-Identifier: Apache-2.0
// Every fault of the kernel of linear layers is found, by the kind and the words its list names.
#include <antiphase/core/error.hpp>

#include "src/linear/plan.hpp"
#include "tests/linear/layer.hpp"
#include "tests/linear/linear_mutants.hpp"
#include "tests/support/mutant_runners.hpp"

namespace antiphase::linears {
namespace {

class linear_mutants : public testing::TestWithParam<test::mutant<>> {};
TEST_P(linear_mutants, are_found) {
  const auto use = [&](const context& where) {  // two tiles, whose k goes around the ring more than twice
    const test::halves x(element::bf16, test::kind::normal, 37, 9 * depth, 1),
        w(element::bf16, test::kind::normal, 300, 9 * depth, 2);
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
    const linear_plan plan = plan_of(where.runs_on(), p, narrow, GetParam().code);
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
INSTANTIATE_TEST_SUITE_P(all, linear_mutants, testing::ValuesIn(checked::tile_mutants()),
                         test::name_of<test::as_its_test_says>);

}  // namespace
}  // namespace antiphase::linears
