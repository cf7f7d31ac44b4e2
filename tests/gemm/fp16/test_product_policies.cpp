// SPDX-License-Identifier: Apache-2.0
// Products of split operands are the same bits by every policy that sums up K in the same order.
#include "library/gemm/fp16/split_plan.hpp"
#include "tests/gemm/fp16/product_policies.hpp"
#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

class product_policies : public on_device {
 protected:
  static std::vector<gemms::product_instance> instances([[maybe_unused]] const context& where) {
#if ANTIPHASE_HAS_CUDA
    if (where.kind() == target::cuda) return gemms::cuda::product_policies();
#endif
    return gemms::cpu::product_policies();
  }
};

// By the library's plan, or by it with another kernel. Some outputs are uncertain, and a line has few
// nonzeros.
dense product_with(const context& where, const product& p, const gemms::product_instance* with) {
  matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
  gemms::product_plan plan = gemms::plan_product(
      where, {.a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta});
  EXPECT_EQ(plan.waves.size(), 1u);
  EXPECT_EQ(plan.waves.front().instance.policy.cluster, 1) << "clusters sum up K in another order";
  if (with != nullptr) plan.waves.front().instance = *with;
  const device_array<std::byte> workspace(where, plan.workspace());
  gemms::run(where, plan, {const_cast<std::byte*>(workspace.data()), workspace.size()}, nullptr, nullptr);
  where.runs_on().synchronize(nullptr);
  return c.read();
}

TEST_P(product_policies, give_the_same_bits) {
  std::vector<context> contexts{any()};
  if (!is_cuda()) {
    device_limits device = simulated_device();
    device.multiprocessors = 2;  // a block has two tiles or three
    contexts = {
        context(make_cpu_executor({.seed = 3, .copies = landing::mixed, .workers = 1, .limits = device})),
        context(make_cpu_executor({.seed = 9, .copies = landing::late, .workers = 2, .limits = device}))};
  }
  for (const context& where : contexts)
    for (const std::int64_t k : {30, 64, 129, 389}) {
      const std::int64_t rows = is_cuda() ? 128 * (3 * where.limits().multiprocessors - 1) : 5 * 128 - 31;
      product p = product_of(random_reals(rows, k, 1), random_reals(k, 101, 2), 1.5f, 0.5f);
      for (std::int64_t i = 0; i < rows; i += 41) p.a(i, i % k) = std::ldexp(1.f, 40);
      for (std::int64_t l = 0; l < k; ++l) p.a(rows - 5, l) = l == 7;
      const dense first = product_with(where, p, nullptr);
      for (const gemms::product_instance& i : instances(where))
        EXPECT_TRUE(same_bits(product_with(where, p, &i), first)) << i.code.name << ", K = " << k;
    }
}
AP_ON_BOTH_DEVICES(product_policies);

}  // namespace
}  // namespace antiphase::gemm_test
