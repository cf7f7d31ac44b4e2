// SPDX-License-Identifier: Apache-2.0
// Broken products give wrong numbers on the CPU executor, if copies complete at a time that shows the fault;
// right ones never do.
#include <antiphase/core/tile.hpp>

#include "tests/gemm/mutants/kernels.hpp"
#include "tests/gemm/support.hpp"
#include "tests/support/mutant_runners.hpp"

namespace antiphase::gemm_test {
namespace cpu {
std::vector<test::mutant<>> mutants();  // kernels.cuh, compiled for the CPU executor
}
namespace {

constexpr unsigned seeds = 12;

// Five tiles along K, the last one with 3 elements; the padding after rows of A and B is NaN.
product long_product() {
  const std::int64_t k = 4 * mutant_tile_k + 3;
  product p =
      product_of(random_integers(2 * mutant_side - 1, k, 51), random_integers(k, mutant_side + 2, 52));
  p.place_a = placed_in_packets(major::row, p.a);
  p.place_b = placed_in_packets(major::column, p.b);
  return p;
}
bool is_right(const test::mutant<>& m, landing copies, unsigned seed, const product& p, const dense& right) {
  const context where(make_cpu_executor({.seed = seed, .copies = copies, .workers = 1}));
  matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
  const gemms::problem request{.a = a.view(), .b = b.view(), .c = c.view()};
  const auto tiles = [](std::int64_t extent) {
    return static_cast<unsigned>(ceil_div<std::int64_t>(extent, mutant_side));
  };
  where.runs_on().launch(m.code, {tiles(p.c.rows) * tiles(p.c.columns), 1, 1}, &request, nullptr);
  return static_cast<bool>(same(c.read(), right));
}
TEST(gemm_mutants, show_wrong_numbers) {
  const product p = long_product();
  const dense right = expected(p);
  int broken = 0, whole = 0;
  for (const test::mutant<>& m : cpu::mutants()) {
    test::expect_outcomes(m, seeds,
                          [&](landing copies, unsigned seed) { return is_right(m, copies, seed, p, right); });
    ++(m.broken == nullptr ? whole : broken);
  }
  EXPECT_EQ(whole, 7);
  EXPECT_EQ(broken, 35);
}

}  // namespace
}  // namespace antiphase::gemm_test
