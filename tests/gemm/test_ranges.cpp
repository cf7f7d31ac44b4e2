// SPDX-License-Identifier: Apache-2.0
// Operands at the ends of FP32's range, alone and together: every policy's outputs keep the guarantee.
#include <antiphase/core/error.hpp>
#include <antiphase/gemm/policies.hpp>
#include <array>
#include <cmath>
#include <map>

#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

class gemm_ranges : public on_device {};

// 0, denormals, and what is near the ends of the range or of its square root.
constexpr std::array sizes{0.f, 1e-41f, 1e-30f, 1e-19f, 1.f, 1e19f, 1e30f};

enum class sized { alike, by_line, by_k };
// Elements of `most` in size; by_line or by_k, of all sizes up to it.
float size_at(sized how, float most, std::int64_t line, std::int64_t k) {
  if (how == sized::alike) return most;
  const auto last = std::ranges::upper_bound(sizes, most) - sizes.begin();
  const std::int64_t step = how == sized::by_line ? 3 * line + 1 : 5 * k + 2;
  return sizes[static_cast<std::size_t>(step % last)];
}

TEST_P(gemm_ranges, ends_of_the_range_keep_the_promise) {
  constexpr std::int64_t m = 35, n = 21, k = 69;  // three tiles of k for every policy
  const context where = any();
  std::map<std::string, int> ran;
  std::size_t turn = 0;
  for (const sized how : {sized::alike, sized::by_line, sized::by_k})
    for (const float of_a : sizes)
      for (const float of_b : sizes) {
        if (static_cast<double>(of_a) * of_b * k > 1e38) continue;  // sums overflow
        product p = product_of(random_reals(m, k, 5), random_reals(k, n, 6));
        for (std::int64_t at = 0; at < k; ++at) {
          for (std::int64_t i = 0; i < m; ++i) p.a(i, at) *= size_at(how, of_a, i, at);
          for (std::int64_t j = 0; j < n; ++j) p.b(at, j) *= size_at(how, of_b, j, at);
        }
        ++turn;
        std::size_t number = 0;
        for (const gemms::policy_info& policy : gemms::policies()) {
          // of the ladder's steps one at a time
          if (policy.ladder != nullptr &&
              ++number % std::size(gemms::steps) != turn % std::size(gemms::steps))
            continue;
          SCOPED_TRACE(testing::Message()
                       << policy.name << ", A of " << of_a << ", B of " << of_b << ", sizes "
                       << (how == sized::alike     ? "alike"
                           : how == sized::by_line ? "by row and column"
                                                   : "along k"));
          try {
            const dense c = computed(where, policy.name, p);
            EXPECT_LE(compare_with_exact(c, p, policy.promise(where.runs_on().limits(), k)).worst, 1);
            ++ran[std::string(policy.name)];
          } catch (const not_supported&) {
          }
        }
      }
  for (const char* policy : {"fp64", "tf32", "fp16"}) EXPECT_GE(ran[policy], 100) << policy;
}
AP_ON_BOTH_DEVICES(gemm_ranges);

}  // namespace
}  // namespace antiphase::gemm_test
