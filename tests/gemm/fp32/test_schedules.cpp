// SPDX-License-Identifier: Apache-2.0
// Whatever the order of threads, the landing of copies and the number of workers: the same bits. Random
// problems, exactly.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

TEST(gemm_schedules, do_not_change_a_bit) {
  for (const gemms::step& s : gemms::steps) {
    const std::int64_t m = s.policy.tile.m + 5, n = s.policy.tile.n + 3, k = 4 * s.policy.tile_k + 1;
    product p = product_of(random_reals(m, k, 31), random_reals(k, n, 32), 1, -1.5);
    p.place_a = placed_in_packets(major::row, p.a);
    p.place_b = placed_in_packets(major::row, p.b);
    const auto right = expected(p);
    for (const landing copies : {landing::early, landing::late, landing::mixed})
      for (unsigned seed = 1; seed <= 3; ++seed)
        for (const int workers : {1, 3}) {
          SCOPED_TRACE(testing::Message() << s.name << ", landing " << static_cast<int>(copies) << ", seed "
                                          << seed << ", " << workers << " workers");
          const context where(make_cpu_executor(
              {.seed = seed, .copies = copies, .workers = workers, .resident_blocks = 1 + workers / 2}));
          EXPECT_TRUE(same(computed(where, s.name, p), right));
        }
  }
}

// Streams, repetitions and the memory's contents before do not matter either.
class gemm_repeats : public on_device {};
TEST_P(gemm_repeats, bit_by_bit) {
  const context where = any();
  for (const gemms::step& s : gemms::steps) {
    const product p = product_of(random_reals(s.policy.tile.m + 1, 2 * s.policy.tile_k + 1, 41),
                                 random_reals(2 * s.policy.tile_k + 1, s.policy.tile.n + 1, 42));
    const dense first = computed(where, s.name, p);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(computed(where, s.name, p), first)) << s.name;
  }
}
AP_ON_BOTH_DEVICES(gemm_repeats);

// Any shape, any strides, any step: small integers come out exactly
// ----------------------------------------------------------------
placing any_placing(const dense& d, bool writable) {
  const std::int64_t along = *rc::gen::inRange(1, 4), gap = *rc::gen::inRange(0, 6);
  const bool by_rows = *rc::gen::arbitrary<bool>();
  const std::int64_t across = std::max<std::int64_t>(by_rows ? d.columns : d.rows, 1) * along + gap;
  placing how = by_rows ? placing{across, along} : placing{along, across};
  how.offset = *rc::gen::inRange(0, 4);
  if (!writable && *rc::gen::arbitrary<bool>()) how.row_stride = -how.row_stride;
  return how;
}
void any_product_is_exact(const context& where) {
  const gemms::step s =
      *rc::gen::elementOf(std::vector<gemms::step>(std::begin(gemms::steps), std::end(gemms::steps)));
  const std::int64_t m = *rc::gen::inRange(0, 70), n = *rc::gen::inRange(0, 70), k = *rc::gen::inRange(0, 70);
  const auto seed = *rc::gen::inRange(1u, 1000u);
  product p =
      product_of(random_integers(m, k, seed), random_integers(k, n, seed + 1),
                 static_cast<float>(*rc::gen::inRange(-2, 3)), static_cast<float>(*rc::gen::inRange(-2, 3)));
  p.c = random_integers(m, n, seed + 2);
  p.place_a = any_placing(p.a, false);
  p.place_b = any_placing(p.b, false);
  p.place_c = any_placing(p.c, true);
  RC_TAG(s.name);
  const dense c = computed(where, s.name, p);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t x = 0; x < k; ++x)
        sum += static_cast<std::int64_t>(p.a(i, x)) * static_cast<std::int64_t>(p.b(x, j));
      const std::int64_t right = static_cast<std::int64_t>(p.alpha) * sum +
                                 static_cast<std::int64_t>(p.beta) * static_cast<std::int64_t>(p.c(i, j));
      RC_ASSERT(c(i, j) == static_cast<float>(right));
    }
}
RC_GTEST_PROP(gemm_property, any_product_of_integers_is_exact, ()) {
  const landing copies = *rc::gen::element(landing::early, landing::late, landing::mixed);
  any_product_is_exact(
      context(make_cpu_executor({.seed = *rc::gen::arbitrary<unsigned>(), .copies = copies, .workers = 1})));
}
TEST(gemm_property, Cuda_any_product_of_integers_is_exact) {
  std::string why;
  if (cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  const context where = context::on("cuda");
  EXPECT_TRUE(rc::check([&] { any_product_is_exact(where); }));
}

}  // namespace
}  // namespace antiphase::gemm_test
