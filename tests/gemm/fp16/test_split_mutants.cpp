// SPDX-License-Identifier: Apache-2.0
// Every fault of the product of split operands is found, by the kind and the words its list names.
#include <antiphase/core/error.hpp>

#include "library/gemm/fp16/split_plan.hpp"
#include "tests/gemm/fp16/split_mutants.hpp"
#include "tests/support/mutant_runners.hpp"

namespace antiphase::gemms {
namespace {

float a_at(std::int64_t i, std::int64_t k) { return static_cast<float>((i * 31 + k * 17) % 23 - 11); }
float b_at(std::int64_t k, std::int64_t j) { return static_cast<float>((k * 13 + j * 29) % 19 - 9); }

// One tile of integers, exact, whose k goes around the ring more than twice.
void multiply(const context& where, const product_instance& with) {
  constexpr std::int64_t m = 37, n = 21, k = 5 * split_chunk - 21;
  std::vector<float> a, b;
  for (std::int64_t i = 0; i < m * k; ++i) a.push_back(a_at(i / k, i % k));
  for (std::int64_t i = 0; i < k * n; ++i) b.push_back(b_at(i / n, i % n));
  const device_array<float> in_a(where, std::span<const float>(a)), in_b(where, std::span<const float>(b));
  device_array<float> out(where, m * n);
  product_plan plan = plan_product(where, {.a = row_major(in_a.data(), m, k),
                                           .b = row_major(in_b.data(), k, n),
                                           .c = row_major(out.data(), m, n)});
  plan.waves.front().instance = with;
  device_array<std::byte> workspace(where, plan.workspace());
  run(where, plan, {workspace.data(), workspace.size()}, nullptr, nullptr);
  where.runs_on().synchronize(nullptr);
  const std::vector<float> c = out.to_host();
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += a_at(i, l) * b_at(l, j);
      if (!(c[static_cast<std::size_t>(i * n + j)] == sum))
        throw device_error("C(" + std::to_string(i) + ", " + std::to_string(j) + ") is wrong");
    }
}

const check_options not_shared = test::on_multiprocessors(1, 10);  // so that no cluster shares a tile

class split_mutants : public testing::TestWithParam<test::mutant<>> {};
TEST_P(split_mutants, are_found) {
  test::expect_accused(
      GetParam(),
      [](const context& where) {
        multiply(where, {few_stages, GetParam().code});
      },
      not_shared);
}
INSTANTIATE_TEST_SUITE_P(all, split_mutants, testing::ValuesIn(checked::split_mutants()),
                         test::name_of<test::as_its_test_says>);

class split_mma_mutants : public testing::TestWithParam<test::mutant<>> {};
TEST_P(split_mma_mutants, are_found) {
  test::expect_accused(
      GetParam(),
      [](const context& where) {
        multiply(where, {split_mma_policy, GetParam().code});
      },
      not_shared);
}
INSTANTIATE_TEST_SUITE_P(all, split_mma_mutants, testing::ValuesIn(checked::split_mma_mutants()),
                         test::name_of<test::as_its_test_says>);

}  // namespace
}  // namespace antiphase::gemms
